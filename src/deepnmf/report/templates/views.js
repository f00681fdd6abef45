"use strict";

/*
 * The details of one feature or one sample, below the first screen.
 */

// ------------------------------------------------------------------------------------------ tiles

function featureTile(trail, layer, feature, weight = null, heaviest = 1, share = null) {
  const { shown, pack, scene } = data.layers[layer];
  const place = shown.indexOf(feature);
  const caption = el("span", { class: "caption" }, el("span", { class: "index" }, String(feature + 1)));
  if (share !== null) caption.append(el("span", { class: "number" }, percent(share)));
  const tile = el("a", { class: "tile", href: address(onwards(trail, layer, feature)), "data-layer": layer, "data-feature": feature, "data-weight": weight });
  if (scene) tile.append(drawnPicture(scene, place, `abundance of ${featureName(layer, feature)}`));
  tile.append(drawn(pack, place, fullName(layer, feature)), caption);
  if (weight !== null) tile.append(bar(weight, heaviest, data.signed));
  return tile;
}

function sampleTile(trail, row, weight = null, words = null) {
  const group = groupOf(row);
  const caption = el("span", { class: data.map.names || weight !== null ? "caption named" : "caption" }, el("span", { class: "index" }, data.map.names ? ownName(row, group) : String(row + 1)));
  caption.append(el("span", { class: "number" }, weight === null ? groupName(group) : `${groupName(group)} · ${number(weight)}`));
  const text = markedText(row, words, 240);
  const tile = el("a", { class: "tile", href: address(onwards(trail, "s", row)), "data-sample": row, "data-weight": weight }, text ?? drawnSample(row), caption);
  if (words && !text) markWords(tile, words);
  return tile;
}

/** The text of a sample with some words marked, if the page has it. */
function markedText(row, words, longest = Infinity) {
  const place = data.samples.originals.indexOf(row);
  if (!data.samples.texts || place < 0) return null;
  const text = data.samples.texts[place].slice(0, longest);
  const pieces = text.split(/([\p{L}\p{N}_]+)/u).map((piece) => (words?.has(piece.toLowerCase()) ? el("mark", {}, piece) : piece));
  return el("p", { class: "text" }, ...pieces);
}

/** Mark the words of a list that a feature has too. */
function markWords(box, words) {
  box.querySelectorAll(".word").forEach((word) => word.classList.toggle("marked", words.has(word.textContent.toLowerCase())));
}

function wordsOf(layer, feature) {
  const { pack, shown } = data.layers[layer];
  if (pack.kind !== "words") return null;
  return new Set(rankedWords(pack, shown.indexOf(feature)).map(([word]) => word.toLowerCase()));
}

function tilesOf(trail, layer, entries) {
  const heaviest = entries.length ? Math.max(...entries.map(([, weight]) => Math.abs(weight))) : 1;
  return entries.map(([feature, weight, share]) => () => featureTile(trail, layer, feature, weight, heaviest, share ?? null));
}

function leftOut([count, share], what) {
  return count ? el("p", { class: "hint" }, `Not shown: ${plural(count, what)} with ${percent(share)} of the weight.`) : null;
}

// ------------------------------------------------------------------------------------------ views

function crumbs(trail) {
  if (!trail.length) return [];
  const items = trail.map((step, index) => {
    const last = index === trail.length - 1;
    const text = stepName(step);
    return el("li", {}, last ? el("span", { "aria-current": "page" }, text) : el("a", { href: address(trail.slice(0, index + 1)) }, text));
  });
  return [el("ol", {}, el("li", {}, el("a", { href: "#tree-panel" }, `all ${data.nouns.at(-1)}s`)), ...items)];
}

function part(heading, hint, ...content) {
  return el("section", {}, el("h3", {}, heading), hint ? el("p", { class: "hint" }, hint) : null, ...content);
}

function python(expression) {
  return el("p", { class: "hint" }, "In Python: ", el("code", {}, expression));
}

function featureView(trail) {
  const [layer, feature] = trail.at(-1);
  const { shown, pack, share, sparseness, titles, scene } = data.layers[layer];
  const place = shown.indexOf(feature);
  const facts = el("dl", { class: "facts" }, fact("share of its layer", percent(share[place])), fact("rank", `${place + 1} of ${shown.length}`), fact("sparseness", number(sparseness[place])));
  const pictures = [drawn(pack, place, fullName(layer, feature), true)];
  if (scene) pictures.unshift(drawnPicture(scene, place, `abundance of ${featureName(layer, feature)}`));
  return [
    el("h2", { tabindex: -1 }, capital(featureName(layer, feature)), titles[place] ? el("small", {}, titles[place]) : null),
    el("div", { class: "subject" },
      el("div", { class: `large of-${pack.kind}${scene ? " with-scene" : ""}` }, ...pictures),
      el("div", {}, facts, python(`model.features_[${layer}][${feature}]`), groupMeans(layer, feature))),
    below(trail, layer, place),
    above(trail, layer, place),
    strongestSamples(trail, layer, place),
  ];
}

