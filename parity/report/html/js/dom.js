"use strict";
// Elements, texts and numbers. Data of a run only become text nodes or attributes, never HTML.

/** Create an element from a tag with classes ("td.state"), attributes, and children (elements or texts). */
function el(tag, attributes = {}, ...children) {
  const [name, ...classes] = tag.split(".");
  const made = document.createElement(name);
  if (classes.length) made.className = classes.join(" ");
  for (const [key, value] of Object.entries(attributes)) {
    if (value === undefined || value === null || value === false) continue;
    if (key.startsWith("on")) made.addEventListener(key.slice(2), value);
    else if (key === "style") Object.entries(value).forEach(([name, each]) => made.style.setProperty(name, each));
    else made.setAttribute(key, value === true ? "" : value);
  }
  made.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== "" && child !== false));
  return made;
}

const count = new Intl.NumberFormat("en").format;
const plural = (number, noun) => `${count(number)} ${noun}${number === 1 ? "" : "s"}`;
const percent = (share) => (share === null ? "" : `${Math.ceil(100 * share)} %`);
const figures = (number, digits = 3) =>
  number === null || number === undefined ? "" : number === 0 ? "0"
    : Math.abs(number) >= 1e5 || Math.abs(number) < 1e-3 ? number.toExponential(digits - 1)
      : String(Number(number.toPrecision(digits)));

/** Format seconds with an SI prefix. */
function seconds(value) {
  if (value === null || value === undefined) return "";
  const [factor, unit] = value >= 1 ? [1, "s"] : value >= 1e-3 ? [1e3, "ms"] : value >= 1e-6 ? [1e6, "µs"] : [1e9, "ns"];
  return `${(value * factor).toPrecision(3)} ${unit}`;
}

/** Quote a text for a POSIX shell. */
const quoted = (text) => (/^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", `'"'"'`)}'`);

function say(text) {
  const said = document.getElementById("said");
  said.textContent = text;
  clearTimeout(say.timer);
  say.timer = setTimeout(() => (said.textContent = ""), 2500);
}

async function copy(text) {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    // Some browsers deny clipboard access to pages from disk, but allow copying a selection.
    const area = el("textarea", { style: { position: "fixed", opacity: "0" } });
    area.value = text;
    document.body.append(area);
    area.select();
    document.execCommand("copy");
    area.remove();
  }
  say("copied");
}

/** A command with a button that copies it. */
const command = (text) =>
  el("div.command", {}, el("code", {}, text), el("button", { type: "button", onclick: () => copy(text) }, "copy"));

/** Decode a text from base64 and gzip. */
async function inflated(base64) {
  const bytes = Uint8Array.from(atob(base64), (each) => each.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Response(stream).text();
}

const loaded = {};
/** Load libraries on first use. */
function library(...names) {
  return names.reduce(
    (before, name) => before.then(() => (loaded[name] ??= (async () => {
      const packed = document.querySelector(`script[data-library="${name}"]`).textContent;
      document.head.append(el("script", {}, await inflated(packed)));
    })())),
    Promise.resolve(),
  );
}
const charts = () => library("d3.min.js", "plot.umd.min.js");
const tables = () => library("tabulator.min.js");
