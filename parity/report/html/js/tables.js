// Speed and static properties of kernels, and differences between two runs, as sortable tables and bars.

async function sortable(place, data, columns, options = {}) {
  await tables();
  return new Tabulator(place, {
    data, layout: "fitDataFill", height: Math.min(640, 60 + 27 * data.length), ...options,
    columns: columns.map(({ value, ...rest }) => ({ ...rest, formatter: shows(value ?? ((each) => String(each[rest.field] ?? ""))) })),
  });
}

const number = { hozAlign: "right", sorter: "number" };

function codeView() {
  const kernels = new Set(kernelsShown().map((each) => each.kernel));
  const targets = new Set(columnsShown().map((each) => each.target));
  const isShown = (each) => kernels.has(each.kernel) && (!shown.target.size || targets.has(each.target));
  const footprints = run.static.filter(isShown);
  const speeds = run.speed.filter(isShown);
  const view = el("section.view");
  const part = (title, about, data, columns, plots) => {
    const place = el("div");
    const drawn = el("div.plots");
    view.append(el("section", {}, el("h2", {}, title), el("p.about", {}, about), drawn, place));
    requestAnimationFrame(async () => {
      await sortable(place, data, columns);
      const width = Math.min(900, view.clientWidth - 8);
      drawn.append(...(await plots(width)));
    });
  };
  if (speeds.length) part("Speed", "time: median of launches with cold caches; share: the time that the device's copy rate or FLOP rate allows, divided by the measured time; instructions: per element, for emulated targets, which do not measure speed.", speeds, [
    { title: "module", field: "module" }, { title: "kernel", field: "kernel" }, { title: "target", field: "target" },
    { title: "time", field: "seconds", ...number, value: (each) => seconds(each.seconds) },
    { title: "share", field: "share", ...number, value: (each) => (each.share === null ? "" : bar(each.share, `${Math.round(100 * each.share)} % of ${each.bound}`)) },
    { title: "instructions", field: "instructions", ...number, value: (each) => figures(each.instructions) },
    { title: "case", field: "case" }, { title: "notes", field: "notes" },
  ], (width) => shareBars(speeds, width));
  if (footprints.length) part("Code", "registers: vector registers of a lane (CUDA: registers of a thread); occupancy: share of the possible resident wavefronts or warps that workgroups of the largest size reach; valu and the following columns: static instruction counts by class.", footprints, [
    { title: "module", field: "module" }, { title: "kernel", field: "kernel" }, { title: "target", field: "target" },
    { title: "registers", field: "vgprs", ...number }, { title: "scalar", field: "sgprs", ...number },
    { title: "spills", field: "spills", ...number }, { title: "scratch", field: "scratch_bytes", ...number }, { title: "LDS", field: "lds_bytes", ...number },
    { title: "occupancy", field: "occupancy", ...number, value: (each) => (each.occupancy === null ? "" : bar(each.occupancy, percent(each.occupancy))) },
    { title: "bytes", field: "code_bytes", ...number },
    ...classesOf(footprints).map((name) => ({ title: name, field: `mix.${name}`, ...number, value: (each) => String(each.mix?.[name] ?? "") })),
  ], (width) => mixBars(footprints, width));
  if (!view.childElementCount) {
    view.append(el("p.none", {}, run.static.length + run.speed.length
      ? "Nothing matches these filters."
      : "This run has neither measurements nor footprints. parity run --time measures; parity bench --save and parity footprint --output write files that parity report reads."));
  }
  return view;
}

const classesOf = (footprints) => [...new Set(footprints.flatMap((each) => Object.keys(each.mix ?? {})))];
const bar = (share, text) => el("span.bar", { style: { "--share": Math.min(1, share) } }, text);

