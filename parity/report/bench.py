"""Renders measurements of ``parity bench``: text, Markdown, CSV and JSON."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

from rich.text import Text

from parity.engine.bench import Ceilings, Measurement
from parity.engine.bench_baseline import FORMAT, VERSION, BenchChange, BenchVerdict
from parity.platform.serialization import json_text
from parity.platform.version import __version__
from parity.report.frames import bench_frame
from parity.report.tables import coloured, comma_separated, markdown

if TYPE_CHECKING:
    import pandas

PREFIXES = ((12, "T"), (9, "G"), (6, "M"), (3, "k"), (0, ""), (-3, "m"), (-6, "u"), (-9, "n"))
GOOD, FAIR = 0.8, 0.5
STYLES = {
    **dict.fromkeys((BenchVerdict.FASTER, BenchVerdict.SAME, BenchVerdict.FEWER), "green"),
    BenchVerdict.SLOWER: "bold red",
}
LEGEND = (
    "time: median of launches with cold caches; share: the time that the device's copy rate or FLOP rate allows, "
    "divided by the measured time"
)
COUNTS = "instructions issued by wavefronts per element of the largest tensor, which do not measure speed"


@dataclass(frozen=True)
class BenchResults:
    """The results of ``parity bench``, in the order of measurement.

    The keys of ``devices`` and ``ceilings`` are targets. With a baseline, ``changes`` has one item per measurement.
    """

    measurements: Sequence[Measurement]
    devices: Mapping[str, str] = field(default_factory=dict)
    ceilings: Mapping[str, Ceilings] = field(default_factory=dict)
    changes: Sequence[BenchChange] = ()
    environment: Mapping[str, Any] = field(default_factory=dict)
    complete: bool = True

    def frame(self) -> pandas.DataFrame:
        """One row per measurement; see ``bench_frame``.

        Raises:
            MissingTool: pandas is not installed.
        """
        return bench_frame(self.measurements, self.changes)


def si(value: float, unit: str) -> str:
    """Format a value with three digits and an SI prefix: 4.09 TB/s, 131 us."""
    if value == 0:
        return f"0 {unit}"
    exponent, prefix = next((e, p) for e, p in PREFIXES if value >= 0.9995 * 10.0**e or (e, p) == PREFIXES[-1])
    scaled = value / 10.0**exponent
    return f"{scaled:.{0 if scaled >= 99.95 else 1 if scaled >= 9.995 else 2}f} {prefix}{unit}"


def bench_terminal(results: BenchResults) -> Text:
    """Return the measurements as aligned, coloured text, grouped by module and target."""
    text = Text()
    for target, ceilings in results.ceilings.items():
        text.append(f"{_ceilings(target, results.devices.get(target, ''), ceilings)}\n")
    lines = [(m, change, _line(m, change)) for m, change in _with_changes(results)]
    shown = [i for i in range(len(HEADS)) if any(line[i] for *_, line in lines)]
    right = [n for n, i in enumerate(shown) if i in NUMBERS]
    heads = [HEADS[i] for i in shown]
    for title, group in itertools.groupby(lines, key=lambda line: _title(line[0])):
        rows = [[Text(line[i], _style(i, m, change)) for i in shown] for m, change, line in group]
        table = coloured(heads, rows, right=right, style="dim", indent=2)
        text.append(f"\n{title}\n", "bold").append(table).append("\n")
    timed = any(m.timings for m in results.measurements)
    counted = any(m.instructions for m in results.measurements)
    for legend, needed in ((LEGEND, timed), (COUNTS, counted)):
        if needed:
            text.append(f"\n{legend}", "dim")
    return text


def bench_markdown(results: BenchResults) -> str:
    """Return the measurements as a GitHub table."""
    head = ["module", "target", *HEADS]
    rows = []
    for m, change in _with_changes(results):
        kernel, *rest = _line(m, change)
        rows.append([m.module, f"{m.target} {m.evidence}", f"`{kernel}`", *rest])
    lines = [_ceilings(t, results.devices.get(t, ""), c) for t, c in results.ceilings.items()]
    return "\n\n".join([*lines, markdown(head, rows), LEGEND]) + "\n"


def bench_csv(results: BenchResults) -> str:
    """Return one CSV line per measurement, in seconds, bytes and operations."""
    names = ["module", "op", "dtypes", "kernel", "title", "case", "runner", "target", "evidence", "bytes"]
    names += ["operations", "elements"]
    times = ["median", "low", "high", "error", "repetitions"]
    heads = [f"{kind}_{name}" for kind in ("cold", "hot") for name in times]
    heads += ["host", "copy_rate", "operation_rate", "share", "bound", "instructions", "change", "notes"]
    rows = []
    for m, change in _with_changes(results):
        values: list[object] = [getattr(m, name) for name in names]
        values[2] = ",".join(m.dtypes)
        for timing in (m.timings.cold, m.timings.hot) if m.timings else (None, None):
            values += [_number(getattr(timing, name)) for name in times] if timing else [""] * len(times)
        share = "" if m.share is None else f"{m.share:.4f}"
        host = _number(m.timings.host) if m.timings else ""
        values += [host, _number(m.copy), _number(m.rate), share, m.bound if m.timings else ""]
        counts = "; ".join(f"{name} {count}" for name, count in m.instructions.items())
        rows.append([*values, counts, change.verdict if change else "", "; ".join(_notes(m))])
    return comma_separated([*names, *heads], rows)


def bench_dict(results: BenchResults) -> dict[str, Any]:
    """Return the measurements as plain data for JSON; ``read_baseline`` reads it."""
    return {
        "format": FORMAT,
        "version": VERSION,
        "parity": __version__,
        "complete": results.complete,
        "devices": dict(results.devices),
        "ceilings": {target: asdict(each) for target, each in results.ceilings.items()},
        "environment": dict(results.environment),
        "measurements": [
            {**asdict(m), "share": m.share, "bound": m.bound if m.timings else None}
            | ({"change": {**asdict(change), "verdict": str(change.verdict)}} if change else {})
            for m, change in _with_changes(results)
        ],
    }


def bench_json(results: BenchResults) -> str:
    """Return the measurements as JSON text."""
    return json_text(bench_dict(results), indent=1).decode() + "\n"


def speed_text(m: Measurement | None) -> str:
    """Return the text of a measurement in a cell of the matrix."""
    if m is None or m.share is None:
        return "" if m is None or m.per_element is None else f"{m.per_element:.3g} instr."
    return _share(m, m.share)


def speed_legend(measurements: Sequence[Measurement]) -> Iterator[str]:
    """Yield the legend lines that the matrix needs for these measurements."""
    if any(m.timings for m in measurements):
        yield (
            "% of copy, of FLOPs: the time that the device's copy rate or FLOP rate allows, divided by the measured "
            "time; the smallest of a line"
        )
    if any(m.instructions for m in measurements):
        yield f"instr.: {COUNTS}; the largest of a line"


def slowest(measurements: Sequence[Measurement]) -> Measurement | None:
    """Return the measurement with the smallest share, or without shares, with the most instructions per element."""
    timed = [m for m in measurements if m.share is not None]
    if timed:
        return min(timed, key=lambda m: m.share or 0.0)
    return max(measurements, key=lambda m: m.per_element or 0.0, default=None)


HEADS = ("kernel", "case", "time", "error", "rate", "share", "hot", "instructions", "since the baseline", "notes")
NUMBERS = (2, 3, 4, 5, 6)
SHARE, CHANGE = 5, 8


def _title(m: Measurement) -> str:
    return f"{m.module} on {m.target} ({m.evidence})"


def _line(m: Measurement, change: BenchChange | None) -> list[str]:
    """The cells of a row, in the order of ``HEADS``."""
    title = m.title or (m.case.partition("(")[2].removesuffix(")") if m.timings or m.instructions else "")
    cells = [m.kernel, title, "", "", "", "", "", "", str(change) if change else "", "; ".join(_notes(m))]
    if m.timings:
        cold, hot = m.timings.cold, m.timings.hot
        moving = m.bound == "copy"
        rate = si(m.bytes / cold.median, "B/s") if moving else si(m.operations / cold.median, "FLOPS")
        cells[2:6] = [si(cold.median, "s"), f"±{100 * cold.error:.1f} %", rate, _share(m, m.share_of(cold))]
        if hot:
            cells[6] = f"{si(hot.median, 's')}, {_share(m, m.share_of(hot))}"
    if m.per_element is not None:
        each = "  ".join(f"{name} {count / m.elements:.3g}" for name, count in m.instructions.items() if count)
        cells[7] = f"{m.per_element:.3g}" + (f" = {each}" if len(m.instructions) > 1 else "")
    return cells


def _share(m: Measurement, share: float) -> str:
    return f"{100 * share:.0f} % of {m.bound}"


def _notes(m: Measurement) -> list[str]:
    return [m.problem] * bool(m.problem) + list(m.notes)


def _style(column: int, m: Measurement, change: BenchChange | None) -> str:
    if m.problem:
        return "bold red"
    if column == CHANGE and change:
        return STYLES.get(change.verdict, "yellow")
    if column == SHARE and m.share is not None:
        return "green" if m.share >= GOOD else "" if m.share >= FAIR else "yellow"
    return ""


def _ceilings(target: str, device: str, c: Ceilings) -> str:
    rates = f"copy {si(c.copy, 'B/s')}, f32 {si(c.f32, 'FLOPS')}, f64 {si(c.f64, 'FLOPS')}"
    launch = f"a launch costs the host {si(c.host, 's')} and, empty, the device {si(c.empty, 's')}"
    return f"{target}{f' ({device})' if device else ''}: {rates}; {launch}"


def _with_changes(results: BenchResults) -> list[tuple[Measurement, BenchChange | None]]:
    changes: list[BenchChange | None] = [*results.changes] or [None] * len(results.measurements)
    return list(zip(results.measurements, changes, strict=True))


def _number(value: float) -> str:
    return f"{value:.6g}"
