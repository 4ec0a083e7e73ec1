"""Measures loading per module: ``python -m benchmarks.loading [SELECTOR...] [--target T,..] [--csv FILE]``.

Every module is measured in a separate process, on each target that can run here: emulated, and on an NVIDIA GPU if
there is one. The module is built beforehand, and for the emulator translated and compiled. Another module is launched
first, so that the start-up of the device does not count. Then each kernel is launched twice, with its first named
case. The columns:

* ``load ms``: how much longer the module's first launch took than the same launch again,
* ``others ms``: the same for the first launches of all its other kernels together,
* ``launch ms``: the median of a launch of a loaded kernel, with its copies to and from the device,
* ``look-up ns``: the look-up of a loaded function by name in ``LoadedModules``,
* ``loads``, ``look-ups``: the counts of ``LoadedModules``; a module that is loaded twice would show here,
* ``memory KiB``: device memory (CUDA) or resident memory (emulated) of the loaded module.

CUDA loads a kernel when it is first used; ``CUDA_MODULE_LOADING=EAGER`` in the environment loads all with the module.
"""

from __future__ import annotations

import argparse
import csv
import importlib
import multiprocessing
import os
import statistics
import sys
import time
import timeit
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

from parity.build.modules import build
from parity.compilers.targets import DEFAULT_TARGETS
from parity.data.sampling import sample
from parity.errors import ParityError
from parity.model.code_object import CodeObject
from parity.op import Call, Entry
from parity.report.tables import plain
from parity.runners import Evidence, runner
from parity.runners.cuda import CudaDevice
from parity.suite.loading import Suite, find_suite
from parity.suite.options import names

ROOT = Path(__file__).parents[1]
LOOKUPS = 20_000


@dataclass(frozen=True)
class Loading:
    """A row: milliseconds, nanoseconds, counts, KiB."""

    runner: str
    target: str
    module: str
    kernels: int
    file_kib: float
    load_ms: float
    others_ms: float
    launch_ms: float
    lookup_ns: float
    loads: int
    lookups: int
    memory_kib: float


HEADINGS = {"file_kib": "file KiB", "lookup_ns": "look-up ns", "lookups": "look-ups"}


