"use strict";

/*
 * The drawing of two layers: wholes above, parts below, lines as wide as the share of the part in its whole. Nodes are
 * links, so that a click, Enter and the back button work without further code.
 */

const MOST_WHOLES = 8;
const NARROW = 560;
const NODE_SIZES = {
  picture: { whole: 78, part: 50, most: 2 },
  curve: { whole: 96, part: 92, most: 2 },
  words: { whole: 100, part: 92, most: 2 },
  columns: { whole: 100, part: 92, most: 2 },
};

const tree = document.getElementById("tree");
let shownTree = null;

/** What is drawn: the features above and below, and the links between them as [above, below, weight, share]. */
function treeView(trail) {
  const step = trail.findLast(([kind]) => kind !== "s");
  if (depth === 1) return { upper: 0, above: data.layers[0].shown.slice(0, 24), below: [], links: [] };
  if (!step) return overviewOf(depth - 1, data.layers[depth - 1].shown.slice(0, MOST_WHOLES));
  const [layer, feature] = step;
  if (layer === 0) return partView(feature);
  return wholeView(layer, feature);
}

/** Some wholes and their parts: at least 5 % of a whole, at most six of each. */
function overviewOf(upper, above) {
  const links = above.flatMap((whole) => linksOf(upper, whole)
    .filter(([, , , share]) => share >= data.drawn.least_share).slice(0, data.drawn.most_parts));
  return { upper, above, below: [...new Set(links.map(([, part]) => part))], links };
}

function linksOf(upper, whole) {
  const { shown, below } = data.layers[upper];
  return below[shown.indexOf(whole)].map(([part, weight, share]) => [whole, part, weight, share])
    .sort((one, other) => other[3] - one[3]);
}

/** One whole and its parts, except those that are hardly in it. */
function wholeView(upper, whole) {
  const links = linksOf(upper, whole).filter(([, , , share], index) => share >= 0.01 || index < data.drawn.most_parts);
  return { upper, above: [whole], below: links.map(([, part]) => part), links, pinned: whole };
}

/** One part and the wholes that it is part of. */
function partView(part) {
  const { shown, above } = data.layers[0];
  const links = above[shown.indexOf(part)].slice(0, MOST_WHOLES).map(([whole, weight, share]) => [whole, part, weight, share]);
  return { upper: 1, above: links.map(([whole]) => whole), below: [part], links, pinnedPart: part };
}

// ----------------------------------------------------------------------------------------- drawing

function drawTree(trail) {
  shownTree = { trail, ...treeView(trail) };
  const width = tree.clientWidth;
  if (!width) return;
  shownTree.width = width;
  const narrow = width < NARROW;
  tree.replaceChildren();
  tree.className = narrow ? "tree narrow" : "tree";
  tree.classList.add(`of-${data.layers[0].pack.kind}`);
  const list = el("div", { class: "nodes", role: "tree", "aria-label": depth > 1 ? "hierarchy" : "features", "aria-describedby": "tree-note" });
  tree.append(list);
  if (narrow) drawNarrow(list);
  else drawWide(list, width);
  list.addEventListener("keydown", walkTree);
  const first = list.querySelector(".node.pinned") ?? list.querySelector(".node");
  if (first) first.tabIndex = 0;
  treeNote(narrow);
}

function node(layer, feature, level) {
  const { shown, pack, share, scene } = data.layers[layer];
  const place = shown.indexOf(feature);
  const name = fullName(layer, feature);
  const content = [drawn(pack, place, featureName(layer, feature))];
  if (scene) content.unshift(drawnPicture(scene, place, `abundance of ${featureName(layer, feature)}`));
  const made = el("a", {
    class: `node level-${level}`, role: "treeitem", "aria-level": level, tabindex: -1, "data-layer": layer, "data-feature": feature,
    "aria-label": `${name}, ${percent(share[place])} of its layer`, href: address(onwards(baseTrail(level), layer, feature)),
  }, ...content, el("span", { class: "caption" }, el("span", { class: "index" }, String(feature + 1)), level === 1 ? el("span", { class: "number" }, percent(share[place])) : null));
  const pinned = level === 1 ? shownTree.pinned === feature : shownTree.pinnedPart === feature;
  if (pinned) made.classList.add("pinned");
  made.setAttribute("aria-expanded", String(level === 1 && depth > 1 ? pinned || shownTree.pinned === undefined : false));
  made.addEventListener("pointerenter", (event) => event.pointerType !== "touch" && lit(made));
  made.addEventListener("pointerleave", () => lit(null));
  made.addEventListener("focus", () => made.matches(":focus-visible") && lit(made));
  made.addEventListener("blur", () => lit(null));
  return made;
}

/** The trail that a node adds its step to: wholes begin anew, parts follow their whole. */
function baseTrail(level) {
  const features = shownTree.trail.filter(([kind]) => kind !== "s");
  return level === 1 ? features.filter(([kind]) => kind > shownTree.upper) : features;
}

