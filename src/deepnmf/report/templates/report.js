"use strict";

const FIRST_FEATURES = 48;
const FIRST_SAMPLES = 24;
const detail = document.getElementById("detail");
let sampleMap = null;

// ------------------------------------------------------------------------------- features and samples

function fillFeatures() {
  const search = el("input", { type: "search", id: "feature-search", placeholder: "number or word", autocomplete: "off", spellcheck: "false" });
  const orders = [["share", "strongest first"], ["similar", "similar side by side"], ["number", "by number"]];
  const order = dropdown("order of the features", [["", orders]], show);
  const list = document.getElementById("feature-list");
  function show() {
    const asked = search.value.trim().toLowerCase();
    list.replaceChildren(...data.layers.map((_, layer) => layerGrid(layer, order.value, asked)).reverse());
  }
  search.addEventListener("input", show);
  document.getElementById("feature-tools").append(el("label", { class: "search" }, el("span", {}, "Find"), search), el("label", { class: "pick" }, "Order", order));
  show();
}

function layerGrid(layer, order, asked) {
  const { size, shown, dead, pack, similar, share } = data.layers[layer];
  const places = order === "similar" ? similar : shown.map((_, place) => place);
  if (order === "number") places.sort((one, other) => shown[one] - shown[other]);
  const isAsked = (place) => (/^\d+$/.test(asked) ? String(shown[place] + 1) === asked : textOf(layer, place).includes(asked));
  const matching = places.filter(isAsked);
  const links = matching.map((place) => () => featureTile([], layer, shown[place], null, 1, share[place]));
  const note = [plural(size, "feature")];
  if (dead) note.push(`${dead} unused not shown`);
  if (shown.length < size - dead) note.push(`the ${shown.length} strongest shown`);
  return el("section", { class: "layer", "aria-label": `layer ${layer + 1}` },
    el("h3", {}, depth > 1 ? `Layer ${layer + 1}: ${data.nouns[layer]}s` : "Layer 1", el("small", {}, note.join(", "))), grid(links, pack.kind, FIRST_FEATURES));
}

function textOf(layer, place) {
  const { pack, titles } = data.layers[layer];
  const words = pack.words ? pack.words[place].map(([id]) => pack.vocabulary[id]) : [];
  return [titles[place], ...words].join(" ").toLowerCase();
}

function fillSamples() {
  const list = document.getElementById("sample-list");
  const search = document.getElementById("search");
  const found = document.getElementById("found");
  const all = Array.from({ length: data.map.count }, (_, place) => rowAt(place));
  const words = (row) => `${row + 1} ${sampleName(row)} ${groupName(groupOf(row))}`.toLowerCase();
  let matching = all;
  const show = () => {
    const asked = search.value.trim().toLowerCase();
    const exact = asked ? all.filter((row) => asked === String(row + 1) || asked === sampleName(row).toLowerCase()) : [];
    matching = exact.length ? exact : asked ? all.filter((row) => words(row).includes(asked)) : data.samples.rows;
    found.textContent = asked ? `${plural(matching.length, "sample")} of ${whole(all.length)}` : "";
    list.replaceChildren(grid(matching.slice(0, 480).map((row) => () => sampleTile([], row)), data.samples.texts ? "text" : data.samples.original.kind, FIRST_SAMPLES));
  };
  search.addEventListener("input", show);
  search.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && matching.length) location.hash = address([["s", matching[0]]]);
  });
  show();
}

/** A slider between the heaviest and the most specific words. */
function addRelevance() {
  const pack = data.layers[0].pack;
  if (pack.relevance === undefined) return;
  relevance = pack.relevance;
  const slider = el("input", { type: "range", min: 0, max: 1, step: 0.1, value: relevance, "aria-label": "relevance: from specific words to frequent words" });
  slider.addEventListener("input", () => {
    relevance = Number(slider.value);
    fill(trailOf(location.hash));
  });
  document.getElementById("tree-tools").append(el("label", { class: "pick", title: "λ of Sievert and Shirley: 1 ranks words by weight, 0 by weight relative to their frequency" }, "specific", slider, "frequent"));
}

// ----------------------------------------------------------------------------------------- addresses

/** Draw what a trail leads to. */
function fill(trail) {
  drawTree(trail);
  document.getElementById("crumbs").replaceChildren(...crumbs(trail));
  detail.hidden = !trail.length;
  if (!trail.length) return detail.replaceChildren();
  const view = trail.at(-1)[0] === "s" ? sampleView(trail) : featureView(trail);
  return detail.replaceChildren(...view.filter((piece) => piece !== null));
}

let last = [];

function route() {
  const trail = trailOf(location.hash);
  const step = trail.at(-1);
  fill(trail);
  sampleMap.choose(step && step[0] === "s" ? step[1] : null);
  if (step && step[0] !== "s") sampleMap.setColor(codesOnMap(...step) ? { kind: "feature", layer: step[0], feature: step[1] } : { kind: "group" });
  else if (!step && last.length) sampleMap.setColor({ kind: "group" });
  if (trail.length) reveal();
  else if (last.length) focusNode(last[0]);
  last = trail;
}

/** Scroll so that the detail is seen below the drawing; on a phone the drawing itself lists the parts. */
function reveal() {
  const [kind, index] = trailOf(location.hash).at(-1);
  const top = detail.getBoundingClientRect().top;
  const room = innerHeight * (innerWidth < 900 ? 0.2 : 0.62);
  const inDrawing = kind !== "s" && innerWidth < 900 && tree.getBoundingClientRect().bottom > 0;
  if (!inDrawing && (top > room || top < 0)) window.scrollTo({ top: window.scrollY + top - room });
  if (kind !== "s" && nodeOf(kind, index)) focusNode([kind, index]);
  else detail.querySelector("h2").focus({ preventScroll: true });
}

function focusNode([kind, index]) {
  if (kind !== "s") nodeOf(kind, index)?.focus({ preventScroll: true });
  else sampleMap.canvas.focus({ preventScroll: true });
}

function leaveByKey(event) {
  if (event.key !== "Escape") return;
  const trail = trailOf(location.hash);
  if (trail.length) location.hash = trail.length > 1 ? address(trail.slice(0, -1)) : "#tree-panel";
}

/** In the frame of a notebook, a link to a fragment would load the notebook: follow it here. */
function followInFrame(event) {
  const link = event.target.closest('a[href^="#"]');
  if (!link || location.protocol !== "about:") return;
  event.preventDefault();
  location.hash = link.getAttribute("href");
}

async function start() {
  await unpack(data);
  const { original, rebuilt } = data.samples;
  await decode([...data.layers.flatMap((layer) => [layer.pack, layer.scene]), original, ...rebuilt, data.map.previews]);
  addRelevance();
  sampleMap = new SampleMap(document.getElementById("map"), document.getElementById("map-tools"));
  fillFeatures();
  fillSamples();
  profiles(document.getElementById("profile-table"));
  chart(document.getElementById("loss-chart"), drawnLoss);
  new ResizeObserver(() => shownTree && shownTree.width !== tree.clientWidth && drawTree(shownTree.trail)).observe(tree.parentElement);
  window.addEventListener("hashchange", route);
  document.addEventListener("keydown", leaveByKey);
  document.addEventListener("click", followInFrame);
  route();
  document.documentElement.dataset.ready = "yes";
}

start();