def main() -> None:
    """Print a table per runner and target, and write all rows as CSV if asked to."""
    parser = argparse.ArgumentParser(
        "python -m benchmarks.loading", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("selectors", nargs="*", metavar="SELECTOR", help="modules, ops or kernels; default: all")
    usual = f"default: {' '.join(DEFAULT_TARGETS)}, and the targets of the GPUs"
    parser.add_argument("--target", type=names, default=[], metavar="T,..", help=usual)
    parser.add_argument("--csv", type=Path, metavar="FILE", help="also write the rows there")
    options = parser.parse_args()
    suite = find_suite(ROOT)
    rows = []
    for name in ("cuda", "emulated"):
        found = runner(name)
        probe = found.probe()
        if not probe.available:
            print(f"{name}: {probe.reason}; {probe.install}\n")
            continue
        own = [t for t in found.targets() if found.evidence == Evidence.HARDWARE or t in DEFAULT_TARGETS]
        for target in [t for t in options.target if t in found.targets()] if options.target else own:
            table = list(measured(suite, options.selectors, name, target))
            print_table(table)
            rows += table
    if options.csv:
        with options.csv.open("w", newline="", encoding="utf-8") as file:
            writer = csv.DictWriter(file, [field.name for field in fields(Loading)])
            writer.writeheader()
            writer.writerows(asdict(row) for row in rows)


def measured(suite: Suite, selectors: Sequence[str], name: str, target: str) -> Iterator[Loading]:
    """The rows of one runner and target."""
    cases: dict[str, list[str]] = {}
    for entry in suite.select(selectors).entries:
        if entry.op.library:
            continue
        cases.setdefault(entry.op.module, []).append(first_case(entry))
    codes = {}
    for built in build(suite.kernels, [*dict.fromkeys([*cases, *suite.modules[:2]])], [target]):
        if not built.code_object:
            raise built.error or ParityError(f"{built.module} was not built for {target}")
        codes[built.module] = built.code_object
    for module, texts in cases.items():
        other = suite.modules[suite.modules[0] == module]
        warm = first_case(next(entry for entry in suite.entries if entry.op.module == other))
        fresh(prepare, name, target, codes[module], texts, codes[other], warm)
        yield fresh(measure, name, target, codes[module], texts, codes[other], warm)


def first_case(entry: Entry) -> str:
    """The first named case of a kernel, or the first one drawn."""
    named = [case for _, case in entry.op.named_cases(entry.dtypes)]
    return str((named or sample(entry.op.cases(entry.dtypes), 0, 1))[0])


def fresh(function: Callable[..., Any], *arguments: Any) -> Any:
    """The result of a function that runs in a separate process."""
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool:
        return pool.submit(function, *arguments).result()


def prepare(name: str, target: str, code: CodeObject, texts: Sequence[str], other: CodeObject, warm: str) -> None:
    """Fill the caches, in a process that keeps nothing."""
    session = runner(name).open(target)
    suite = find_suite(ROOT)
    session.prepare(code, [call.launch.kernel for call in calls_of(suite, texts)])
    session.prepare(other, [call.launch.kernel for call in calls_of(suite, [warm])])


def measure(name: str, target: str, code: CodeObject, texts: Sequence[str], other: CodeObject, warm: str) -> Loading:
    """One row, in this process."""
    suite = find_suite(ROOT)
    (first, *rest), (warming,) = calls_of(suite, texts), calls_of(suite, [warm])
    hardware = runner(name).evidence == Evidence.HARDWARE
    device: Any = CudaDevice(target, True) if hardware else runner(name).open(target)
    memory = device_memory if hardware else resident_memory

    def launch(call: Call, code: CodeObject = code) -> float:
        start = time.perf_counter()
        outcome = device.execute(code, call.launch, call.buffers)
        if outcome.fault:
            raise ParityError(f"{call.launch}: {outcome.fault.message}")
        return time.perf_counter() - start

    launch(warming, other)
    loads, lookups, before = device.modules.loads, device.modules.lookups, memory()
    once = [launch(call) for call in (first, *rest)]
    taken = memory() - before
    again = [launch(call) for call in (first, *rest)]
    loads, lookups = device.modules.loads - loads, device.modules.lookups - lookups
    kernel = first.launch.kernel
    seconds = min(timeit.repeat(lambda: device.modules.function(code, kernel), number=LOOKUPS, repeat=5)) / LOOKUPS
    return Loading(
        name, target, code.module, len(texts), code.binary.stat().st_size / 1024 if code.binary else 0.0,
        load_ms=(once[0] - again[0]) * 1e3,
        others_ms=(sum(once[1:]) - sum(again[1:])) * 1e3,
        launch_ms=statistics.median(again) * 1e3,
        lookup_ns=seconds * 1e9,
        loads=loads,
        lookups=lookups,
        memory_kib=taken / 1024,
    )  # fmt: skip


def calls_of(suite: Suite, texts: Sequence[str]) -> list[Call]:
    """The launches of cases, each with its buffers."""
    cases = [suite.parse(text) for text in texts]
    return [suite.op(case.op).call(case) for case in cases]


def device_memory() -> int:
    """Bytes of the GPU that are taken, without those that CuPy keeps for later."""
    cupy: Any = importlib.import_module("cupy")
    cupy.get_default_memory_pool().free_all_blocks()
    free, total = cupy.cuda.runtime.memGetInfo()
    return int(total - free)


def resident_memory() -> int:
    """Bytes of this process that are in memory."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def shown(value: object) -> str:
    return f"{value:.{2 if value < 10 else 1}f}" if isinstance(value, float) else str(value)


def print_table(rows: Sequence[Loading]) -> None:
    """Aligned columns, a line per module."""
    columns = [field.name for field in fields(Loading)][2:]
    heads = [HEADINGS.get(name, name.replace("_", " ").replace("kib", "KiB")) for name in columns]
    lines = [[shown(getattr(row, name)) for name in columns] for row in rows]
    print(f"{rows[0].target}, {rows[0].runner}")
    print(plain(heads, lines, right=range(1, len(heads))), flush=True)
    print()


if __name__ == "__main__":
    try:
        main()
    except ParityError as error:
        sys.exit(str(error))