/** Kernels by module and by their share of the device's limit. */
async function shareBars(speeds, width) {
  const timed = speeds.filter((each) => each.share !== null);
  if (!timed.length) return [];
  await charts();
  return [el("figure", {}, el("figcaption", {}, "Kernels by their share of the device's limit"), Plot.plot({
    ...plotStyle(width), height: 60 + 26 * new Set(timed.map((each) => each.module)).size, marginLeft: 90,
    x: { domain: [0, Math.max(1, ...timed.map((each) => each.share))], label: "share", tickFormat: (each) => `${Math.round(100 * each)} %`, grid: true }, y: { label: null },
    marks: [
      Plot.dot(timed, { x: "share", y: "module", fill: "var(--accent)", fillOpacity: 0.55, r: 4, channels: { kernel: "kernel", target: "target" }, tip: true }),
      Plot.tickX(timed, Plot.groupY({ x: "median" }, { x: "share", y: "module", strokeWidth: 2 })),
    ],
  }))];
}

/** The instructions of all kernels by target and class. */
async function mixBars(footprints, width) {
  const found = footprints.flatMap((each) => Object.entries(each.mix ?? {}).map(([name, number]) => ({ target: each.target, name, number })));
  if (!found.length) return [];
  await charts();
  return [el("figure", {}, el("figcaption", {}, "Instructions in the code, by class"), Plot.plot({
    ...plotStyle(width), height: 70 + 34 * new Set(found.map((each) => each.target)).size, marginLeft: 90,
    x: { label: "instructions", grid: true, tickFormat: "s" }, y: { label: null }, color: { legend: true, scheme: "observable10", domain: classesOf(footprints) },
    marks: [Plot.barX(found, Plot.groupY({ x: "sum" }, { x: "number", y: "target", fill: "name", order: classesOf(footprints), tip: true }))],
  }))];
}

const CHANGES = ["broken", "changed", "mended", "removed", "added"];

function compareView() {
  const { before, counts, cells, cases } = run.comparison;
  const kernels = new Set(kernelsShown().map((each) => `${each.op}/${each.kernel}`));
  const columns = new Set(columnsShown().map((each) => each.name));
  const isShown = (each) => (kernels.has(`${each.op}/${each.kernel}`) || each.change === "removed") && (columns.has(each.column) || each.change === "removed");
  const found = cells.filter(isShown);
  const changed = cases.filter(isShown);
  const view = el("section.view", {},
    el("h2", {}, "Since ", el("span", {}, before)),
    el("div.tiles", {}, Object.entries(counts).map(([name, each]) => el("div.tile", { "data-change": name }, el("b", {}, count(each)), ` ${name}`))));
  const part = (title, data, columns, all = data.length) => {
    const place = el("div");
    view.append(el("section", {}, el("h3", {}, `${title} (${all > data.length ? `${count(data.length)} of ` : ""}${count(all)})`), data.length ? place : el("p.none", {}, "none")));
    if (data.length) requestAnimationFrame(() => sortable(place, data, columns).then((table) => table.on("rowClick", (event, row) => {
      const each = row.getData();
      const name = `${each.op}/${each.kernel}@${each.column}`;
      if (cellAt(name)) go({ cell: name });
    })));
  };
  const change = { title: "change", field: "change", value: (each) => el("span.change", { "data-change": each.change }, each.change), sorter: (a, b) => CHANGES.indexOf(a) - CHANGES.indexOf(b) };
  const sides = (name, field, format = (each) => each) => ({ title: name, field: `${field}_after`, value: (each) => [each[`${field}_before`], each[`${field}_after`]].map((one) => (one === null || one === undefined ? "–" : format(one))).filter((one, i, both) => !i || one !== both[0]).join(" → ") });
  part("Kernels", found, [change, { title: "kernel", field: "kernel" }, { title: "column", field: "column" }, sides("state", "state"), sides("cases", "passed"), sides("error share", "budget", percent), sides("ULP", "ulp", figures), sides("share", "share", percent)]);
  part("Cases", changed, [change, { title: "case", field: "case", value: (each) => el("code", {}, each.case) }, { title: "column", field: "column" }, sides("outcome", "outcome")], cases.length < run.comparison.all_cases ? run.comparison.all_cases : changed.length);
  return view;
}
