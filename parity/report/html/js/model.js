// The data of the run: kernels, columns, cells and cases, unpacked from columns of numbers and texts.

let run;

/** Unpack a column to an array of this length. */
function unpacked(packed, length) {
  if (Array.isArray(packed)) return packed;
  return "all" in packed ? Array(length).fill(packed.all) : packed.at.map((index) => packed.texts[index]);
}

// From worst to best: a group has the state of its worst kernel. Each state has a symbol in addition to its colour.
const SYMBOLS = {
  "fail": "✕", "compile error": "!", "missing kernel": "∅", "not judged": "?", "could not run": "⊝", "known": "◆", "not run": "–",
  "unsupported": "⊘", "not recorded": "◌", "compiled only": "○", "baseline": "◉", "pass": "✓",
};
const WORST = Object.keys(SYMBOLS);
const EVIDENCE = {
  hardware: "executed on a GPU in this run",
  recorded: "executed earlier on a device, and judged from the recording",
  emulated: "compiled for the target, and executed on a CPU",
  library: "computed by a library instead of these kernels",
  "compiled only": "compiled for the target, but not executed",
};

function model(data) {
  const kernels = data.kernels.kernel.map((kernel, index) => ({ kernel, index }));
  for (const name of ["module", "op", "dtypes"]) {
    unpacked(data.kernels[name], kernels.length).forEach((value, i) => (kernels[i][name] = value));
  }
  const width = data.columns.length;
  const cells = {};
  for (const [name, packed] of Object.entries(data.cells)) cells[name] = unpacked(packed, kernels.length * width);
  const cases = {};
  for (const [name, packed] of Object.entries(data.cases.columns)) cases[name] = unpacked(packed, data.cases.length);
  const start = new Int32Array(kernels.length + 1).fill(0);
  cases.row.forEach((row) => start[row + 1]++);
  for (let i = 0; i < kernels.length; i++) start[i + 1] += start[i];
  data.columns.forEach((column, index) => (column.index = index));
  const failures = data.failures.map((failure, index) => ({ ...failure, index }));
  run = { ...data, kernels, cells, cases, start, width, failures };
  run.states = WORST.filter((state) => cells.state.includes(state));
  run.modules = [...new Set(kernels.map((each) => each.module))];
  run.dtypes = [...new Set(kernels.flatMap((each) => each.dtypes.split(",")))].filter(Boolean).sort();
  return run;
}

/** The cell of a kernel in a column, as an object. */
function cellOf(row, column) {
  const at = row * run.width + column;
  return Object.fromEntries(Object.entries(run.cells).map(([name, values]) => [name, values[at]]));
}
const stateOf = (row, column) => run.cells.state[row * run.width + column];

/** The cases of a kernel, each with its column. */
function casesOf(row) {
  const found = [];
  for (let i = run.start[row]; i < run.start[row + 1]; i++) {
    const one = {};
    for (const name in run.cases) one[name] = run.cases[name][i];
    found.push(one);
  }
  return found;
}

/** Merge several cells of a column. */
function together(rows, column) {
  const found = { state: "pass", counts: {}, run: 0, passed: 0, baseline: 0, budget: null, exact: true, divergences: new Set(), apart: 0 };
  let worst = WORST.length;
  const { state, run: ran, passed, baseline, exact, budget, divergences, against } = run.cells;
  for (const row of rows) {
    const at = row * run.width + column;
    found.counts[state[at]] = (found.counts[state[at]] ?? 0) + 1;
    worst = Math.min(worst, WORST.indexOf(state[at]));
    found.run += ran[at];
    found.passed += passed[at];
    found.baseline += baseline[at];
    found.exact &&= exact[at];
    if (budget[at] !== null) found.budget = Math.max(found.budget ?? 0, budget[at]);
    if (against[at] && against[at] !== "identical") found.apart++;
    if (divergences[at]) divergences[at].split(" ").forEach((each) => found.divergences.add(each));
  }
  found.state = WORST[worst] ?? "pass";
  return found;
}

/** Whether the states of a kernel differ between columns, or the bits of CUDA and AMD differ. */
function differs(row, columns) {
  const { state, run: ran, failed, against } = run.cells;
  const places = columns.map((column) => row * run.width + column.index).filter((at) => !["not run", "could not run"].includes(state[at]));
  const states = new Set(places.filter((at) => ran[at] || failed[at]).map((at) => state[at]));
  return states.size > 1 || places.some((at) => against[at] && against[at] !== "identical");
}

/** The caught and planted faults of a kernel as text. */
function recallOf(kernel, target) {
  const found = run.recall.find((each) => each.kernel === kernel && each.target === target);
  return found && found.planted ? `${count(found.caught)} of ${plural(found.planted, "planted fault")} caught` : "";
}

const again = (text) => `${run.again.command} ${quoted(text)}${run.again.options ? ` ${run.again.options}` : ""}`;
const kernelName = (each) => `${each.op}[${each.dtypes}]`;
