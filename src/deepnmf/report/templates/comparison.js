"use strict";

function fillLayer(box) {
  const { name, layers } = data.models[Number(box.dataset.model)];
  const { shown, share, titles, pack } = layers[Number(box.dataset.layer)];
  if (pack.relevance !== undefined) relevance = pack.relevance;
  const tiles = shown.map((feature, place) =>
    el("div", { class: "tile" },
      drawn(pack, place, `${name}, feature ${feature + 1}${titles[place] ? `: ${titles[place]}` : ""}`),
      el("span", { class: "caption" }, el("span", { class: "index" }, String(feature + 1)), el("span", { class: "number" }, percent(share[place])))),
  );
  box.append(el("p", { class: "hint" }, `The strongest first. ${colorNote(pack.kind, pack.signed)}`), el("div", { class: `grid of-${pack.kind}` }, ...tiles));
}

function sampleRow(place) {
  const { rows, groups, errors, error_name: errorName, original, rebuilt } = data.samples;
  const name = `sample ${rows[place] + 1}`;
  const figures = rebuilt.map((pack, model) => {
    const least = Math.min(...errors.map((error) => error[place]));
    const errorText = el("small", { class: errors[model][place] === least && rebuilt.length > 1 ? "best" : null }, `${errorName} ${percent(errors[model][place])}`);
    return el("figure", {}, drawn(pack, place, `${name} by ${data.models[model].name}`), el("figcaption", {}, data.models[model].name, errorText));
  });
  const first = el("figure", {}, drawn(original, place, name), el("figcaption", {}, name, el("small", {}, groups[place])));
  return el("div", { class: `compared-sample of-${original.kind}` }, first, ...figures);
}

async function start() {
  await unpack(data);
  await decode([...data.models.flatMap((model) => model.layers.map((layer) => layer.pack)), data.samples.original, ...data.samples.rebuilt]);
  document.querySelectorAll(".features").forEach(fillLayer);
  document.getElementById("sample-list").append(...data.samples.rows.map((_, place) => sampleRow(place)));
  document.documentElement.dataset.ready = "yes";
}

start();
