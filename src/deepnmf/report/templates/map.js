"use strict";

/*
 * The map of the samples on a canvas: colored by label, by a feature, or by a column of the data; with zoom, previews
 * and every point a link. Points are drawn color by color, so that 20,000 of them take a few milliseconds.
 */

const MOST_COLORS = 12; // of more classes, points are gray and the names are written on the map
const SHADES = 16;

class SampleMap {
  constructor(box, tools) {
    [this.layer, this.color, this.hinted, this.group] = [depth - 1, { kind: "group" }, null, null];
    [this.zoom, this.center, this.hovered, this.chosen] = [1, [0.5, 0.5], -1, -1];
    this.canvas = el("canvas", {
      class: "sample-map", tabindex: 0, role: "application", "aria-roledescription": "map",
      "aria-label": `map of ${plural(data.map.count, "sample")}; arrow keys lead to neighboring samples, Enter opens one, plus and minus zoom`,
    });
    this.tip = el("div", { class: "tip", hidden: true });
    this.status = el("p", { class: "sr", role: "status" });
    this.legend = el("div", { class: "legend" });
    this.caption = el("p", { class: "note" });
    const buttons = [["+", "zoom in", 1.5], ["−", "zoom out", 1 / 1.5]].map(([sign, label, factor]) => this.button(sign, label, () => this.zoomBy(factor)));
    const reset = this.button("⤢", "show all", () => { [this.zoom, this.center] = [1, [0.5, 0.5]]; this.redraw(); });
    this.frame = el("div", { class: "map-frame" }, this.canvas, el("div", { class: "zoom" }, ...buttons, reset), this.tip);
    box.append(this.frame, this.legend, this.caption, this.status);
    this.addTools(tools);
    this.listen();
    new ResizeObserver(() => this.resize()).observe(this.frame);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.redraw());
    this.paint();
  }

  button(sign, label, act) {
    const made = el("button", { type: "button", "aria-label": label, title: label }, sign);
    made.addEventListener("click", act);
    return made;
  }

  addTools(tools) {
    const kind = capital(data.groups.kind);
    const features = data.layers.map((layer, index) => [
      `${capital(data.nouns[index])}s (layer ${index + 1})`,
      layer.shown.slice(0, data.map.codes[index].n_features).map((feature) => [`f.${index}.${feature}`, fullName(index, feature)]),
    ]).reverse();
    const { columns, names } = data.map.columns;
    const named = columns.map((column, place) => [`c.${place}`, names ? names[place] : `column ${column + 1}`]);
    this.select = dropdown("color of the points", [["", [["g", kind]]], ...features, ["Columns of the data", named]], (value) => {
      const [type, one, two] = value.split(".");
      this.setColor(type === "g" ? { kind: "group" } : type === "f" ? { kind: "feature", layer: Number(one), feature: Number(two) } : { kind: "column", place: Number(one) });
    });
    tools.append(el("label", { class: "pick" }, "Color", this.select));
    if (depth > 1) {
      const layers = data.layers.map((_, index) => [index, `${data.nouns[index]}s`]).reverse();
      tools.append(el("label", { class: "pick" }, "Arranged by", dropdown("layer whose codes arrange the points", [["", layers]], (value) => { this.layer = Number(value); this.paint(); })));
    }
  }

  // ---------------------------------------------------------------------------------------- colors

  setColor(color) {
    this.color = color;
    this.select.value = color.kind === "group" ? "g" : color.kind === "feature" ? `f.${color.layer}.${color.feature}` : `c.${color.place}`;
    this.paint();
  }

  /** Color by a feature for as long as the pointer is on it. */
  hint(color) {
    this.hinted = color !== null && codesOnMap(color.layer, color.feature) ? color : null;
    this.paint();
  }

  /** The shade of each point: its group, or 0 to 15 by a value; negative values count downwards. */
  shades(color) {
    if (color.kind === "group") return data.map.groups;
    const { count } = data.map;
    const values = color.kind === "feature" ? codesOnMap(color.layer, color.feature) : data.map.columns.values.subarray(color.place * count, (color.place + 1) * count);
    return Int16Array.from(values, (value) => (value === -128 ? -99 : Math.round((value / 127) * (SHADES - 1))));
  }

  paint() {
    const color = this.hinted ?? this.color;
    this.current = color;
    this.shade = this.shades(color);
    const order = new Map();
    this.shade.forEach((shade, place) => (order.has(shade) ? order.get(shade).push(place) : order.set(shade, [place])));
    this.order = [...order].sort(([one], [other]) => Math.abs(one) - Math.abs(other));
    this.medians = new Map(color.kind === "group" && this.isCrowded ? this.order.map(([group, places]) => [group, this.median(places)]) : []);
    this.drawLegend(color);
    this.redraw();
  }

  style(shade) {
    const style = this.styles;
    if (this.current.kind !== "group") {
      if (shade === -99) return style("--unknown");
      return mixed(style("--map-zero"), style(shade < 0 ? "--negative" : "--map-full"), Math.abs(shade) / (SHADES - 1));
    }
    const focus = this.group ?? (this.hovered >= 0 && this.isCrowded ? data.map.groups[this.hovered] : null);
    if (focus !== null && focus !== shade) return style("--map-faint");
    if (shade < 0) return style("--unknown");
    return this.isCrowded ? style(focus === shade ? "--accent" : "--map-gray") : style(`--c${shade % MOST_COLORS}`);
  }

  get isCrowded() {
    return data.groups.names.length > MOST_COLORS;
  }

  drawLegend(color) {
    this.legend.replaceChildren();
    this.caption.textContent = "";
    if (color.kind === "group" && this.isCrowded) {
      const options = [["", [["", `all ${data.groups.names.length}`]]], ["", data.groups.names.map((name, group) => [group, name])]];
      const pick = dropdown(`highlight one ${data.groups.kind}`, options, (value) => { this.group = value === "" ? null : Number(value); this.redraw(); });
      if (this.group !== null) pick.value = this.group;
      this.legend.append(el("label", { class: "pick" }, `Highlight ${data.groups.kind}`, pick));
    } else if (color.kind === "group") {
      this.legend.append(...this.chips());
    } else {
      this.legend.append(this.ramp(color));
    }
    const { methods, landmarks, count } = data.map;
    const of = landmarks[this.layer] < count ? `${whole(landmarks[this.layer])} of ${whole(count)}` : whole(count);
    this.caption.textContent = `${methods[this.layer]} of ${of} samples by their codes of ${data.nouns[this.layer]}s. Scroll to zoom, drag to move, click a point.`;
  }

  chips() {
    const groups = data.groups.names.map((_, index) => index);
    if (data.map.groups.includes(-1)) groups.push(-1);
    return groups.map((group) => {
      const chip = el("button", { type: "button", class: "chip", "aria-pressed": String(this.group === group) }, el("span", { class: `dot c${group < 0 ? "u" : group % MOST_COLORS}` }), groupName(group));
      chip.addEventListener("click", () => { this.group = this.group === group ? null : group; this.paint(); });
      return chip;
    });
  }

  ramp(color) {
    const [low, high] = color.kind === "feature" ? [0, data.map.codes[color.layer].scales[data.layers[color.layer].shown.indexOf(color.feature)]] : [data.map.columns.low[color.place], data.map.columns.high[color.place]];
    const name = color.kind === "feature" ? fullName(color.layer, color.feature) : this.select.selectedOptions[0].textContent;
    return el("div", { class: "ramp" }, el("span", { class: "number" }, number(low)), el("span", { class: "shades" }), el("span", { class: "number" }, number(high)), el("span", { class: "name" }, name));
  }

  // --------------------------------------------------------------------------------------- drawing

  resize() {
    const { clientWidth: width } = this.frame;
    if (!width) return;
    const height = Math.max(260, Math.min(width, 410));
    const ratio = Math.min(2, devicePixelRatio || 1);
    [this.width, this.height, this.ratio] = [width, height, ratio];
    [this.canvas.width, this.canvas.height] = [width * ratio, height * ratio];
    [this.canvas.style.width, this.canvas.style.height] = [`${width}px`, `${height}px`];
    this.draw();
  }

  redraw() {
    if (this.waiting) return;
    this.waiting = true;
    requestAnimationFrame(() => { this.waiting = false; this.draw(); });
  }

  /** Where a point is on the canvas, in pixels. */
  position(place) {
    const points = data.map.points[this.layer];
    return this.onCanvas(points[place], points[data.map.count + place]);
  }

  onCanvas(x, y) {
    const size = this.zoom * (Math.min(this.width, this.height) - 28);
    return [this.width / 2 + (x / 65535 - this.center[0]) * size, this.height / 2 - (y / 65535 - this.center[1]) * size];
  }

  /** The median of the points of a group, where its name is written. */
  median(places) {
    const points = data.map.points[this.layer];
    return [0, data.map.count].map((start) => places.map((place) => points[start + place]).sort((one, other) => one - other)[places.length >> 1]);
  }

  get radius() {
    const { count } = data.map;
    return (count < 300 ? 4.2 : count < 1500 ? 3.2 : count < 6000 ? 2.3 : 1.6) * Math.min(2, this.zoom ** 0.35);
  }

  draw() {
    if (!this.width) return;
    const css = getComputedStyle(document.documentElement);
    this.styles = (name) => css.getPropertyValue(name).trim();
    const context = this.canvas.getContext("2d");
    context.setTransform(this.ratio, 0, 0, this.ratio, 0, 0);
    context.clearRect(0, 0, this.width, this.height);
    const radius = this.radius;
    this.drawn = 0;
    const focus = this.group;
    const order = focus === null || this.current.kind !== "group" ? this.order : [...this.order].sort(([one], [other]) => (one === focus) - (other === focus));
    for (const [shade, places] of order) {
      context.fillStyle = this.style(shade);
      context.beginPath();
      for (const place of places) {
        const [x, y] = this.position(place);
        if (x < -radius || y < -radius || x > this.width + radius || y > this.height + radius) continue;
        this.drawn += 1;
        if (radius < 2) context.rect(x - radius, y - radius, 2 * radius, 2 * radius);
        else {
          context.moveTo(x + radius, y);
          context.arc(x, y, radius, 0, 7);
        }
      }
      context.fill();
    }
    if (this.current.kind === "group" && this.isCrowded) this.drawNames(context);
    for (const place of [this.chosen, this.hovered]) if (place >= 0) this.ring(context, place);
  }

  ring(context, place) {
    const [x, y] = this.position(place);
    context.lineWidth = 2;
    context.strokeStyle = this.styles("--ink");
    context.beginPath();
    context.arc(x, y, this.radius + 3, 0, 7);
    context.stroke();
  }

  /** Names of classes at the medians of their points, as many as do not overlap. */
  drawNames(context) {
    context.font = "600 11px system-ui, sans-serif";
    context.textAlign = "center";
    context.lineWidth = 3;
    const taken = [];
    const focus = this.group ?? (this.hovered >= 0 ? data.map.groups[this.hovered] : null);
    const groups = this.order.filter(([group]) => group >= 0).sort(([one, own], [other, theirs]) => (other === focus) - (one === focus) || theirs.length - own.length);
    for (const [group] of groups) {
      const [x, y] = this.onCanvas(...this.medians.get(group));
      const half = context.measureText(groupName(group)).width / 2 + 4;
      if (taken.some(([left, right, at]) => Math.abs(at - y) < 15 && x - half < right && x + half > left)) continue;
      if (x - half < 0 || x + half > this.width || y < 12 || y > this.height - 4) continue;
      taken.push([x - half, x + half, y]);
      context.strokeStyle = this.styles("--paper");
      context.fillStyle = this.styles(focus !== null && focus !== group ? "--soft" : "--ink");
      context.strokeText(groupName(group), x, y + 4);
      context.fillText(groupName(group), x, y + 4);
    }
  }

  // ----------------------------------------------------------------------------------- interaction

  listen() {
    const at = (event) => {
      const { left, top } = this.canvas.getBoundingClientRect();
      return [event.clientX - left, event.clientY - top];
    };
    const pointers = new Map();
    let moved = 0;
    this.canvas.addEventListener("wheel", (event) => {
      event.preventDefault();
      this.zoomBy(Math.exp(-event.deltaY / 400), at(event));
    }, { passive: false });
    this.canvas.addEventListener("pointerdown", (event) => {
      pointers.set(event.pointerId, at(event));
      moved = 0;
      this.canvas.setPointerCapture(event.pointerId);
    });
    this.canvas.addEventListener("pointermove", (event) => {
      const here = at(event);
      const before = pointers.get(event.pointerId);
      if (!before) return this.hover(this.nearest(here), here);
      moved += Math.hypot(here[0] - before[0], here[1] - before[1]);
      if (pointers.size === 2) this.pinch(pointers, event.pointerId, here);
      else this.moveBy(here[0] - before[0], here[1] - before[1]);
      return pointers.set(event.pointerId, here);
    });
    const end = (event) => {
      if (!pointers.delete(event.pointerId) || event.type === "pointercancel" || moved > 6) return;
      this.open(this.nearest(at(event)));
    };
    this.canvas.addEventListener("pointerup", end);
    this.canvas.addEventListener("pointercancel", end);
    this.canvas.addEventListener("pointerleave", () => this.hover(-1));
    this.canvas.addEventListener("blur", () => this.hover(-1));
    this.canvas.addEventListener("keydown", (event) => this.key(event));
  }

  pinch(pointers, moving, here) {
    const [, other] = [...pointers].find(([id]) => id !== moving);
    const before = pointers.get(moving);
    const spread = (spot) => Math.hypot(spot[0] - other[0], spot[1] - other[1]) || 1;
    this.zoomBy(spread(here) / spread(before), [(here[0] + other[0]) / 2, (here[1] + other[1]) / 2]);
  }

  moveBy(x, y) {
    const size = this.zoom * (Math.min(this.width, this.height) - 28);
    this.center = [this.center[0] - x / size, this.center[1] + y / size];
    this.hover(-1);
    this.redraw();
  }

  /** Zoom so that what is under a spot stays there. */
  zoomBy(factor, spot = [this.width / 2, this.height / 2]) {
    const before = this.zoom;
    this.zoom = Math.max(1, Math.min(60, this.zoom * factor));
    const size = Math.min(this.width, this.height) - 28;
    const shift = (1 / before - 1 / this.zoom) / size;
    this.center = this.zoom === 1 ? [0.5, 0.5] : [this.center[0] + (spot[0] - this.width / 2) * shift, this.center[1] - (spot[1] - this.height / 2) * shift];
    this.redraw();
  }

  nearest([x, y]) {
    let [best, least] = [-1, 14 * 14];
    for (let place = 0; place < data.map.count; place += 1) {
      const [px, py] = this.position(place);
      const far = (px - x) ** 2 + (py - y) ** 2;
      if (far < least) [best, least] = [place, far];
    }
    return best;
  }

  hover(place, spot) {
    if (place === this.hovered && place < 0) return;
    const changed = place !== this.hovered;
    this.hovered = place;
    this.tip.hidden = place < 0;
    if (changed) this.redraw();
    if (place < 0) return;
    const row = rowAt(place);
    const [x, y] = spot ?? this.position(place);
    if (changed) this.tip.replaceChildren(el("div", { class: `of-${data.samples.original.kind}` }, drawnSample(row)), el("strong", {}, sampleName(row)), el("span", {}, groupName(groupOf(row))), this.valueAt(place));
    this.tip.style.left = `${Math.min(Math.max(0, this.width - 170), Math.max(0, x + (x > this.width / 2 ? -176 : 16)))}px`;
    this.tip.style.top = `${Math.max(0, Math.min(this.height - this.tip.offsetHeight, y - 30))}px`;
  }

  /** The value that colors a point. */
  valueAt(place) {
    const { kind, layer, feature, place: column } = this.current;
    if (kind === "group") return null;
    if (kind === "feature") {
      const scale = data.map.codes[layer].scales[data.layers[layer].shown.indexOf(feature)];
      return el("span", { class: "number" }, `${featureName(layer, feature)}: ${number((codesOnMap(layer, feature)[place] * scale) / 127)}`);
    }
    const { low, high, values } = data.map.columns;
    const share = values[column * data.map.count + place] / 127;
    return el("span", { class: "number" }, number(low[column] + share * (high[column] - low[column])));
  }

  open(place) {
    if (place >= 0) location.hash = address(onwards([], "s", rowAt(place)));
  }

  choose(row) {
    this.chosen = row === null ? -1 : placeOnMap(row);
    this.redraw();
  }

  /** Arrow keys lead to the nearest sample in their direction. */
  key(event) {
    const directions = { ArrowRight: [1, 0], ArrowLeft: [-1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };
    if (event.key === "+" || event.key === "-") this.zoomBy(event.key === "+" ? 1.5 : 1 / 1.5);
    else if (event.key === "Enter") this.open(this.hovered);
    else if (event.key in directions) this.step(directions[event.key]);
    else return;
    event.preventDefault();
  }

  step([dx, dy]) {
    const [x, y] = this.hovered >= 0 ? this.position(this.hovered) : [this.width / 2, this.height / 2];
    let [best, least] = [-1, Infinity];
    for (let place = 0; place < data.map.count; place += 1) {
      const [px, py] = this.position(place);
      const [along, across] = [(px - x) * dx + (py - y) * dy, Math.abs((px - x) * dy) + Math.abs((py - y) * dx)];
      if (place !== this.hovered && (along > 0 || this.hovered < 0) && along + 2 * across < least) [best, least] = [place, along + 2 * across];
    }
    if (best < 0) return;
    this.hover(best);
    this.status.textContent = `${sampleName(rowAt(best))}, ${groupPhrase(groupOf(rowAt(best)))}`;
  }
}

/** A color between two of the form #rrggbb. */
function mixed(from, to, share) {
  const channels = (color) => [1, 3, 5].map((at) => parseInt(color.slice(at, at + 2), 16));
  const [start, end] = [channels(from), channels(to)];
  return `rgb(${start.map((value, index) => Math.round(value + share * (end[index] - value))).join(",")})`;
}
