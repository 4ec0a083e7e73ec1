// The address after "#" stores the state of the page, so that a link shows the same view.

const LISTS = ["state", "module", "dtype", "target", "evidence", "open"];
const TEXTS = ["view", "q", "cell", "differ", "failure"];
let shown = {};

function fromAddress() {
  const given = new URLSearchParams(location.hash.slice(1));
  const found = Object.fromEntries(TEXTS.map((name) => [name, given.get(name) ?? ""]));
  for (const name of LISTS) found[name] = new Set((given.get(name) ?? "").split("|").filter(Boolean));
  return found;
}

function toAddress(what) {
  const given = new URLSearchParams();
  for (const name of TEXTS) if (what[name]) given.set(name, what[name]);
  for (const name of LISTS) if (what[name].size) given.set(name, [...what[name]].join("|"));
  return `#${given}`;
}

/** Change parts of the state and redraw synchronously, so that the next key acts on the new view. */
function go(changes, { replace = false } = {}) {
  const address = toAddress({ ...shown, ...changes });
  if (address === location.hash || (address === "#" && !location.hash)) return;
  if (replace) history.replaceState(null, "", address);
  else history.pushState(null, "", address);
  draw();
}

function toggled(name, value) {
  const set = new Set(shown[name]);
  if (!set.delete(value)) set.add(value);
  return { [name]: set };
}

const kept = (name, value) => !shown[name].size || shown[name].has(value);
const columnsShown = () => run.columns.filter((each) => kept("target", each.target || each.runner) && kept("evidence", each.evidence));

/** The kernels that pass the filters, in order. */
function kernelsShown() {
  const columns = columnsShown();
  const words = shown.q.toLowerCase().split(/\s+/).filter(Boolean);
  return run.kernels.filter((each) =>
    kept("module", each.module) &&
    (!shown.dtype.size || each.dtypes.split(",").some((dtype) => shown.dtype.has(dtype))) &&
    (!shown.state.size || columns.some((column) => shown.state.has(stateOf(each.index, column.index)))) &&
    (!words.length || words.every((word) => `${each.module} ${kernelName(each)} ${each.kernel}`.toLowerCase().includes(word))) &&
    (!shown.differ || differs(each.index, columns)));
}
