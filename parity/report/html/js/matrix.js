// The matrix: modules, ops and kernels as rows. A folded module is a strip with one square per kernel.

const FEW = 40; // up to this many kernels are initially unfolded

/** Whether a group is unfolded: by the address, or else if the selection is small. */
function isOpen(name, few) {
  return shown.open.has(name) || shown.open.has("*") || (few && !shown.open.has(`-${name}`));
}

function matrix() {
  const columns = columnsShown();
  const kernels = kernelsShown();
  const few = kernels.length <= FEW;
  const body = el("tbody");
  for (const module of run.modules) {
    const mine = kernels.filter((each) => each.module === module);
    if (!mine.length) continue;
    const open = isOpen(module, few);
    body.append(groupRow(module, module, mine, columns, 1, open, `${plural(mine.length, "kernel")}`));
    if (!open) continue;
    for (const [op, own] of Map.groupBy(mine, (each) => each.op)) {
      const name = op.slice(op.indexOf(".") + 1);
      const unfolded = own.length > 1 && isOpen(op, few && own.length * 4 <= FEW && own.some(isBad));
      if (own.length === 1) body.append(kernelRow(own[0], columns, 2, name));
      else body.append(groupRow(op, name, own, columns, 2, unfolded, own.map((each) => each.dtypes).join(" ")));
      if (unfolded) own.forEach((each) => body.append(kernelRow(each, columns, 3, each.kernel)));
    }
  }
  const table = el("table.matrix", { role: "treegrid", "aria-label": "matrix", onkeydown: arrows, onclick: clicked, onpointerover: hint, style: { "--columns": columns.length } },
    el("thead", {}, el("tr", {}, el("th.corner", { scope: "col" }, plural(kernels.length, "kernel")), columns.map(columnHead))),
    body);
  const none = el("p.none", {}, "No kernel matches these filters. ", el("button", { type: "button", onclick: reset }, "show all"));
  return el("section.view", {}, chips(columns), el("div.scroll", {}, kernels.length ? table : none), legend());
}

const isBad = (kernel) => columnsShown().some((column) => !["pass", "not run"].includes(stateOf(kernel.index, column.index)));

function columnHead(column) {
  return el("th", { scope: "col", title: column.known_as },
    el("span.target", {}, column.target || column.runner),
    badge(column.evidence),
    column.device && el("span.device", {}, column.device));
}

const badge = (evidence) => el(`span.badge`, { "data-evidence": evidence, title: EVIDENCE[evidence] ?? evidence }, evidence);

function groupRow(name, label, kernels, columns, level, open, about) {
  const rows = kernels.map((each) => each.index);
  return el(`tr.level${level}`, { "aria-level": level, "aria-expanded": String(open), "data-fold": name },
    el("th", { scope: "row", tabindex: -1 }, el("div.name", {}, el("span.fold", { "aria-hidden": "true" }, open ? "▾" : "▸"), el("span.label", {}, label), el("span.about", { title: about }, about))),
    columns.map((column) => {
      const sum = together(rows, column.index);
      const strip = level === 1 && !open;
      return el("td", { tabindex: -1, "data-state": sum.state, "data-rows": rows.join(" "), "data-column": column.index, style: { "--used": heat(sum) } },
        words(sum, rows.length), strip ? squares(rows, column.index) : null);
    }));
}

function kernelRow(kernel, columns, level, label) {
  return el(`tr.level${level}`, { "aria-level": level },
    el("th", { scope: "row", tabindex: -1 }, el("div.name", {}, el("span.label", {}, label), el("span.about", {}, kernel.dtypes))),
    columns.map((column) => {
      const cell = cellOf(kernel.index, column.index);
      const divergences = new Set(cell.divergences.split(" ").filter(Boolean));
      return el("td", { tabindex: -1, "data-state": cell.state, "data-row": kernel.index, "data-column": column.index, style: { "--used": heat(cell) } },
        words({ ...cell, divergences, counts: { [cell.state]: 1 } }, 1));
    }));
}

/** The word for a state, as on the terminal. */

/** The tint of a cell: the share of the error bound that passing cases used. */
const heat = (cell) => (cell.budget === null ? 0 : Math.min(1, cell.budget)).toFixed(3);

/** State, cases, share of the error bound and notes of a cell or a group. */
function words(cell, kernels) {
  const others = Object.entries(cell.counts).filter(([state]) => state !== "pass");
  const state = kernels > 1 && others.length
    ? others.map(([name, number]) => `${count(number)} ${name}`).join(", ")
    : cell.state === "pass" ? "" : cell.state;
  const used = cell.budget === null || !cell.passed || cell.failed ? "" : cell.exact ? "exact" : `${percent(cell.budget)} of bound`;
  const notes = [cell.failures, cell.known && `known: ${cell.known}`, cell.vacuous && "vacuous", [...cell.divergences].join(" "), cell.against, cell.apart && `${plural(cell.apart, "kernel")} not identical to CUDA`, speed(cell)];
  return el("span.words", {},
    el("span.symbol", { "aria-hidden": "true" }, SYMBOLS[cell.state]),
    el("span.spoken", {}, cell.state),
    state && el("span.state", {}, state),
    cell.run ? el("span.cases", { title: "passed and executed cases" }, cell.passed === cell.run ? plural(cell.run, "case") : `${count(cell.passed)} of ${plural(cell.run, "case")} passed`) : null,
    cell.baseline ? el("span.cases", { title: "cases whose results judge the other columns, because the op has no reference" }, plural(cell.baseline, "case")) : null,
    used && el("span.used", { title: "largest share of the allowed error that an element used" }, used),
    el("span.notes", {}, notes.filter(Boolean).join("  ")));
}

