"use strict";

const FIRST_FEATURES = 48;
const FIRST_SAMPLES = 24;
const overview = document.getElementById("overview");
const detail = document.getElementById("detail");
let scrolled = 0;
let cameFrom = null;

function fillLayers() {
  const box = document.getElementById("layers");
  for (let layer = data.layers.length - 1; layer >= 0; layer -= 1) {
    const { size, shown, pack } = data.layers[layer];
    const links = shown.map((feature) => () => featureTile([], layer, feature));
    const note = shown.length < size ? `the ${shown.length} strongest of ${plural(size, "feature")}` : plural(size, "feature");
    box.append(
      el("section", { class: "layer", "aria-label": `layer ${layer + 1}` },
        el("h3", {}, `Layer ${layer + 1}`, el("small", {}, note)), grid(links, pack.kind, FIRST_FEATURES)),
    );
  }
  document.getElementById("colors").textContent = colorNote(data.layers[0].pack.kind, data.signed);
}

function fillSamples() {
  const { rows, total, packs, groups } = data.samples;
  const list = document.getElementById("sample-list");
  const search = document.getElementById("search");
  const found = document.getElementById("found");
  const words = rows.map((row, place) => `${row} ${sampleName(row)} ${groupName(groups[place])}`.toLowerCase());
  let matching = rows;
  const show = () => {
    const asked = search.value.trim().toLowerCase();
    const exact = rows.filter((row) => asked === String(row) || asked === sampleName(row).toLowerCase());
    matching = exact.length ? exact : rows.filter((_, place) => words[place].includes(asked));
    found.textContent = asked ? `${plural(matching.length, "sample")} of ${rows.length}` : "";
    list.replaceChildren(grid(matching.map((row) => () => sampleTile([], row)), packs[0].kind, FIRST_SAMPLES));
  };
  search.addEventListener("input", show);
  search.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && matching.length) location.hash = address([["s", matching[0]]]);
  });
  if (rows.length < total) {
    document.getElementById("samples-hint").append(` This page contains ${rows.length} of ${whole(total)} samples, from every ${data.groups.kind}.`);
  }
  show();
}

/** Show what the address names: one feature or sample, or the overview. */
function route() {
  const trail = trailOf(location.hash);
  if (!trail.length) return showOverview();
  if (detail.hidden) scrolled = window.scrollY;
  cameFrom = trail[0];
  const view = trail.at(-1)[0] === "s" ? sampleView(trail) : featureView(trail);
  detail.replaceChildren(...view.filter((piece) => piece !== null));
  detail.hidden = false;
  overview.hidden = true;
  window.scrollTo(0, detail.offsetTop - 72);
  detail.querySelector("h2").focus({ preventScroll: true });
}

/** Return to the earlier position, with the focus on the tile that was selected. */
function showOverview() {
  const returning = !detail.hidden;
  detail.hidden = true;
  overview.hidden = false;
  if (!returning) return;
  const [kind, index] = cameFrom;
  const selector = kind === "s" ? `[data-sample="${index}"]` : `[data-feature="${index}"]`;
  const section = kind === "s" ? overview : overview.querySelector(`[aria-label="layer ${kind}"]`);
  section.querySelector(selector)?.focus({ preventScroll: true });
  if (location.hash === "" || location.hash === "#parts") window.scrollTo(0, scrolled);
  else document.getElementById(location.hash.slice(1))?.scrollIntoView();
}

function leaveByKey(event) {
  if (event.key !== "Escape" || detail.hidden) return;
  const trail = trailOf(location.hash);
  location.hash = trail.length > 1 ? address(trail.slice(0, -1)) : "#parts";
}

async function start() {
  await decode([...data.layers.map((layer) => layer.pack), ...data.samples.packs]);
  fillLayers();
  fillSamples();
  mapOfCodes(document.getElementById("map-chart"));
  profiles(document.getElementById("profile-table"));
  chart(document.getElementById("loss-chart"), drawnLoss);
  window.addEventListener("hashchange", route);
  document.addEventListener("keydown", leaveByKey);
  route();
  // The browser scrolled to the address before the content existed.
  if (detail.hidden && location.hash.length > 1) document.getElementById(location.hash.slice(1))?.scrollIntoView();
  document.documentElement.dataset.ready = "yes";
}

start();
