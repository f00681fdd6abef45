"use strict";

/** A chart that is redrawn whenever its width changes, so that the size of its text stays the same. */
function chart(box, draw) {
  const redraw = () => box.clientWidth && box.replaceChildren(...draw(box.clientWidth));
  new ResizeObserver(redraw).observe(box);
  return redraw;
}

// ------------------------------------------------------------------------------------------- loss

const LOSS_HEIGHT = 240;

function drawnLoss(width) {
  const { sweeps, losses } = data.loss;
  if (!losses.length) return [el("p", { class: "hint" }, "This model has no recorded losses.")];
  const margin = { left: 58, right: 12, top: 10, bottom: 32 };
  const smallest = Math.min(...losses);
  const decades = smallest > 0 && Math.max(...losses) > 20 * smallest;
  const scaled = losses.map((loss) => (decades ? Math.log10(loss) : loss));
  const [low, high] = [Math.min(...scaled), Math.max(...scaled)];
  const x = (sweep) =>
    margin.left + ((sweep - sweeps[0]) / (sweeps.at(-1) - sweeps[0] || 1)) * (width - margin.left - margin.right);
  const y = (value) =>
    margin.top + (1 - (value - low) / (high - low || 1)) * (LOSS_HEIGHT - margin.top - margin.bottom);
  const picture = svg("svg", {
    class: "chart", role: "img", width, height: LOSS_HEIGHT,
    "aria-label": `loss from ${number(losses[0])} to ${number(losses.at(-1))} in ${plural(sweeps.at(-1), "sweep")}`,
  });
  ticks(low, high, 4).forEach((value) => {
    picture.append(svg("line", { class: "rule", x1: margin.left, x2: width - margin.right, y1: y(value), y2: y(value) }));
    const text = decades ? number(10 ** value) : tickLabel(value);
    picture.append(svg("text", { x: margin.left - 8, y: y(value) + 4, "text-anchor": "end" }, text));
  });
  ticks(sweeps[0], sweeps.at(-1), 5).filter(Number.isInteger).forEach((value) =>
    picture.append(svg("text", { x: x(value), y: LOSS_HEIGHT - 12, "text-anchor": "middle" }, String(value))),
  );
  const points = sweeps.map((sweep, index) => `${x(sweep).toFixed(1)},${y(scaled[index]).toFixed(1)}`);
  picture.append(svg("polyline", { class: "line", points: points.join(" ") }));
  return [picture];
}

/** About so many round numbers within a range. */
function ticks(low, high, count) {
  if (high <= low) return [low];
  const rough = (high - low) / count;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = power * [1, 2, 5, 10].find((factor) => factor * power >= rough);
  const found = [];
  for (let value = Math.ceil(low / step) * step; value <= high + step * 1e-9; value += step) {
    found.push(Number(value.toPrecision(12)));
  }
  return found;
}

// -------------------------------------------------------------------------------------------- map

const COLORS = 6;
const SHAPES = [
  (r) => `M${-r},0a${r},${r} 0 1,0 ${2 * r},0a${r},${r} 0 1,0 ${-2 * r},0`,
  (r) => `M${-r},${-r}h${2 * r}v${2 * r}h${-2 * r}z`,
  (r) => `M0,${-1.3 * r}L${1.2 * r},${0.9 * r}H${-1.2 * r}z`,
  (r) => `M0,${-1.4 * r}L${1.4 * r},0L0,${1.4 * r}L${-1.4 * r},0z`,
];

function mark(group, radius, open = false) {
  const shape = group < 0 ? SHAPES[0] : SHAPES[Math.floor(group / COLORS) % SHAPES.length];
  const color = group < 0 ? "unknown" : `c${group % COLORS}`;
  return svg("path", { class: `mark ${color}${open ? " open" : ""}`, d: shape(radius) });
}

function groupName(group) {
  return group < 0 ? "unknown" : data.groups.names[group];
}

/** A group in a sentence; the name of a cluster begins with "cluster". */
function groupPhrase(group) {
  return data.groups.kind === "cluster" ? groupName(group) : `${data.groups.kind} ${groupName(group)}`;
}

/** The map, with a choice of the layer and of a group to highlight. */
function mapOfCodes(box) {
  const depth = data.layers.length;
  const picture = el("div", { class: "map" });
  const caption = el("p", { class: "hint" });
  let [layer, single] = [depth - 1, null];
  const shown = new Map(data.samples.rows.map((row, place) => [row, place]));
  const redraw = chart(picture, (width) => [drawnMap(width, layer, single, shown)]);
  const say = () => {
    caption.textContent = `${data.map.methods[layer]} of ${plural(data.map.rows.length, "sample")} by their codes at layer ${layer + 1}.`;
  };
  if (depth > 1) {
    const names = data.layers.map((_, index) => `layer ${index + 1}`);
    box.append(choice("Layer", names, layer, (index) => { layer = index; say(); redraw(); }));
  }
  say();
  box.append(el("div", { class: "mapped" }, picture, legend((group) => { single = group; redraw(); })), caption);
}

