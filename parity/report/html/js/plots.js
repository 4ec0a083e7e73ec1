// Plots of used error bounds and distances.

const vendorColour = (name) => `var(--${name === "cuda" ? "cuda" : name === "amd" ? "amd" : "host"})`;
const STEPS = [0, 0.5, 1, 2, 4, 8, 16, 64, 256, 1024, 2 ** 16, Infinity];
const STEP_NAMES = STEPS.map((step) => (step === Infinity ? "more" : step === 0 ? "0" : `≤ ${step === 2 ** 16 ? "2¹⁶" : step}`));

function plotStyle(width) {
  return { width, style: { background: "none", color: "inherit", fontSize: "12px", overflow: "visible" } };
}

/** Cases by the share of the error bound that they used, with one facet per column on a common axis. */
async function budgetPlot(cases, width) {
  const found = cases.filter((each) => each.budget !== null && !each.failed).map((each) => ({ ...named(each), used: Math.min(1, each.budget) }));
  if (!found.some((each) => each.used)) return null;
  await charts();
  return Plot.plot({
    ...plotStyle(width), height: 58 + 56 * new Set(found.map((each) => each.name)).size, marginLeft: 34, marginRight: 104, marginBottom: 38,
    x: { domain: [0, 1], label: "share of the allowed error", tickFormat: (each) => `${Math.round(100 * each)} %` },
    y: { label: null, ticks: 2, grid: true }, fy: { label: null, axis: "right", domain: columnNames(found), padding: 0.2 },
    marks: [
      Plot.rectY(found, Plot.binX({ y: "count" }, { x: "used", fy: "name", fill: (each) => vendorColour(each.vendor), thresholds: Array.from({ length: 21 }, (_, i) => i / 20), inset: 0.5 })),
      Plot.ruleX([1], { stroke: "var(--fail)", strokeDasharray: "3 2" }),
      Plot.tip(found, Plot.pointerX(Plot.binX({ y: "count" }, { x: "used", fy: "name", thresholds: Array.from({ length: 21 }, (_, i) => i / 20), fill: "var(--surface)" }))),
    ],
  });
}

/** Cases by a distance in ULPs, with one facet per column. */
async function ulpPlot(cases, width, of, label) {
  const found = cases.filter((each) => each[of] !== null && each[of] !== undefined && (of !== "apart" || each.against)).map((each) => ({
    ...named(each), step: STEP_NAMES[STEPS.findIndex((step) => each[of] <= step)],
  }));
  if (!cases.some((each) => each[of])) return null;
  await charts();
  return Plot.plot({
    ...plotStyle(width), height: 58 + 56 * new Set(found.map((each) => each.name)).size, marginLeft: 34, marginRight: 104, marginBottom: 38,
    x: { domain: STEP_NAMES, label }, y: { label: null, ticks: 2, grid: true }, fy: { label: null, axis: "right", domain: columnNames(found), padding: 0.2 },
    marks: [Plot.barY(found, Plot.groupX({ y: "count" }, { x: "step", fy: "name", fill: (each) => vendorColour(each.vendor), tip: true }))],
  });
}

const named = (one) => ({ ...one, name: shortName(run.columns[one.column]), vendor: run.columns[one.column].vendor });
const shortName = (column) => (column.target ? `${column.target} ${{ recorded: "rec.", emulated: "emul.", hardware: "hw." }[column.evidence] ?? column.evidence}` : column.name);
const columnNames = (found) => run.columns.map(shortName).filter((name) => found.some((each) => each.name === name));

/** A picture of the wrong elements, with a square for each digit: from 0 (no wrong element) to 9 (all wrong). */
function picture(failure) {
  if (!failure.picture.length) return null;
  const across = Math.max(...failure.picture.map((line) => line.length));
  const side = Math.max(4, Math.min(16, Math.floor(512 / across)));
  const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  const sizes = { width: across * side, height: failure.picture.length * side, viewBox: `0 0 ${across * side} ${failure.picture.length * side}`, role: "img", "aria-label": "positions of wrong elements" };
  for (const [name, value] of Object.entries(sizes)) svg.setAttribute(name, value);
  failure.picture.forEach((line, y) => [...line].forEach((digit, x) => {
    if (digit === " ") return;
    const one = document.createElementNS(svg.namespaceURI, "rect");
    const values = { x: x * side, y: y * side, width: side - 1, height: side - 1, class: digit === "0" ? "right" : "wrong", "fill-opacity": digit === "0" ? 1 : 0.3 + 0.07 * Number(digit) };
    for (const [name, value] of Object.entries(values)) one.setAttribute(name, value);
    svg.append(one);
  }));
  const shape = failure.shape.length ? `output of ${failure.shape.join(" × ")}` : "output";
  const which = failure.found === failure.case ? "" : " in the original case";
  return el("figure.picture", {}, svg, el("figcaption", {}, `${shape}${which}; orange: wrong`));
}