function drawWide(list, width) {
  const { upper, above, below, links } = shownTree;
  const sizes = NODE_SIZES[data.layers[0].pack.kind];
  const strip = !below.length;
  const most = strip ? Math.max(1, Math.floor(width / (sizes.whole + 12))) : above.length;
  const wholes = place(above, strip ? most : above.length, width, strip ? 3 : 1, above.length === 1 ? 1.3 * sizes.whole : sizes.whole);
  const columns = Math.max(1, Math.floor(width / (sizes.part + 8)));
  const shown = strongestParts(below, links, columns * sizes.most);
  const parts = place(byCenter(shown, wholes, links), columns, width, sizes.most, sizes.part);
  const lines = svg("svg", { class: "links", width, "aria-hidden": "true" });
  tree.prepend(lines);
  wholes.forEach((spot) => list.append(positioned(node(upper, spot.feature, 1), spot)));
  parts.forEach((spot) => list.append(positioned(node(upper - 1, spot.feature, 2), spot)));
  const heights = (layer) => [...list.querySelectorAll(`.node.level-${layer}`)];
  const wholeBottom = stack(heights(1), wholes, 0);
  const gap = Math.max(70, Math.min(130, 60 + 6 * parts.length));
  const bottom = parts.length ? stack(heights(2), parts, wholeBottom + gap) : wholeBottom;
  lines.setAttribute("height", bottom);
  tree.style.height = `${bottom}px`;
  shownTree.hiddenParts = below.length - shown.length;
  drawLinks(lines, wholes, parts, links);
}

/** Places of features in rows: neighbors in the order share a column, and every second row is shifted by half a cell. */
function place(features, columns, width, mostRows, size) {
  const rows = Math.max(1, Math.min(mostRows, Math.ceil(features.length / columns)));
  const perRow = Math.ceil(features.length / rows);
  const cell = Math.min(width / (perRow + (rows > 1 ? 0.5 : 0)), size * 1.7);
  const left = (width - cell * (perRow + (rows > 1 ? 0.5 : 0))) / 2;
  return features.map((feature, index) => {
    const [column, row] = mostRows === 3 ? [index % perRow, Math.floor(index / perRow)] : [Math.floor(index / rows), index % rows];
    const stagger = mostRows === 3 ? 0.25 : row / 2;
    return { feature, row, x: left + cell * (column + 0.5 + (rows > 1 ? stagger : 0)), width: Math.min(cell - 12, size * 1.25) };
  });
}

function positioned(made, spot) {
  made.style.left = `${spot.x - spot.width / 2}px`;
  made.style.width = `${spot.width}px`;
  return made;
}

/** Set the height of each row of nodes below the one before, and return the bottom. */
function stack(nodes, spots, top) {
  const rows = Math.max(0, ...spots.map((spot) => spot.row)) + 1;
  let y = top;
  for (let row = 0; row < rows; row += 1) {
    const inRow = nodes.filter((_, index) => spots[index].row === row);
    const height = Math.max(0, ...inRow.map((made) => made.offsetHeight));
    nodes.forEach((made, index) => {
      if (spots[index].row !== row) return;
      made.style.top = `${y}px`;
      [spots[index].top, spots[index].bottom] = [y, y + made.offsetHeight];
    });
    y += height + (row + 1 < rows ? 10 : 0);
  }
  return y;
}

/** As many parts as there is room for: the strongest of each whole, then the second of each, and so on. */
function strongestParts(below, links, limit) {
  if (below.length <= limit) return below;
  const ranks = new Map();
  const ranked = links.map(([whole, part]) => {
    ranks.set(whole, (ranks.get(whole) ?? -1) + 1);
    return [ranks.get(whole), part];
  });
  return [...new Set(ranked.sort(([one], [other]) => one - other).map(([, part]) => part))].slice(0, limit);
}

/** Parts by the mean place of their wholes, so that lines cross little. */
function byCenter(below, wholes, links) {
  if (wholes.length < 2) return below;
  const at = new Map(wholes.map((spot) => [spot.feature, spot.x]));
  const center = (part) => {
    const own = links.filter(([, other]) => other === part);
    return own.reduce((sum, [whole, , , share]) => sum + share * at.get(whole), 0) / own.reduce((sum, [, , , share]) => sum + share, 0);
  };
  return [...below].sort((one, other) => center(one) - center(other));
}

function drawLinks(lines, wholes, parts, links) {
  const from = new Map(wholes.map((spot) => [spot.feature, spot]));
  const to = new Map(parts.map((spot) => [spot.feature, spot]));
  const widest = Math.max(...links.map(([, , , share]) => share));
  links.forEach(([whole, part, weight, share]) => {
    const [start, end] = [from.get(whole), to.get(part)];
    if (!start || !end) return;
    const middle = (start.bottom + end.top) / 2;
    const path = `M${start.x},${start.bottom + 3}C${start.x},${middle} ${end.x},${middle} ${end.x},${end.top - 3}`;
    const line = svg("path", { class: weight < 0 ? "link negative" : "link", d: path, "data-whole": whole, "data-part": part });
    line.style.strokeWidth = `${Math.max(0.8, (9 * share) / widest)}px`;
    lines.append(line);
  });
}