function fact(term, value) {
  return el("div", {}, el("dt", {}, term), el("dd", {}, value));
}

const MOST_MEANS = 6;

/** The groups in which a feature is strongest on average. */
function groupMeans(layer, feature) {
  const { features, groups, means } = data.profile[layer];
  const column = features.indexOf(feature);
  if (column < 0 || groups.length < 2) return null;
  const found = means.map((mean, index) => [groups[index], mean[column]]).sort((one, other) => Math.abs(other[1]) - Math.abs(one[1])).slice(0, MOST_MEANS);
  const largest = Math.abs(found[0][1]);
  const rows = found.map(([group, mean]) => el("li", {}, el("span", { class: "word" }, groupName(group)), bar(mean, largest, data.signed), el("span", { class: "number" }, number(mean))));
  return el("div", { class: "means" }, el("h3", {}, `Mean code by ${data.groups.kind}`), el("ol", { class: "weights" }, ...rows));
}

function below(trail, layer, place) {
  if (layer === 0) return null;
  const { below: entries, below_left_out: rest, pack } = data.layers[layer];
  return part("Made of", `${capital(data.nouns[layer - 1])}s by their weight (row of model.factors_[${layer}]); percentages are shares of this ${data.nouns[layer]}.`,
    grid(tilesOf(trail, layer - 1, entries[place]), pack.kind), leftOut(rest[place], data.nouns[layer - 1]));
}

function above(trail, layer, place) {
  const { above: entries, above_left_out: rest, pack } = data.layers[layer];
  if (!entries) return null;
  return part("Part of", `${capital(data.nouns[layer + 1])}s by the weight of this ${data.nouns[layer]} in them; percentages are its shares of them.`,
    grid(tilesOf(trail, layer + 1, entries[place]), pack.kind), leftOut(rest[place], data.nouns[layer + 1]));
}

function strongestSamples(trail, layer, place) {
  const { strongest, shown } = data.layers[layer];
  if (!strongest[place].length) return null;
  const words = wordsOf(layer, shown[place]);
  return part("Strongest in", `The samples with the largest codes, among all ${whole(data.samples.total)}.`,
    grid(strongest[place].filter(([row]) => placeOnMap(row) >= 0).map(([row, code]) => () => sampleTile(trail, row, code, words)), data.samples.texts ? "text" : data.samples.original.kind));
}

function sampleView(trail) {
  const row = trail.at(-1)[1];
  const { rows, rebuilt, errors, error_name: errorName, original } = data.samples;
  const place = rows.indexOf(row);
  const pictures = [el("figure", {}, drawnSample(row, true), el("figcaption", {}, "original"))];
  for (let layer = depth - 1; layer >= 0 && place >= 0; layer -= 1) {
    const label = `${sampleName(row)}, from ${data.nouns[layer]}s`;
    const caption = el("figcaption", {}, `from ${data.nouns[layer]}s`, el("small", {}, `${errorName} ${percent(errors[layer][place])}`));
    pictures.push(el("figure", {}, drawn(rebuilt[layer], place, label, true), caption));
  }
  const layers = data.layers.map((_, layer) => codesOf(trail, layer, row)).reverse();
  return [
    el("h2", { tabindex: -1 }, capital(sampleName(row)), el("small", {}, groupPhrase(groupOf(row)))),
    python(`X[${row}]`),
    markedText(row, null),
    el("div", { class: `rebuilt of-${original.kind}` }, ...pictures),
    place < 0 ? el("p", { class: "hint" }, `Reconstructions of ${rows.length} samples are on this page; this sample is not among them, and its codes are rounded to 8 bits.`) : null,
    el("div", { class: "columns" }, ...layers),
  ];
}

function codesOf(trail, layer, row) {
  const entries = codesOfSample(layer, row);
  const heaviest = entries.length ? Math.abs(entries[0][1]) : 1;
  const links = entries.map(([feature, code]) => () => codeRow(trail, layer, feature, code, heaviest));
  const content = entries.length ? grid(links, "row", 8) : el("p", { class: "hint" }, "All codes are zero.");
  const place = data.samples.rows.indexOf(row);
  return part(`Codes of ${data.nouns[layer]}s`, "", content, place < 0 ? null : leftOut(data.samples.left_out[layer][place], "code"));
}

function codeRow(trail, layer, feature, code, heaviest) {
  const { shown, pack } = data.layers[layer];
  const place = shown.indexOf(feature);
  const content = [el("span", { class: "index" }, String(feature + 1)), bar(code, heaviest, code < 0), el("span", { class: "number" }, number(code))];
  if (place < 0) return el("span", { class: "code" }, el("span", { class: `thumb of-${pack.kind}` }), ...content);
  const thumb = el("span", { class: `thumb of-${pack.kind}` }, drawn(pack, place, featureName(layer, feature)));
  return el("a", { class: "code", href: address(onwards(trail, layer, feature)), "data-feature": feature }, thumb, ...content);
}
