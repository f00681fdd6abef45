"use strict";

/*
 * The address is the trail: #/2.3/1.17/s.40 is feature 3 of layer 2, from there feature 17 of layer 1, from there
 * sample 40. Going back is the browser's own affair.
 */

function address(trail) {
  return `#/${trail.map(([kind, index]) => `${kind}.${index}`).join("/")}`;
}

function trailOf(hash) {
  if (!hash.startsWith("#/")) return [];
  const steps = hash.slice(2).split("/").map((step) => step.split("."));
  return steps.every(isThere) ? steps.map(([kind, index]) => [kind === "s" ? kind : Number(kind), Number(index)]) : [];
}

function isThere([kind, index]) {
  const shown = kind === "s" ? data.samples.rows : data.layers[Number(kind) - 1]?.shown;
  return shown !== undefined && shown.includes(Number(index));
}

/** The trail with one more step; a step that is already on it leads back to it. */
function onwards(trail, kind, index) {
  const place = trail.findIndex(([otherKind, otherIndex]) => otherKind === kind && otherIndex === index);
  return place < 0 ? [...trail, [kind, index]] : trail.slice(0, place + 1);
}

function featureName(layer, feature) {
  return `layer ${layer + 1}, feature ${feature}`;
}

function sampleName(row) {
  return data.samples.names ? data.samples.names[data.samples.rows.indexOf(row)] : `sample ${row}`;
}

/** A sample's name without its folder or recording, if that is its group, which is shown below it. */
function ownName(row, group) {
  const name = sampleName(row);
  const known = [`${groupName(group)}/`, `${groupName(group)} `].find((start) => name.startsWith(start));
  return known ? name.slice(known.length) : name;
}

function stepName([kind, index]) {
  return kind === "s" ? sampleName(index) : featureName(kind - 1, index);
}

// ------------------------------------------------------------------------------------------ tiles

function featureTile(trail, layer, feature, weight = null, heaviest = 1) {
  const { shown, pack } = data.layers[layer];
  const caption = el("span", { class: "caption" }, el("span", { class: "index" }, String(feature)));
  if (weight !== null) caption.append(el("span", { class: "number weight" }, number(weight)));
  const tile = el(
    "a",
    { class: "tile", href: address(onwards(trail, layer + 1, feature)), "data-feature": feature },
    drawn(pack, shown.indexOf(feature), featureName(layer, feature)),
    caption,
  );
  if (weight !== null) tile.append(bar(weight, heaviest, data.signed));
  return tile;
}

function sampleTile(trail, row, weight = null) {
  const place = data.samples.rows.indexOf(row);
  const pack = data.samples.packs[0];
  const group = data.samples.groups[place];
  const named = data.samples.names !== null;
  const caption = el("span", { class: named ? "caption named" : "caption" }, el("span", { class: "index" }, named ? ownName(row, group) : String(row)));
  caption.append(el("span", { class: "number" }, weight === null ? groupName(group) : number(weight)));
  const picture = drawn(pack, place, `${sampleName(row)}, ${groupPhrase(group)}`);
  return el("a", { class: "tile", href: address(onwards(trail, "s", row)), "data-sample": row }, picture, caption);
}

function tilesOf(trail, layer, entries) {
  const heaviest = entries.length ? Math.abs(entries[0][1]) : 1;
  return entries.map(([feature, weight]) => () => featureTile(trail, layer, feature, weight, heaviest));
}

function leftOut([count, share], what) {
  return count ? el("p", { class: "hint" }, `Not shown: ${plural(count, what)} with ${percent(share)} of the weight.`) : null;
}

// ------------------------------------------------------------------------------------------ views

function crumbs(trail) {
  const items = trail.map((step, index) => {
    const last = index === trail.length - 1;
    const text = stepName(step);
    return el("li", {}, last ? el("span", { "aria-current": "page" }, text) : el("a", { href: address(trail.slice(0, index + 1)) }, text));
  });
  return el("nav", { class: "trail", "aria-label": "Trail" }, el("ol", {}, el("li", {}, el("a", { href: "#parts" }, "all features")), ...items));
}

function part(heading, hint, ...content) {
  return el("section", {}, el("h3", {}, heading), el("p", { class: "hint" }, hint), ...content);
}

