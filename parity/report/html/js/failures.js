// Failures: the text of the terminal, a picture of the wrong elements, and the results of other columns.

const PAGE = 25; // cards to draw at once

function failuresShown() {
  const kernels = new Set(kernelsShown().map((each) => each.index));
  const columns = new Set(columnsShown().map((each) => each.index));
  return run.failures.filter((each) =>
    (!each.rows.length || each.rows.some((row) => kernels.has(row))) && each.columns.some((column) => columns.has(column)));
}

function failuresView() {
  const found = failuresShown();
  const list = el("div.cards");
  let next = 0;
  const more = el("button", { type: "button", onclick: draw }, "");
  function draw() {
    list.append(...found.slice(next, next + PAGE).map((each) => card(each)));
    next += PAGE;
    more.hidden = next >= found.length;
    more.textContent = `${count(Math.max(0, found.length - next))} more`;
  }
  const linked = found.findIndex((each) => shown.failure && keyOf(each) === shown.failure);
  do draw(); while (next <= linked);
  const kinds = Object.entries(Object.groupBy(found, (each) => each.kind)).sort((a, b) => b[1].length - a[1].length);
  const none = run.failures.length ? "No failure matches these filters." : run.complete ? "Nothing failed." : "Nothing failed before the run was interrupted.";
  return el("section.view", {},
    found.length ? el("p.summary", {}, kinds.map(([kind, each]) => el("span.kind", {}, el("b", {}, count(each.length)), ` ${kind}`))) : el("p.none", {}, none),
    list, more);
}

const LABELS = { who: "who is wrong" };

const firstCell = (failure) => cellName(failure.rows[0] ?? 0, failure.columns[0] ?? 0);
/** The name of a failure in links. */
const keyOf = (failure) => `${failure.kind}@${firstCell(failure)}`;

function card(failure) {
  const columns = failure.columns.map((index) => run.columns[index]);
  const row = failure.rows[0];
  const first = firstCell(failure);
  const link = toAddress({ ...shown, view: "failures", failure: keyOf(failure), cell: "" });
  return el("article.card", { id: `failure-${failure.index}`, "data-key": keyOf(failure) },
    el("h3", {}, el("span.symbol", { "aria-hidden": "true" }, "✕"), el("a", { href: link }, failure.head)),
    el("p.where", {}, columns.map((each) => badge(each.evidence)).slice(0, 1),
      row !== undefined && el("button.link", { type: "button", onclick: () => go({ cell: first }) }, "all cases of this kernel"),
      failure.more ? el("span", {}, `${plural(failure.more, "more failing case")}`) : null),
    failure.about && el("p.about", {}, failure.about),
    failure.excerpts.map(excerpt),
    el("div.columns", {},
      el("dl", {}, failure.lines.map(([label, value]) => [el("dt", {}, LABELS[label] ?? label), el("dd", {}, el("pre", {}, value))]), others(failure)),
      picture(failure)),
    el("p.about", {}, "Run only this case:"), command(failure.again),
    failure.alone && [el("p.about", {}, "Write a reproducer for a bug report, a folder that needs no parity:"), command(failure.alone)]);
}

/** The results of the other columns for the same case. */
function others(failure) {
  if (!failure.rows.length) return null;
  const mine = new Set(failure.columns);
  const text = new Set([failure.case, failure.found]);
  const found = casesOf(failure.rows[0]).filter((each) => text.has(each.case) && !mine.has(each.column));
  const cells = run.columns.filter((each) => !mine.has(each.index) && !found.some((one) => one.column === each.index));
  if (run.columns.length === mine.size) return null;
  return [el("dt", {}, "other columns"), el("dd", {}, el("ul.others", {},
    found.map((each) => el("li", { "data-state": each.failed ? "fail" : "pass" }, el("b", {}, run.columns[each.column].name), ` ${each.outcome}`,
      each.failed || !each.budget ? "" : `, ${percent(each.budget)} of the allowed error`, each.case === failure.case ? "" : " (the original case)")),
    cells.map((each) => {
      const state = stateOf(failure.rows[0], each.index);
      return el("li", { "data-state": state }, el("b", {}, each.name), ` did not run this case; state of the kernel: ${state}`);
    })))];
}

function excerpt(each) {
  return el("figure.source", {}, el("figcaption", {}, `${each.file}, line ${each.line}`),
    el("ol", { start: each.first }, each.lines.map((line, i) =>
      el(`li${each.first + i === each.line ? ".meant" : ""}`, { value: each.first + i }, el("code", {}, line || " ")))));
}
