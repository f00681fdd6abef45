"use strict";

/*
 * The address is the trail: #/2.3/1.17/s.40 is feature 3 of layer 2, from there feature 17 of layer 1, from there
 * sample 40. Addresses count from 1, as the page does; a step is [layer, feature] or ["s", row], counted from 0.
 */

const depth = data.layers.length;

function address(trail) {
  return `#/${trail.map(([kind, index]) => `${kind === "s" ? kind : kind + 1}.${index + 1}`).join("/")}`;
}

function trailOf(hash) {
  if (!hash.startsWith("#/")) return [];
  const steps = hash.slice(2).split("/").map((step) => step.split("."));
  const trail = steps.map(([kind, index]) => [kind === "s" ? kind : Number(kind) - 1, Number(index) - 1]);
  return trail.every(isThere) ? trail : [];
}

function isThere([kind, index]) {
  if (kind === "s") return placeOnMap(index) >= 0;
  return data.layers[kind] !== undefined && data.layers[kind].shown.includes(index);
}

/** The trail with one more step; a step that is already on it leads back to it. */
function onwards(trail, kind, index) {
  const place = trail.findIndex(([otherKind, otherIndex]) => otherKind === kind && otherIndex === index);
  return place < 0 ? [...trail, [kind, index]] : trail.slice(0, place + 1);
}

// ------------------------------------------------------------------------------------------ names

function capital(text) {
  return text.charAt(0).toUpperCase() + text.slice(1);
}

function featureName(layer, feature) {
  return `${data.nouns[layer]} ${feature + 1}`;
}

/** The name of a feature with its title in words, if it has one. */
function fullName(layer, feature) {
  const title = data.layers[layer].titles[data.layers[layer].shown.indexOf(feature)];
  return title ? `${featureName(layer, feature)}: ${title}` : featureName(layer, feature);
}

function sampleName(row) {
  return data.map.names ? data.map.names[placeOnMap(row)] : `sample ${row + 1}`;
}

/** A sample's name without its folder or recording, if that is its group, which is shown below it. */
function ownName(row, group) {
  const name = sampleName(row);
  const known = [`${groupName(group)}/`, `${groupName(group)} `].find((start) => name.startsWith(start));
  return known ? name.slice(known.length) : name;
}

function stepName([kind, index]) {
  return kind === "s" ? sampleName(index) : featureName(kind, index);
}

function groupName(group) {
  return group < 0 ? "unknown" : data.groups.names[group];
}

/** A group in a sentence; the name of a cluster begins with "cluster". */
function groupPhrase(group) {
  return data.groups.kind === "cluster" ? groupName(group) : `${data.groups.kind} ${groupName(group)}`;
}

// ---------------------------------------------------------------------------------------- samples

const placesOnMap = new Map();

/** The place of a sample among the points of the map, or -1. */
function placeOnMap(row) {
  if (data.map.rows === null) return Number.isInteger(row) && row >= 0 && row < data.map.count ? row : -1;
  if (!placesOnMap.size) data.map.rows.forEach((mapped, place) => placesOnMap.set(mapped, place));
  return placesOnMap.get(row) ?? -1;
}

function rowAt(place) {
  return data.map.rows === null ? place : data.map.rows[place];
}

function groupOf(row) {
  return data.map.groups[placeOnMap(row)];
}

/** A sample as it is in the data, or its preview. */
function drawnSample(row, large = false) {
  const label = `${sampleName(row)}, ${groupPhrase(groupOf(row))}`;
  const place = data.samples.originals.indexOf(row);
  return place < 0 ? drawnPreview(data.map.previews, placeOnMap(row), label, large) : drawn(data.samples.original, place, label, large);
}

/** The codes of a feature for all points of the map, relative to the largest; null if the page does not have them. */
function codesOnMap(layer, feature) {
  const { n_features: count, values } = data.map.codes[layer];
  const place = data.layers[layer].shown.indexOf(feature);
  return place < 0 || place >= count ? null : values.subarray(place * data.map.count, (place + 1) * data.map.count);
}

/** The strongest codes of a sample as [feature, code]: exact ones if the page has them, otherwise those of 8 bits. */
function codesOfSample(layer, row) {
  const place = data.samples.rows.indexOf(row);
  if (place >= 0) return data.samples.codes[layer][place];
  const { n_features: count, values, scales } = data.map.codes[layer];
  const at = placeOnMap(row);
  return data.layers[layer].shown.slice(0, count)
    .map((feature, index) => [feature, (values[index * data.map.count + at] * scales[index]) / 127])
    .filter(([, code]) => code)
    .sort((one, other) => Math.abs(other[1]) - Math.abs(one[1]))
    .slice(0, 20);
}
