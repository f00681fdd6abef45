"use strict";

/** Decoded sheets of pictures by their pack. */
const sheets = new Map();

async function decode(packs) {
  await Promise.all(
    packs.filter((pack) => pack.kind === "picture").map(async (pack) => {
      const image = new Image();
      image.src = pack.png;
      await image.decode();
      sheets.set(pack, image);
    }),
  );
  packs.filter((pack) => pack.kind === "curve").forEach((pack) => {
    const bytes = Uint8Array.from(atob(pack.points), (letter) => letter.charCodeAt(0));
    pack.values = new Int16Array(bytes.buffer);
  });
}

/** One vector of a pack as an element, small or large. */
function drawn(pack, place, label, large = false) {
  const draw = { picture: drawnPicture, curve: drawnCurve, words: drawnWords }[pack.kind];
  return draw(pack, place, label, large);
}

/** A sentence about the meaning of the colors, if they have one. */
function colorNote(kind, signed) {
  if (signed) return kind === "words" ? " Blue is negative." : " Red is positive, blue is negative.";
  return kind === "picture" ? " Bright is large, black is zero." : "";
}

function drawnPicture(pack, place, label) {
  const { width, height, columns } = pack;
  const canvas = el("canvas", { class: "picture", role: "img", "aria-label": label, width, height });
  const left = (place % columns) * width;
  const top = Math.floor(place / columns) * height;
  canvas.getContext("2d").drawImage(sheets.get(pack), left, top, width, height, 0, 0, width, height);
  canvas.classList.toggle("coarse", width < 100);
  return canvas;
}

// ------------------------------------------------------------------------------------------ words

const FEW_WORDS = 5;

function drawnWords(pack, place, label, large) {
  const words = pack.words[place];
  if (!words.length) return el("p", { class: "words empty" }, "all zero");
  if (!large) {
    const list = el("ol", { class: "words", "aria-label": label });
    words.slice(0, FEW_WORDS).forEach(([word, weight]) =>
      list.append(el("li", { class: weight < 0 ? "negative" : null }, word)),
    );
    return list;
  }
  const heaviest = Math.abs(words[0][1]);
  const rows = words.map(([word, weight]) =>
    el("li", {}, el("span", { class: "word" }, word), bar(weight, heaviest, pack.signed), el("span", { class: "number" }, number(weight))),
  );
  return el("ol", { class: "weights", "aria-label": label }, ...rows);
}

/** A bar as long as a weight, in the color of its sign if signs differ. */
function bar(weight, heaviest, signed) {
  const line = el("span", { class: signed ? `bar ${weight < 0 ? "negative" : "positive"}` : "bar" });
  line.style.width = `${heaviest ? (100 * Math.abs(weight)) / heaviest : 0}%`;
  return el("span", { class: "track", "aria-hidden": "true" }, line);
}

// ----------------------------------------------------------------------------------------- curves

const UNOBSERVED = -32768;

function curveValues(pack, place) {
  const length = pack.axis.length;
  return [...pack.values.slice(place * length, (place + 1) * length)].map((value) =>
    value === UNOBSERVED ? null : value / 32767,
  );
}

function drawnCurve(pack, place, label, large) {
  const [width, height] = large ? [480, 200] : [160, 64];
  const values = curveValues(pack, place);
  const base = large ? height - 22 : height - 2;
  const zero = pack.signed ? (base + 4) / 2 : base;
  const reach = zero - 4;
  const span = pack.axis.at(-1) - pack.axis[0] || 1;
  const x = (index) => 2 + ((pack.axis[index] - pack.axis[0]) / span) * (width - 4);
  const y = (value) => zero - value * reach;
  const picture = svg("svg", { class: pack.signed ? "curve signed" : "curve", role: "img", "aria-label": label, viewBox: `0 0 ${width} ${height}` });
  runs(values).forEach((run) => picture.append(...pieces(run, x, y, zero, pack.signed)));
  picture.append(svg("line", { class: "axis", x1: 0, x2: width, y1: zero, y2: zero }));
  if (large) {
    const ends = [[2, "start", pack.axis[0]], [width - 2, "end", pack.axis.at(-1)]];
    ends.forEach(([at, anchor, value]) =>
      picture.append(svg("text", { x: at, y: height - 6, "text-anchor": anchor }, number(value))),
    );
  }
  return picture;
}

/** Runs of observed values, as [index, value]. */
function runs(values) {
  const found = [[]];
  values.forEach((value, index) => (value === null ? found.push([]) : found.at(-1).push([index, value])));
  return found.filter((run) => run.length);
}

function pieces(run, x, y, zero, signed) {
  const points = (clip) => run.map(([index, value]) => `${x(index).toFixed(1)},${y(clip(value)).toFixed(1)}`);
  const [first, last] = [x(run[0][0]).toFixed(1), x(run.at(-1)[0]).toFixed(1)];
  const area = (kind, clip) =>
    svg("polygon", { class: kind, points: [`${first},${zero}`, ...points(clip), `${last},${zero}`].join(" ") });
  const line = svg("polyline", { class: "line", points: points((value) => value).join(" ") });
  const above = area(signed ? "above" : "plain", (value) => Math.max(value, 0));
  return signed ? [above, area("below", (value) => Math.min(value, 0)), line] : [above, line];
}
