"use strict";

const data = JSON.parse(document.getElementById("data").textContent);
const SVG = "http://www.w3.org/2000/svg";

/** An element with attributes and children; strings become text, never markup. */
function el(name, attributes = {}, ...children) {
  return filled(document.createElement(name), attributes, children);
}

function svg(name, attributes = {}, ...children) {
  return filled(document.createElementNS(SVG, name), attributes, children);
}

function filled(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value !== null && value !== false) element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children.filter((child) => child !== null));
  return element;
}

/** Three significant digits, with a minus sign. */
function number(value) {
  if (value === null) return "–";
  const size = Math.abs(value);
  const text = size !== 0 && (size < 1e-3 || size >= 1e5) ? size.toExponential(2) : String(Number(size.toPrecision(3)));
  return value < 0 ? `−${text}` : text;
}

/** As many digits as the marks of a scale need to be distinct. */
function tickLabel(value) {
  return Math.abs(value) >= 1e6 || (value !== 0 && Math.abs(value) < 1e-4) ? value.toExponential() : String(Number(value.toPrecision(7)));
}

function percent(share) {
  const value = 100 * share;
  return value > 0 && value < 0.1 ? "< 0.1 %" : `${Number(value.toFixed(value < 10 ? 1 : 0))} %`;
}

function plural(count, word) {
  return `${whole(count)} ${word}${count === 1 ? "" : word.endsWith("s") ? "es" : "s"}`;
}

/** A count with separators of thousands. */
function whole(count) {
  return count.toLocaleString("en");
}

/** Replace all deflated numbers of the data by typed arrays. */
async function unpack(value) {
  if (value === null || typeof value !== "object") return;
  await Promise.all(Object.entries(value).map(async ([key, part]) => {
    if (part && part.deflated !== undefined) value[key] = await inflated(part);
    else await unpack(part);
  }));
}

async function inflated({ array, deflated }) {
  const bytes = Uint8Array.from(atob(deflated), (letter) => letter.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  const buffer = await new Response(stream).arrayBuffer();
  const kinds = { Uint8: Uint8Array, Int8: Int8Array, Uint16: Uint16Array, Int16: Int16Array, Uint32: Uint32Array };
  return new kinds[array](buffer);
}

/** A choice from a list of [heading, [[value, text], ...]]; options without a heading come first. */
function dropdown(label, groups, onChange) {
  const box = el("select", { "aria-label": label });
  groups.forEach(([heading, options]) => {
    const made = options.map(([value, text]) => el("option", { value }, text));
    box.append(...(heading ? [el("optgroup", { label: heading }, ...made)] : made));
  });
  box.addEventListener("change", () => onChange(box.value));
  return box;
}

/**
 * A grid of links with one stop for the tab key, within which the arrow keys lead on.
 * Only the first so many are there until the rest is asked for, unless the rest is a few only.
 */
function grid(links, kind, limit = Infinity) {
  const box = el("div", { class: `grid of-${kind}` });
  const add = (from, to) => links.slice(from, to).forEach((make) => {
    const link = make();
    link.tabIndex = box.childElementCount ? -1 : 0;
    box.append(link);
  });
  const shown = links.length <= limit * 1.125 ? links.length : limit;
  add(0, shown);
  box.addEventListener("keydown", (event) => walk(event, box));
  box.addEventListener("focusin", (event) => {
    for (const link of box.children) link.tabIndex = link.contains(event.target) ? 0 : -1;
  });
  if (links.length === shown) return box;
  const more = el("button", { type: "button", class: "more" }, `Show ${whole(links.length - shown)} more`);
  more.addEventListener("click", () => {
    add(shown, links.length);
    more.remove();
    box.children[shown].focus();
  });
  return el("div", {}, box, more);
}

function walk(event, box) {
  const links = [...box.children];
  const here = links.indexOf(document.activeElement);
  const top = links[0].offsetTop;
  const columns = links.filter((link) => link.offsetTop === top).length;
  const steps = { ArrowRight: 1, ArrowLeft: -1, ArrowDown: columns, ArrowUp: -columns };
  const target =
    event.key === "Home" ? 0 : event.key === "End" ? links.length - 1 : event.key in steps ? here + steps[event.key] : -1;
  if (here < 0 || !links[target]) return;
  event.preventDefault();
  links[target].focus();
}

/** Radio buttons that look like tabs. */
function choice(label, options, chosen, onChange) {
  const box = el("fieldset", { class: "choice" }, el("legend", {}, label));
  const name = `choice-${document.querySelectorAll("fieldset").length}-${label.replaceAll(/\W/g, "")}`;
  options.forEach((option, index) => {
    const input = el("input", { type: "radio", name, value: index, checked: index === chosen });
    input.addEventListener("change", () => onChange(index));
    box.append(el("label", {}, input, el("span", {}, option)));
  });
  return box;
}
