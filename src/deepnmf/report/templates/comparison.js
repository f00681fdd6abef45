"use strict";

async function start() {
  await decode(data.models.map((model) => model.features.pack));
  document.querySelectorAll(".features").forEach((box) => {
    const { name, features } = data.models[Number(box.dataset.model)];
    const tiles = features.shown.map((feature, place) =>
      el("div", { class: "tile" },
        drawn(features.pack, place, `${name}, feature ${feature}`),
        el("span", { class: "caption" }, el("span", { class: "index" }, String(feature)))),
    );
    box.previousElementSibling.append(colorNote(features.pack.kind, features.pack.signed));
    box.append(el("div", { class: `grid of-${features.pack.kind}` }, ...tiles));
  });
  document.documentElement.dataset.ready = "yes";
}

start();
