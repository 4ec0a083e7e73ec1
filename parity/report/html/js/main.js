// The page: header, filters, the current view, keys and theme.

const VIEWS = {
  matrix: { title: () => "Matrix", draw: matrix, there: () => true },
  failures: { title: () => `Failures ${run.failures.length ? count(run.failures.length) : ""}`, draw: failuresView, there: () => true },
  code: { title: () => "Speed and code", draw: codeView, there: () => run.static.length + run.speed.length > 0 },
  compare: { title: () => "Two runs", draw: compareView, there: () => Boolean(run.comparison) },
  history: { title: () => "History", draw: historyView, there: () => Boolean(run.history) },
  about: { title: () => "About this run", draw: aboutView, there: () => true },
};

function headline() {
  const { cases, passed, failed, known } = run.counts;
  const failing = failed || run.cells.state.some((state) => run.states.includes(state) && ["fail", "missing kernel", "compile error"].includes(state));
  const verdict = !run.complete ? "interrupted" : failing ? "failed" : cases ? "passed" : "nothing was run";
  const counts = [plural(run.kernels.length, "kernel"), plural(cases, "case"), `${count(passed)} passed`, `${count(failed)} failed`, known ? `${count(known)} known` : "", run.seconds ? `${run.seconds.toFixed(0)} s` : ""];
  return el("div.headline", {},
    el("h1", {}, "parity ", el("span.verdict", { "data-verdict": verdict }, verdict)),
    el("p", {}, counts.filter(Boolean).join(", ")),
    el("p.date", {}, run.date && el("time", { datetime: run.date }, run.date.replace("T", " ").slice(0, 16)), `seed ${run.seed}`));
}

function drawHead() {
  const choice = (name, values, label) => values.length < 2 ? null : el("label", {}, el("span", {}, label), el("select", { "data-filter": name, onchange: (event) => go({ [name]: new Set(event.target.value ? [event.target.value] : []) }) },
    el("option", { value: "" }, "all"), values.map((value) => el("option", { value, selected: shown[name].has(value) }, value))));
  const targets = [...new Set(run.columns.map((each) => each.target || each.runner))];
  const evidence = [...new Set(run.columns.map((each) => each.evidence))];
  const search = el("input", { type: "search", id: "search", placeholder: "search kernels ( / )", "aria-label": "search kernels", value: shown.q, oninput: (event) => {
    clearTimeout(search.timer);
    search.timer = setTimeout(() => go({ q: event.target.value }, { replace: true }), 120);
  } });
  const differ = el("label.check", {}, el("input", { type: "checkbox", "data-filter": "differ", checked: shown.differ, onchange: (event) => go({ differ: event.target.checked ? "1" : "" }) }), "only differences");
  document.getElementById("head").replaceChildren(
    headline(),
    el("nav", { "aria-label": "views" }, Object.entries(VIEWS).filter(([, view]) => view.there()).map(([name, view]) =>
      el("a", { href: toAddress({ ...shown, view: name === "matrix" ? "" : name, failure: "" }), "data-view": name }, view.title()))),
    el("div.filters", { role: "search" }, search, choice("module", run.modules, "module"), choice("dtype", run.dtypes, "dtype"), choice("target", targets, "target"), choice("evidence", evidence, "evidence"),
      run.width > 1 ? differ : null, el("button.reset", { type: "button", onclick: reset }, "reset"),
      el("button.theme", { type: "button", title: "light or dark", "aria-label": "light or dark", onclick: switchTheme }, "◐")));
}

/** Update the header from the address without changing text that the user is typing. */
function refreshHead() {
  const search = document.getElementById("search");
  if (document.activeElement !== search) search.value = shown.q;
  for (const each of document.querySelectorAll("#head select[data-filter]")) each.value = [...shown[each.dataset.filter]][0] ?? "";
  document.querySelector("[data-filter=differ]") && (document.querySelector("[data-filter=differ]").checked = Boolean(shown.differ));
  for (const each of document.querySelectorAll("#head nav a")) {
    const name = each.dataset.view;
    each.href = toAddress({ ...shown, view: name === "matrix" ? "" : name, failure: "", cell: "" });
    if (name === (shown.view || "matrix")) each.setAttribute("aria-current", "page");
    else each.removeAttribute("aria-current");
  }
  const isFiltered = ["state", "module", "dtype", "target", "evidence"].some((name) => shown[name].size) || shown.q || shown.differ;
  document.querySelector("button.reset").hidden = !isFiltered;
}

function reset() {
  go({ state: new Set(), module: new Set(), dtype: new Set(), target: new Set(), evidence: new Set(), q: "", differ: "" });
}

