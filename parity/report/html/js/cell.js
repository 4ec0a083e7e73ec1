// The panel of a kernel: all columns, failures, distributions of used error bounds and distances, and a table of cases.

/** The kernel and column that a link names. */
function cellAt(name) {
  const at = name.lastIndexOf("@");
  const [op, kernel] = [name.slice(0, name.indexOf("/")), name.slice(name.indexOf("/") + 1, at)];
  const row = run.kernels.findIndex((each) => each.op === op && each.kernel === kernel);
  const column = run.columns.findIndex((each) => each.name === name.slice(at + 1));
  return row < 0 || column < 0 ? null : { row, column };
}

let opened = "";
async function panel() {
  const aside = document.getElementById("panel");
  if (shown.cell === opened) return;
  const returning = opened;
  opened = shown.cell;
  const place = opened && cellAt(opened);
  aside.hidden = !opened;
  document.body.classList.toggle("with-panel", Boolean(opened));
  document.querySelectorAll(".matrix .chosen").forEach((each) => each.classList.remove("chosen"));
  if (!opened) {
    const back = returning && cellAt(returning);
    if (back) focusOn(document.querySelector(`td[data-row="${back.row}"][data-column="${back.column}"]`));
    return;
  }
  if (!place) {
    aside.replaceChildren(head("no such kernel", ""), el("p.none", {}, `This report does not contain ${opened}.`));
    return;
  }
  const { row, column } = place;
  document.querySelector(`.matrix td[data-row="${row}"][data-column="${column}"]`)?.classList.add("chosen");
  const kernel = run.kernels[row];
  const cases = casesOf(row);
  const plots = el("div.plots");
  const table = el("div.table");
  const cards = run.failures.filter((each) => each.rows.includes(row) || (!each.rows.length && each.lines.some(([label, value]) => label === "kernels" && value.split(" ").includes(kernel.kernel))));
  aside.replaceChildren();
  aside.append(...[
    head(kernel.kernel, kernelName(kernel)),
    el("table.cells", {}, el("thead", {}, el("tr", {}, ["column", "state", "cases passed", "share of bound", "notes"].map((each) => el("th", { scope: "col" }, each)))),
      el("tbody", {}, run.columns.map((each) => cellRow(row, each, each.index === column)))),
    command(again(kernelName(kernel))),
    cards.length ? el("section", {}, el("h3", {}, plural(cards.length, "failure")), cards.map(card)) : "",
    plots, table]);
  aside.scrollTop = 0;
  aside.querySelector("button.close").focus();
  if (!cases.length) {
    table.replaceChildren(el("p.none", {}, "No case was run."));
    return;
  }
  const width = Math.min(720, aside.clientWidth - 40);
  const made = [
    ["Share of the allowed error that cases use", await budgetPlot(cases, width)],
    ["Distance from the reference", await ulpPlot(cases, width, "ulp", "largest distance of a case, ULP")],
    ["Distance between AMD and CUDA", await ulpPlot(cases, width, "apart", "largest distance of a case, ULP")],
  ];
  if (opened !== shown.cell) return;
  plots.replaceChildren(...made.filter(([, plot]) => plot).map(([title, plot]) => el("figure", {}, el("figcaption", {}, title), plot)));
  await caseTable(table, cases, column);
}

function head(title, about) {
  return el("header", {}, el("h2", {}, title), el("code", {}, about),
    el("button.close", { type: "button", "aria-label": "close", title: "close (Esc)", onclick: () => go({ cell: "" }) }, "✕"));
}

function cellRow(row, column, chosen) {
  const cell = cellOf(row, column.index);
  const counts = cell.run ? `${count(cell.passed)}/${count(cell.run)}` : cell.baseline ? count(cell.baseline) : "";
  const notes = [cell.failures, cell.known && `known: ${cell.known}`, cell.by && `judged by ${cell.by}`, cell.vacuous && `vacuous (${cell.vacuous})`,
    cell.divergences, cell.against && `against CUDA: ${cell.against}`, speed(cell), recallOf(run.kernels[row].kernel, column.target),
    cell.beyond_observed && `${cell.beyond_observed} beyond the observed limit`, cell.unsupported && `${cell.unsupported} unsupported`, cell.not_judged && `${cell.not_judged} not judged`];
  return el(`tr${chosen ? ".chosen" : ""}`, {}, el("th", { scope: "row" }, column.target || column.runner, " ", badge(column.evidence)),
    el("td", { "data-state": cell.state }, el("span.symbol", { "aria-hidden": "true" }, SYMBOLS[cell.state]), ` ${cell.state}`),
    el("td", {}, counts), el("td", {}, cell.exact ? "exact" : percent(cell.budget)), el("td", {}, notes.filter(Boolean).join("; ")));
}

/** All cases, nearest to their limit first. */
async function caseTable(place, cases, column) {
  await tables();
  const rows = cases.map((each, id) => ({ ...each, id, name: run.columns[each.column].name, used: each.failed ? Infinity : each.budget ?? Infinity }));
  const ran = rows.some((each) => each.column === column);
  const filter = el("select", { "aria-label": "column of the cases" }, el("option", { value: "" }, "all columns"),
    run.columns.filter((each) => rows.some((one) => one.column === each.index)).map((each) =>
      el("option", { value: each.name, selected: ran && each.index === column }, each.name)));
  const where = el("div");
  place.replaceChildren(el("h3", {}, "Cases, nearest to their limit first ", filter), where);
  const table = new Tabulator(where, {
    data: rows, layout: "fitDataStretch", height: Math.min(520, 60 + 27 * rows.length), initialSort: [{ column: "used", dir: "desc" }],
    initialFilter: ran ? [{ field: "name", type: "=", value: run.columns[column].name }] : [],
    columns: [
      { title: "share of bound", field: "used", hozAlign: "right", formatter: shows((each) => (each.failed ? "✕" : percent(each.budget))) },
      { title: "ULP", field: "ulp", hozAlign: "right", sorter: "number", formatter: shows((each) => figures(each.ulp)) },
      { title: "outcome", field: "outcome", formatter: shows((each) => (each.known ? `known: ${each.outcome}` : each.outcome)) },
      { title: "column", field: "name", formatter: shows((each) => each.name) },
      { title: "case", field: "case", formatter: shows((each) => el("code", {}, each.case)), minWidth: 260 },
      { title: "elements", field: "elements", hozAlign: "right", formatter: shows((each) => (each.wrong ? `${count(each.wrong)} of ${count(each.elements)} wrong` : count(each.elements))) },
      { title: "against CUDA", field: "against", formatter: shows((each) => each.against + (each.apart ? `, ${figures(each.apart)} ULP` : "")) },
      { title: "notes", field: "title", formatter: shows((each) => [each.title, each.divergences].filter(Boolean).join("; ")) },
    ],
  });
  table.on("rowClick", (event, row) => copy(again(row.getData().case)));
  filter.addEventListener("change", () => (filter.value ? table.setFilter("name", "=", filter.value) : table.clearFilter()));
}

/** A formatter for Tabulator: Tabulator treats strings as HTML, but inserts elements unchanged. */
const shows = (value) => (cell) => {
  const found = value(cell.getData());
  return found instanceof Element ? found : el("span", {}, found);
};