function featureView(trail) {
  const [number1, feature] = trail.at(-1);
  const layer = number1 - 1;
  const { shown, pack, strength, sparseness, size } = data.layers[layer];
  const place = shown.indexOf(feature);
  const facts = el("dl", { class: "facts" }, fact("share of the layer", percent(strength[place])), fact("rank", `${place + 1} of ${size}`), fact("sparseness", number(sparseness[place])));
  return [
    crumbs(trail),
    el("h2", { tabindex: -1 }, `Feature ${feature} of layer ${layer + 1}`),
    el("div", { class: "subject" },
      el("div", { class: `large of-${pack.kind}` }, drawn(pack, place, featureName(layer, feature), true)),
      el("div", {}, facts, el("p", { class: "hint" }, "In Python: ", el("code", {}, `model.features_[${layer}][${feature}]`)))),
    below(trail, layer, place),
    above(trail, layer, place),
    strongestSamples(trail, layer, feature),
  ];
}

function fact(term, value) {
  return el("div", {}, el("dt", {}, term), el("dd", {}, value));
}

function below(trail, layer, place) {
  if (layer === 0) return null;
  const { below: entries, below_left_out: rest, pack } = data.layers[layer];
  return part("Made of", `Features of layer ${layer} and their weights, the largest first.`,
    grid(tilesOf(trail, layer - 1, entries[place]), pack.kind), leftOut(rest[place], "feature"));
}

function above(trail, layer, place) {
  const { above: entries, above_left_out: rest, pack } = data.layers[layer];
  if (!entries) return null;
  return part("Part of", `Features of layer ${layer + 2} and the weight of this feature in them.`,
    grid(tilesOf(trail, layer + 1, entries[place]), pack.kind), leftOut(rest[place], "feature"));
}

const MOST_EXAMPLES = 12;

function strongestSamples(trail, layer, feature) {
  const found = data.samples.codes[layer]
    .map((codes, place) => [data.samples.rows[place], codes.find(([index]) => index === feature)?.[1] ?? 0])
    .filter(([, code]) => code !== 0)
    .sort((one, other) => Math.abs(other[1]) - Math.abs(one[1]))
    .slice(0, MOST_EXAMPLES);
  if (!found.length) return null;
  return part("Strongest in", "Samples on this page with the largest codes of this feature.",
    grid(found.map(([row, code]) => () => sampleTile(trail, row, code)), data.samples.packs[0].kind));
}

function sampleView(trail) {
  const row = trail.at(-1)[1];
  const { rows, groups, packs, errors, error_name: errorName } = data.samples;
  const place = rows.indexOf(row);
  const depth = data.layers.length;
  const pictures = [el("figure", {}, drawn(packs[0], place, `${sampleName(row)}, original`, true), el("figcaption", {}, "original"))];
  for (let layer = depth - 1; layer >= 0; layer -= 1) {
    const label = `${sampleName(row)}, from layer ${layer + 1}`;
    const caption = el("figcaption", {}, `from layer ${layer + 1}`, el("small", {}, `${errorName} ${percent(errors[layer][place])}`));
    pictures.push(el("figure", {}, drawn(packs[layer + 1], place, label, true), caption));
  }
  const layers = [];
  for (let layer = depth - 1; layer >= 0; layer -= 1) layers.push(codesOf(trail, layer, place));
  return [
    crumbs(trail),
    el("h2", { tabindex: -1 }, data.samples.names ? sampleName(row) : `Sample ${row}`),
    el("p", { class: "hint" }, `This sample belongs to ${groupPhrase(groups[place])}. In Python: `, el("code", {}, `X[${row}]`)),
    el("div", { class: `rebuilt of-${packs[0].kind}` }, ...pictures),
    el("div", { class: "columns" }, ...layers),
  ];
}

function codesOf(trail, layer, place) {
  const entries = data.samples.codes[layer][place];
  const heaviest = entries.length ? Math.abs(entries[0][1]) : 1;
  const rows = entries.map(([feature, code]) => () => codeRow(trail, layer, feature, code, heaviest));
  const content = entries.length ? grid(rows, "row") : el("p", { class: "hint" }, "All codes are zero.");
  return part(`Codes at layer ${layer + 1}`, "The weights of the features in this sample, the largest first.",
    content, leftOut(data.samples.left_out[layer][place], "code"));
}

function codeRow(trail, layer, feature, code, heaviest) {
  const { shown, pack } = data.layers[layer];
  const place = shown.indexOf(feature);
  const content = [el("span", { class: "index" }, String(feature)), bar(code, heaviest, code < 0), el("span", { class: "number" }, number(code))];
  if (place < 0) return el("span", { class: "code" }, el("span", { class: `thumb of-${pack.kind}` }), ...content);
  const thumb = el("span", { class: `thumb of-${pack.kind}` }, drawn(pack, place, featureName(layer, feature)));
  return el("a", { class: "code", href: address(onwards(trail, layer + 1, feature)), "data-feature": feature }, thumb, ...content);
}