const speed = (cell) => (cell.share ? `${Math.round(100 * cell.share)} % of ${cell.bound}` : cell.instructions ? `${figures(cell.instructions)} instr.` : "");

/** One square per kernel. */
function squares(rows, column) {
  return el("span.squares", { "aria-hidden": "true" }, rows.map((row) => {
    const at = row * run.width + column;
    const state = run.cells.state[at];
    const used = run.cells.budget[at];
    return el("i", { "data-state": state, "data-row": row, "data-column": column, style: { "--used": (used === null ? 0 : Math.min(1, used)).toFixed(2) } },
      state === "pass" ? "" : SYMBOLS[state]);
  }));
}

/** The states with their counts, which are also filters. */
function chips(columns) {
  const numbers = {};
  for (const each of run.kernels) for (const column of columns) {
    const state = stateOf(each.index, column.index);
    numbers[state] = (numbers[state] ?? 0) + 1;
  }
  return el("div.chips", { role: "group", "aria-label": "states" }, run.states.map((state) =>
    el("button.chip", { type: "button", "data-state": state, "data-filter": `state ${state}`, "aria-pressed": String(shown.state.has(state)), onclick: () => go(toggled("state", state)) },
      el("span.symbol", { "aria-hidden": "true" }, SYMBOLS[state]), `${state} `, el("b", {}, count(numbers[state] ?? 0)))),
    el("span.folds", {},
      el("button", { type: "button", onclick: () => go({ open: new Set(["*"]) }) }, "expand all"),
      el("button", { type: "button", onclick: () => go({ open: new Set(run.modules.map((each) => `-${each}`)) }) }, "collapse all")));
}

function legend() {
  const terms = [
    ["cell", "a kernel on a target, or all kernels of an op or module; click it for its cases, failures and source lines. A square is a kernel."],
    ["n cases", "the cases that were executed, or how many of them passed"],
    [[el("span.scale", { "aria-hidden": "true" }), " n % of bound"], "the largest share of the allowed error that an element used; more than 100 % fails. exact: no error was allowed, and none was found"],
    run.states.includes("baseline") && ["baseline", "the op has no reference, so the results of this column judge the others"],
    ...run.legend.map((each) => each.split(": ")),
    run.legend.length && ["not identical to CUDA", "a case has other bits than on CUDA; both results may be within bounds"],
    ...Object.values(run.divergences).map((text) => text.split(": ")),
  ].filter(Boolean);
  return el("footer.legend", {},
    el("h2", {}, "Legend"),
    el("dl", {}, terms.map(([term, ...text]) => [el("dt", {}, term), el("dd", {}, text.join(": "))])),
    Object.entries(Object.groupBy(Object.entries(run.compilers), ([, text]) => text)).map(([text, own]) =>
      el("p", {}, `${own.map(([target]) => target).join(" ")}: ${text}`)));
}

function fold(name) {
  const open = new Set(shown.open);
  const row = document.querySelector(`[data-fold="${CSS.escape(name)}"]`);
  const isNow = row.getAttribute("aria-expanded") === "true";
  if (isNow && open.delete("*")) {
    run.modules.forEach((each) => open.add(each));
    run.kernels.forEach((each) => open.add(each.op));
  }
  open.delete(isNow ? name : `-${name}`);
  open.add(isNow ? `-${name}` : name);
  go({ open });
}

const cellName = (row, column) => `${run.kernels[row].op}/${run.kernels[row].kernel}@${run.columns[column].name}`;

function clicked(event) {
  const target = event.target.closest("[data-row], th[scope=row], td[data-rows]");
  if (!target) return;
  if (target.dataset.row !== undefined) return go({ cell: cellName(Number(target.dataset.row), Number(target.dataset.column)) });
  const name = target.closest("[data-fold]")?.dataset.fold;
  if (name) return fold(name);
  const first = target.closest("tr").querySelector("[data-row]");
  if (first) go({ cell: cellName(Number(first.dataset.row), Number(first.dataset.column)) });
}

/** Set the title of a square when the pointer reaches it, because thousands of titles would be slow. */
function hint(event) {
  const square = event.target.closest("i[data-row]");
  if (!square || square.title) return;
  const row = Number(square.dataset.row);
  const cell = cellOf(row, Number(square.dataset.column));
  square.title = [run.kernels[row].kernel, cell.state, cell.run ? `${cell.passed}/${cell.run}` : "", cell.exact ? "exact" : percent(cell.budget), cell.failures].filter(Boolean).join("  ");
}

/** Arrows move between cells; left and right on a head fold and unfold. */
function arrows(event) {
  const at = event.target.closest("th, td");
  if (!at) return;
  const row = at.parentElement;
  const rows = [...row.parentElement.children];
  const place = [...row.children].indexOf(at);
  const folds = row.dataset.fold;
  const isOpenNow = row.getAttribute("aria-expanded") === "true";
  const next = {
    ArrowDown: () => rows[rows.indexOf(row) + 1]?.children[place],
    ArrowUp: () => rows[rows.indexOf(row) - 1]?.children[place],
    ArrowRight: () => (place === 0 && folds && !isOpenNow ? fold(folds) : at.nextElementSibling),
    ArrowLeft: () => (place === 0 && folds && isOpenNow ? fold(folds) : at.previousElementSibling),
    Home: () => row.firstElementChild,
    End: () => row.lastElementChild,
    Enter: () => clicked({ target: at }),
    " ": () => clicked({ target: at }),
  }[event.key];
  if (!next) return;
  event.preventDefault();
  focusOn(next());
}

function focusOn(cell) {
  if (!cell) return;
  document.querySelectorAll(".matrix [tabindex='0']").forEach((each) => each.setAttribute("tabindex", "-1"));
  cell.setAttribute("tabindex", "0");
  cell.focus();
}