function drawnMap(width, layer, single, shown) {
  const side = Math.min(width, 640);
  const height = Math.min(side, 520);
  const [size, pad] = [Math.min(side, height) - 24, 12];
  const picture = svg("svg", {
    class: "chart", role: "img", width, height, "aria-label": `map of the codes of layer ${layer + 1}`,
  });
  const [left, top] = [(width - size) / 2, pad];
  data.map.rows.forEach((row, index) => {
    const group = data.map.groups[index];
    const [x, y] = data.map.points[layer][index];
    const place = shown.get(row);
    const point = mark(group, place === undefined ? 2.6 : 4.2, place === undefined);
    point.setAttribute("transform", `translate(${(left + x * size).toFixed(1)},${(top + (1 - y) * size).toFixed(1)})`);
    if (single !== null && single !== group) point.classList.add("faint");
    const name = place === undefined ? `sample ${row}` : sampleName(row);
    point.append(svg("title", {}, `${name}, ${groupName(group)}`));
    picture.append(place === undefined ? point : svg("a", { href: address([["s", row]]), tabindex: -1 }, point));
  });
  return picture;
}

function legend(onChoose) {
  let chosen = null;
  const groups = data.groups.names.map((_, index) => index);
  if (data.map.groups.includes(-1)) groups.push(-1);
  const chips = groups.map((group) => {
    const sign = svg("svg", { width: 14, height: 14, viewBox: "-7 -7 14 14", "aria-hidden": "true" }, mark(group, 4.5));
    const chip = el("button", { type: "button", class: "chip", "aria-pressed": "false" }, sign, groupName(group));
    chip.addEventListener("click", () => {
      chosen = chosen === group ? null : group;
      chips.forEach((other, index) => other.setAttribute("aria-pressed", String(groups[index] === chosen)));
      onChoose(chosen);
    });
    return chip;
  });
  return el("div", { class: "legend", role: "group", "aria-label": `highlight one ${data.groups.kind}` }, ...chips);
}

// ---------------------------------------------------------------------------------------- profile

function profiles(box) {
  const table = el("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": "mean codes" });
  const top = data.profile.length - 1;
  const show = (layer) => table.replaceChildren(profileTable(layer));
  if (top > 0) box.append(choice("Layer", data.profile.map((_, index) => `layer ${index + 1}`), top, show));
  show(top);
  box.append(table);
}

function profileTable(layer) {
  const { features, means, counts } = data.profile[layer];
  const largest = features.map((_, column) => Math.max(...means.map((mean) => Math.abs(mean[column]))) || 1);
  const headings = features.map((feature) => profileHeading(layer, feature));
  const rows = means.map((mean, group) => {
    const cells = mean.map((value, column) => {
      const cell = el("td", { title: `${groupName(group)}, feature ${features[column]}: ${number(value)}` });
      const negligible = Math.abs(value) < 0.005 * largest[column];
      const shade = el("span", { class: value < 0 ? "shade negative" : "shade" }, negligible ? "·" : number(Number(value.toPrecision(2))));
      cell.append(shade);
      cell.style.setProperty("--strength", (Math.abs(value) / largest[column]).toFixed(3));
      return cell;
    });
    return el("tr", {}, el("th", { scope: "row" }, groupName(group), el("small", {}, ` ${counts[group]}`)), ...cells);
  });
  const note = [];
  if (features.length < data.layers[layer].size) note.push(`the ${features.length} strongest of ${data.layers[layer].size} features`);
  if (means.length < counts.length) note.push(`the first ${means.length} of ${plural(counts.length, data.groups.kind)}`);
  const head = el("thead", {}, el("tr", {}, el("th", {}, "feature"), ...headings));
  return el("table", { class: `profile of-${data.layers[layer].pack.kind}` }, el("caption", {}, note.join(", ")), head, el("tbody", {}, ...rows));
}

function profileHeading(layer, feature) {
  const { pack, shown } = data.layers[layer];
  const place = shown.indexOf(feature);
  const name = featureName(layer, feature);
  const picture = pack.kind === "words" ? el("span", {}, pack.words[place][0]?.[0] ?? "–") : drawn(pack, place, name);
  const link = el("a", { href: address([[layer + 1, feature]]), title: name }, picture, el("span", { class: "index" }, String(feature)));
  return el("th", { scope: "col" }, link);
}