/** On a phone: the wholes in a strip, and the parts of the chosen one as a list with bars. */
function drawNarrow(list) {
  const { upper, links, pinned, pinnedPart, above } = shownTree;
  tree.style.height = "auto";
  const wholes = pinned === undefined ? above : data.layers[upper].shown.slice(0, Math.max(MOST_WHOLES, data.layers[upper].shown.indexOf(pinned) + 1));
  const strip = el("div", { class: "strip", role: "group" }, ...wholes.map((whole) => node(upper, whole, 1)));
  list.append(strip);
  const chosen = strip.querySelector(".pinned");
  if (chosen) strip.scrollLeft = chosen.offsetLeft - 60;
  if (pinnedPart !== undefined) list.append(el("div", { class: "parts-list" }, partRow(upper - 1, pinnedPart, null)));
  else if (pinned !== undefined) list.append(el("div", { class: "parts-list" }, ...links.slice(0, 8).map(([, part, , share]) => partRow(upper - 1, part, share))));
}

function partRow(layer, part, share) {
  const made = node(layer, part, 2);
  if (share !== null) made.append(bar(share, shownTree.links[0][3], false), el("span", { class: "number" }, percent(share)));
  return made;
}

function treeNote(narrow) {
  const { upper, above, below, pinned, pinnedPart, hiddenParts } = shownTree;
  const note = document.getElementById("tree-note");
  const others = data.layers[upper].size - data.layers[upper].dead - above.length;
  const texts = [];
  if (pinned === undefined && pinnedPart === undefined && others > 0) {
    texts.push(el("a", { href: "#features" }, `${whole(others)} more ${data.nouns[upper]}s`), " · ");
  }
  data.layers.forEach(({ dead }, layer) => dead && texts.push(`${dead} unused ${data.nouns[layer]}${dead > 1 ? "s" : ""} hidden · `));
  if (depth > 1 && !narrow) texts.push(`A line is as wide as the share of a ${data.nouns[upper - 1]} in its ${data.nouns[upper]}${pinned === undefined ? `; from ${percent(data.drawn.least_share)}` : ""}${hiddenParts ? `; ${hiddenParts} weaker ${data.nouns[upper - 1]}s not drawn` : ""}. `);
  if (narrow && below.length && pinned === undefined && pinnedPart === undefined) texts.push(`Tap a ${data.nouns[upper]} to see its ${data.nouns[upper - 1]}s. `);
  texts.push(colorNote(data.layers[0].pack.kind, data.layers[0].pack.signed), axisNote(data.layers[0].pack));
  note.replaceChildren(...texts);
}

// ------------------------------------------------------------------------------ light and keyboard

/** Highlight a node with its links and neighbors, and color the map by its code; null undoes both. */
function lit(made) {
  tree.classList.toggle("dim", made !== null);
  tree.querySelectorAll(".lit").forEach((other) => other.classList.remove("lit"));
  if (made === null) return sampleMap.hint(null);
  const [layer, feature] = [Number(made.dataset.layer), Number(made.dataset.feature)];
  made.classList.add("lit");
  neighbors(layer, feature).forEach((other) => nodeOf(layer === shownTree.upper ? layer - 1 : layer + 1, other)?.classList.add("lit"));
  const role = layer === shownTree.upper ? "whole" : "part";
  tree.querySelectorAll(`.link[data-${role}="${feature}"]`).forEach((line) => line.classList.add("lit"));
  sampleMap.hint({ kind: "feature", layer, feature });
}

function neighbors(layer, feature) {
  const [own, other] = layer === shownTree.upper ? [0, 1] : [1, 0];
  return shownTree.links.filter((link) => link[own] === feature).sort((one, two) => two[3] - one[3]).map((link) => link[other]);
}

function nodeOf(layer, feature) {
  return tree.querySelector(`.node[data-layer="${layer}"][data-feature="${feature}"]`);
}

/** Left and right within a layer, down to the strongest part, up to the strongest whole. */
function walkTree(event) {
  const here = document.activeElement.closest(".node");
  if (!here) return;
  const [layer, feature] = [Number(here.dataset.layer), Number(here.dataset.feature)];
  const row = [...tree.querySelectorAll(`.node[data-layer="${layer}"]`)].sort((one, other) => parseFloat(one.style.left) - parseFloat(other.style.left));
  const index = row.indexOf(here);
  const across = neighbors(layer, feature).map((other) => nodeOf(layer === shownTree.upper ? layer - 1 : layer + 1, other)).find(Boolean);
  const targets = {
    ArrowRight: row[index + 1], ArrowLeft: row[index - 1], Home: row[0], End: row.at(-1),
    ArrowDown: layer === shownTree.upper ? across : null, ArrowUp: layer === shownTree.upper ? null : across,
  };
  if (!(event.key in targets)) return;
  event.preventDefault();
  const target = targets[event.key];
  if (!target) return;
  tree.querySelectorAll(".node").forEach((other) => { other.tabIndex = -1; });
  target.tabIndex = 0;
  target.focus();
}
