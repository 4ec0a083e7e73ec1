// The history: states, used error bounds and times of all runs, flaky kernels, and known issues that expire soon.

function historyView() {
  const { runs, flaky, expiring } = run.history;
  const view = el("section.view");
  const points = runs.map((each, at) => ({ ...each, at, label: each.commit.slice(0, 8) || each.date.slice(0, 16) }));
  const plots = el("div.plots");
  view.append(el("h2", {}, `${plural(runs.length, "run")}`), plots,
    el("section", {}, el("h3", {}, "Flaky kernels"), flaky.length
      ? el("ul.flaky", {}, flaky.map((each) => el("li", {}, el("button.link", { type: "button", onclick: () => go({ cell: each.cell }) }, each.kernel), ` on ${each.column}: `, el("code.states", {}, each.states.join(" ")))))
      : el("p.none", {}, "None. No kernel changed its state while its code, its cases and the version of parity stayed the same.")),
    el("section", {}, el("h3", {}, "Known issues that expire"), expiring.length
      ? el("ul", {}, expiring.map((each) => el("li", {}, el("b", {}, each.expires), ` ${each.location}: ${each.cases.join(" ")}: ${each.reason}`)))
      : el("p.none", {}, "None within 30 days.")));
  requestAnimationFrame(async () => {
    await charts();
    const width = Math.min(600, view.clientWidth - 8);
    const x = { domain: points.map((each) => each.at), label: null, tickFormat: (at) => points[at].label, tickRotate: points.length > 6 ? -30 : 0 };
    const base = { ...plotStyle(width), height: 220, marginLeft: 60, marginBottom: 60 };
    const states = points.flatMap((each) => Object.entries(each.states).map(([state, number]) => ({ ...each, state, number })));
    const order = run.history.states.filter((state) => state !== "pass" && states.some((each) => each.state === state));
    const budgets = points.flatMap((each) => Object.entries(each.budgets).map(([column, budget]) => ({ ...each, column, budget })));
    const titled = (title, plot) => el("figure", {}, el("figcaption", {}, title), plot);
    plots.append(
      titled("Kernels by state, except passing kernels", Plot.plot({ ...base, x: { ...x, type: "band" }, y: { label: "kernels", grid: true }, color: { legend: true, domain: order, range: order.map((each) => `var(--${each.replaceAll(" ", "-")}, var(--muted))`) },
        marks: [Plot.barY(states.filter((each) => each.state !== "pass"), { x: "at", y: "number", fill: "state", order, tip: true }), Plot.ruleY([0])] })),
      titled("Largest share of the allowed error in passing cases", Plot.plot({ ...base, x: { ...x, type: "point" }, y: { label: "share", grid: true, domain: [0, 1], tickFormat: (each) => `${Math.round(100 * each)} %` }, color: { legend: true },
        marks: [Plot.line(budgets, { x: "at", y: "budget", stroke: "column", marker: true, tip: true })] })),
      titled("Execution time", Plot.plot({ ...base, x: { ...x, type: "point" }, y: { label: "s", grid: true, zero: true },
        marks: [Plot.line(points, { x: "at", y: "seconds", marker: true, stroke: "var(--accent)", tip: true })] })));
    if (points.some((each) => each.recall !== null)) {
      plots.append(titled("Recall: share of planted faults that the cases catch", Plot.plot({ ...base, x: { ...x, type: "point" }, y: { label: "share", domain: [0, 1], grid: true },
        marks: [Plot.line(points.filter((each) => each.recall !== null), { x: "at", y: "recall", marker: true, stroke: "var(--accent)", tip: true })] })));
    }
  });
  return view;
}
