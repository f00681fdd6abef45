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

// ---------------------------------------------------------------------------------------- profile

function profiles(box) {
  const table = el("div", {});
  const top = depth - 1;
  const show = (layer) => table.replaceChildren(profileTable(layer));
  if (top > 0) box.append(choice("Layer", data.nouns.map((noun) => `${noun}s`), top, show));
  show(top);
  box.append(table);
}

function profileTable(layer) {
  const { features, groups, means, counts } = data.profile[layer];
  const largest = features.map((_, column) => Math.max(...means.map((mean) => Math.abs(mean[column]))) || 1);
  const headings = features.map((feature) => profileHeading(layer, feature));
  const rows = means.map((mean, index) => {
    const cells = mean.map((value, column) => {
      const label = `${groupName(groups[index])}, ${fullName(layer, features[column])}: ${number(value)}`;
      const cell = el("td", { title: label, class: value < 0 ? "negative" : null }, el("span", { class: "sr" }, number(value)));
      cell.style.setProperty("--strength", (Math.abs(value) / largest[column]).toFixed(3));
      return cell;
    });
    return el("tr", {}, el("th", { scope: "row", title: groupName(groups[index]) }, groupName(groups[index]), el("small", {}, ` ${counts[groups[index]]}`)), ...cells);
  });
  const note = [];
  if (features.length < data.layers[layer].size) note.push(`the ${features.length} strongest of ${data.layers[layer].size} features`);
  if (means.length < counts.length) note.push(`the first ${means.length} of ${plural(counts.length, data.groups.kind)}`);
  const head = el("thead", {}, el("tr", {}, el("th", {}, data.nouns[layer]), ...headings));
  const many = features.length > 24 ? " many" : "";
  return el("table", { class: `profile of-${data.layers[layer].pack.kind}${many}` }, el("caption", {}, note.join(", ")), head, el("tbody", {}, ...rows));
}

function profileHeading(layer, feature) {
  const { pack, shown } = data.layers[layer];
  const place = shown.indexOf(feature);
  const link = el("a", { href: address([[layer, feature]]), title: fullName(layer, feature) });
  if (place >= 0 && pack.kind === "picture") link.append(drawn(pack, place, featureName(layer, feature)));
  link.append(el("span", { class: "index" }, String(feature + 1)));
  return el("th", { scope: "col" }, link);
}
