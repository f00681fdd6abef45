"use strict";

/** Decoded sheets of pictures by their pack. */
const sheets = new Map();

async function decode(packs) {
  await Promise.all(
    packs.filter((pack) => pack && pack.kind === "picture").map(async (pack) => {
      const image = new Image();
      image.src = pack.png;
      await image.decode();
      sheets.set(pack, image);
    }),
  );
  packs.filter((pack) => pack && pack.kind === "curve" && pack.points).forEach((pack) => {
    const bytes = Uint8Array.from(atob(pack.points), (letter) => letter.charCodeAt(0));
    pack.values = new Int16Array(bytes.buffer);
  });
}

/** One vector of a pack as an element, small or large. */
function drawn(pack, place, label, large = false) {
  const draw = { picture: drawnPicture, curve: drawnCurve, words: drawnWords, columns: drawnColumns }[pack.kind];
  return draw(pack, place, label, large);
}

/** A sentence about the meaning of the colors, if they have one. */
function colorNote(kind, signed) {
  if (kind === "columns") return "Bars to the right are above the column mean, bars to the left below it.";
  if (signed) return kind === "words" ? "Blue is negative." : "Red is positive, blue is negative.";
  return kind === "picture" ? "Bright is large, black is zero." : "";
}

/** A sentence about the axis of curves. */
function axisNote(pack) {
  return pack.kind === "curve" ? ` Curves: ${pack.label} from ${number(pack.axis[0])} to ${number(pack.axis.at(-1))}.` : "";
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
const MOST_WORDS = 20;
let relevance = 1;

/** The words of a vector as [word, weight], by the chosen relevance if the pack has what it needs. */
function rankedWords(pack, place) {
  const words = pack.words[place].map(([id, weight, lift]) => [pack.vocabulary[id], weight, lift]);
  if (pack.relevance === undefined) return words;
  const score = ([, weight, lift]) =>
    relevance * Math.log(weight / pack.sums[place]) + (1 - relevance) * Math.log(Math.max(lift, 1e-12));
  return words.sort((one, other) => score(other) - score(one)).slice(0, MOST_WORDS);
}

function drawnWords(pack, place, label, large) {
  const words = rankedWords(pack, place).slice(0, large ? MOST_WORDS : FEW_WORDS);
  if (!words.length) return el("p", { class: "words empty" }, "all zero");
  const heaviest = Math.max(...words.map(([, weight]) => Math.abs(weight)));
  if (!large) {
    const rows = words.map(([word, weight]) => barWord(word, Math.abs(weight) / heaviest, weight < 0 ? "negative" : ""));
    return el("ol", { class: "words", "aria-label": label }, ...rows);
  }
  const rows = words.map(([word, weight]) =>
    el("li", {}, el("span", { class: "word" }, word), bar(weight, heaviest, pack.signed), el("span", { class: "number" }, number(weight))),
  );
  return el("ol", { class: "weights", "aria-label": label }, ...rows);
}

/** A word on a bar as long as its weight. */
function barWord(word, share, kind) {
  const line = el("span", { class: `behind ${kind}` });
  line.style.width = `${100 * share}%`;
  return el("li", { title: word }, line, el("span", { class: "word" }, word));
}

/** A bar as long as a weight, in the color of its sign if signs differ. */
function bar(weight, heaviest, signed) {
  const line = el("span", { class: signed ? `bar ${weight < 0 ? "negative" : "positive"}` : "bar" });
  line.style.width = `${heaviest ? Math.min(100, (100 * Math.abs(weight)) / heaviest) : 0}%`;
  return el("span", { class: "track", "aria-hidden": "true" }, line);
}

/** Columns of a table with bars to both sides of the column mean. */
function drawnColumns(pack, place, label, large) {
  const columns = pack.words[place].slice(0, large ? MOST_WORDS : FEW_WORDS);
  const largest = Math.max(1, ...columns.map(([, deviation]) => Math.abs(deviation)));
  const rows = columns.map(([id, deviation, value]) => {
    const line = el("span", { class: `behind ${deviation < 0 ? "negative" : "positive"}` });
    line.style.width = `${(50 * Math.abs(deviation)) / largest}%`;
    line.style.left = deviation < 0 ? `${50 - (50 * Math.abs(deviation)) / largest}%` : "50%";
    const name = pack.vocabulary[id];
    const spoken = `${name} ${deviation < 0 ? "below" : "above"} the mean`;
    const item = el("li", { title: spoken }, el("span", { class: "word" }, name));
    const track = el("span", { class: "sides", "aria-hidden": "true" }, line);
    if (!large) item.prepend(line);
    else item.append(track, el("span", { class: "number" }, number(value)));
    return item;
  });
  return el("ol", { class: large ? "weights deviations" : "words deviations", "aria-label": label }, ...rows);
}

// ----------------------------------------------------------------------------------------- curves

const UNOBSERVED = -32768;

function curveValues(pack, place) {
  const length = pack.axis.length;
  const [numbers, largest, missing] = pack.values ? [pack.values, 32767, UNOBSERVED] : [pack.small, 127, -128];
  return [...numbers.subarray(place * length, (place + 1) * length)].map((value) => (value === missing ? null : value / largest));
}

function drawnCurve(pack, place, label, large) {
  const [width, height] = large ? [480, 210] : [160, 64];
  const values = curveValues(pack, place);
  const base = large ? height - 38 : height - 2;
  const zero = pack.signed ? (base + 4) / 2 : base;
  const reach = zero - 4;
  const span = pack.axis.at(-1) - pack.axis[0] || 1;
  const x = (index) => 2 + ((pack.axis[index] - pack.axis[0]) / span) * (width - 4);
  const y = (value) => zero - value * reach;
  const picture = svg("svg", { class: pack.signed ? "curve signed" : "curve", role: "img", "aria-label": label, viewBox: `0 0 ${width} ${height}` });
  runs(values).forEach((run) => picture.append(...pieces(run, x, y, zero, pack.signed)));
  picture.append(svg("line", { class: "axis", x1: 0, x2: width, y1: zero, y2: zero }));
  if (large) {
    const ends = [[2, "start", number(pack.axis[0])], [width / 2, "middle", pack.label], [width - 2, "end", number(pack.axis.at(-1))]];
    ends.forEach(([at, anchor, text]) => picture.append(svg("text", { x: at, y: height - 14, "text-anchor": anchor }, text)));
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

// --------------------------------------------------------------------------------------- previews

/** The preview of a sample that the page does not have in full: a small picture, a few words, or a short curve. */
function drawnPreview(pack, place, label, large) {
  if (pack.ids === undefined) return drawn(pack, place, label, large);
  const range = [place * pack.top, (place + 1) * pack.top];
  const [ids, weights] = [pack.ids.subarray(...range), pack.weights.subarray(...range)];
  const words = [...ids].map((id, index) => [id, weights[index] / 127]).filter(([, weight]) => weight);
  return drawn({ kind: pack.kind, vocabulary: pack.vocabulary, words: [words], signed: pack.kind === "columns" }, 0, label);
}