let drawn = "";
/** Draw the view of the address, or only the panel if nothing else has changed. */
function draw() {
  shown = fromAddress();
  const view = VIEWS[shown.view]?.there() ? shown.view : "matrix";
  refreshHead();
  const without = toAddress({ ...shown, cell: "" });
  if (without !== drawn) {
    drawn = without;
    const kept = placeOfFocus();
    document.getElementById("main").replaceChildren(VIEWS[view].draw());
    takeFocus(kept);
    if (view === "failures" && shown.failure) document.querySelector(`[data-key="${CSS.escape(shown.failure)}"]`)?.scrollIntoView();
  }
  panel();
}

/** A selector of the focused element, to restore the focus after a redraw. */
function placeOfFocus() {
  const at = document.activeElement;
  if (at?.dataset?.filter) return `[data-filter="${CSS.escape(at.dataset.filter)}"]`;
  const row = at?.closest?.(".matrix tr[data-fold]");
  return row ? `tr[data-fold="${CSS.escape(row.dataset.fold)}"] > :nth-child(${[...row.children].indexOf(at) + 1})` : "";
}

function takeFocus(selector) {
  const first = document.querySelector(".matrix tbody th");
  if (first) first.setAttribute("tabindex", "0");
  const found = selector && document.querySelector(`#main ${selector}`);
  if (found) found.matches("th, td") ? focusOn(found) : found.focus();
}

function aboutView() {
  const facts = [
    ["parity", run.parity], ["date", run.date], ["complete", run.complete ? "yes" : "no, it was interrupted"], ["seed", run.seed], ["examples per kernel", run.examples],
    ...run.columns.map((each) => [each.name, [each.known_as, EVIDENCE[each.evidence], run.compilers[each.target]].filter(Boolean).join("; ")]),
  ];
  return el("section.view.about", {},
    run.notes.length ? el("section", {}, el("h2", {}, "Notes"), el("ul", {}, run.notes.map((each) => el("li", {}, each)))) : null,
    el("h2", {}, "This run"), el("dl", {}, facts.map(([name, value]) => [el("dt", {}, name), el("dd", {}, String(value))])),
    el("h2", {}, "Known issues"), run.issues.length ? el("ul", {}, run.issues.map((each) => el("li", {}, each.complaint ? el("b", {}, `${each.location} ${each.complaint}`) : `${each.location}: ${each.cases.join(" ")}, ${plural(each.known, "case")} on ${each.columns.join(", ")}: ${each.reason}; until ${each.expires}`))) : el("p.none", {}, "No case met a known issue."),
    el("h2", {}, "Keys"), el("dl", {}, [["arrows", "move in the matrix; left and right on a name fold and unfold it"], ["Enter", "open a cell, or fold or unfold a name"], ["Esc", "close the panel of the kernel"], ["/", "search"], ["t", "light or dark"]].map(([key, what]) => [el("dt", {}, el("kbd", {}, key)), el("dd", {}, what)])),
    el("h2", {}, "Third-party software"), run.licences.map((each) => el("details", {}, el("summary", {}, `${each.name} ${each.version} (${each.licence})`), el("pre", {}, each.text))));
}

const THEMES = ["", "light", "dark"];
function switchTheme() {
  const dark = matchMedia("(prefers-color-scheme: dark)").matches;
  const now = document.documentElement.dataset.theme || (dark ? "dark" : "light");
  theme(now === "dark" ? "light" : "dark");
}

function theme(name) {
  if (name) document.documentElement.dataset.theme = name;
  try {
    localStorage.setItem("parity-theme", name);
  } catch {
    // Pages from disk may lack storage; the choice then lasts until the page is closed.
  }
}

function keys(event) {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const typing = event.target.matches?.("input, select, textarea");
  if (event.key === "Escape") {
    if (shown.cell) go({ cell: "" });
    else if (typing) event.target.blur();
  } else if (!typing && event.key === "/") {
    event.preventDefault();
    document.getElementById("search").focus();
  } else if (!typing && event.key === "t") {
    switchTheme();
  }
}

async function start() {
  try {
    const stored = localStorage.getItem("parity-theme");
    if (THEMES.includes(stored)) theme(stored);
  } catch {
    // As above.
  }
  model(JSON.parse(await inflated(document.getElementById("data").textContent)));
  shown = fromAddress();
  drawHead();
  draw();
  addEventListener("hashchange", draw);
  addEventListener("keydown", keys);
  document.body.dataset.ready = "yes";
}

start().catch((error) => {
  document.getElementById("main").replaceChildren(el("p.wait", {}, `The report cannot be displayed: ${error}. It requires a browser from 2024 or later.`));
});
