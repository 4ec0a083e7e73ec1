"""Measures how runs scale on a cluster: ``python -m benchmarks.cluster``.

There are three measurements, all with the scheduler, client and protocol of a real run:

* ``efficiency``: kernels of the suite on ``local:1``, ``local:2``, ... up to the processors available to this
  process, and on the pool of one machine. The result is the processor time of all processes of the run. The
  configurations alternate, so that other load on the machine affects all of them equally.
* ``overhead``: empty calls on one worker; processor time of the scheduler, the client and the worker.
* ``scale``: workers that sleep as long as the emulator needs for a kernel and then return a typical result, for as
  many tasks as a run of 1,000,000 cases has. ``--seconds`` is the sleep per task of ``--cases`` cases.

Scheduler, client and simulated workers are three processes.
"""

from __future__ import annotations

import argparse
import asyncio
import functools
import importlib
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import AsyncExitStack, contextmanager, nullcontext
from dataclasses import replace
from functools import partial
from itertools import cycle, islice
from pathlib import Path

import psutil

from parity.application.run import Run, Settings
from parity.cluster.connection import QUIET, connected, need_dask
from parity.cluster.messages import Answer, Request
from parity.cluster.remote import deliver
from parity.engine.calls import Pool
from parity.engine.execution import execute_plan as execute
from parity.engine.plan import Plan
from parity.engine.pool import Workers, processors
from parity.platform.serialization import packed, unpacked
from parity.suite.loading import find_suite

CASES, TASK_SECONDS = 1_000_000, 0.6
"""A kernel of the suite has about 27 cases on a column, which take the emulator 10 to 27 ms each."""

TURNS = 3


def main() -> None:
    """Run the requested measurement."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", nargs="*", metavar="efficiency|overhead|scale", default=[])
    parser.add_argument("--select", nargs="*", default=["sort"], help="kernels (efficiency)")
    parser.add_argument("--examples", type=int, default=200, help="cases to draw of each kernel (efficiency)")
    parser.add_argument("--workers", type=int, nargs="*", default=[64, 512], help="simulated workers (scale)")
    parser.add_argument("--cases", type=int, default=CASES, help="cases in all (scale)")
    parser.add_argument("--seconds", type=float, default=TASK_SECONDS, help="of a task (scale)")
    parser.add_argument("--tasks", type=int, default=2000, help="calls (overhead)")
    parser.add_argument("--simulate", nargs=2, metavar=("ADDRESS", "N"), help="be N workers of that scheduler")
    arguments = parser.parse_args()
    need_dask()
    if arguments.simulate:
        asyncio.run(simulate(arguments.simulate[0], int(arguments.simulate[1])))
        return
    what = arguments.what or ["efficiency", "overhead", "scale"]
    if "efficiency" in what:
        efficiency(arguments.select, arguments.examples)
    if "overhead" in what:
        simulated(1, 0.0, tasks=arguments.tasks)
    if "scale" in what:
        for workers in arguments.workers:
            simulated(workers, arguments.seconds, cases=arguments.cases)


def efficiency(selectors: list[str], examples: int) -> None:
    """Print what a run costs on 1, 2, ... processes of this machine, on a cluster and on the pool."""
    counts = range(1, processors() + 1)
    found: dict[str, list[tuple[float, float]]] = {}
    cases = 0
    for _ in range(TURNS):
        for name in [*(f"pool:{count}" for count in counts), *(f"local:{count}" for count in counts)]:
            kind, _, count = name.partition(":")
            with connected(name) if kind == "local" else nullcontext() as cluster:
                settings = Settings(examples, jobs=int(count) if kind == "pool" else None)
                run = Run.of(*selectors, targets=["gfx1100"], settings=settings, cluster=cluster)
                cost = Cost()
                cases = len(run.build().execute(cost).records)
            found.setdefault(name, []).append((cost.processors, cost.seconds))
    alone = sum(each[0] for each in found["pool:1"])
    for name, costs in found.items():
        used, took = (sum(each) for each in zip(*costs, strict=True))
        turns = ", ".join(f"{each[0]:.2f}" for each in costs)
        print(
            f"{name:8} {cases} cases  {turns} s of processors  efficiency {alone / used:.2f}  "
            f"{took / TURNS:6.2f} s on a clock, {used / took:.2f} processors at a time",
            flush=True,
        )


class Cost:
    """The progress of a run, which notes what the run proper costs: all its processes, without what is prepared."""

    seconds = processors = 0.0

    def __call__(self, what: str, done: int, total: int) -> None:
        """Note the costs so far."""
        if what == "running":
            if not done:
                self._begin = time.perf_counter(), used()
            elif done == total:
                self.seconds, self.processors = time.perf_counter() - self._begin[0], used() - self._begin[1]


def used() -> float:
    """The seconds of processors that this process and those below it have had."""
    mine = psutil.Process()
    every = [each.cpu_times() for each in (mine, *mine.children(recursive=True))]
    return sum(each.user + each.system + each.children_user + each.children_system for each in every)


def simulated(workers: int, seconds: float, tasks: int = 0, cases: int = 0) -> None:
    """Print how long workers that sleep so long for each task need for a run of so many tasks or cases."""
    suite = find_suite()
    one = Run.of("unary.gelu", dtypes=["f32"], targets=["gfx1100"], suite=suite).build()
    found = one.execute().records
    records, tasks = packed(found), tasks or cases // len(found)
    entire = [replace(each, columns=one.plan.columns) for each in Run.of(targets=["gfx1100"], suite=suite).tasks]
    plan = replace(one.plan, tasks=tuple(islice(cycle(entire), tasks)))
    with tempfile.TemporaryDirectory() as folder, scheduler() as (address, process):
        answer = Path(folder, "answer")
        answer.write_bytes(packed(Answer("simulated", "returned", records)))
        command = [sys.executable, "-m", "benchmarks.cluster", "--simulate", address, str(workers)]
        with started(command) as theirs, connected(address) as cluster:
            pids = {"scheduler": process, "client": os.getpid(), "workers": theirs.pid}
            before, start = {name: processor_seconds(pid) for name, pid in pids.items()}, time.perf_counter()

            @contextmanager
            def pools(plan: Plan, jobs: int | None) -> Iterator[Pool]:
                with cluster.pool(suite, plan) as pool:
                    pool.remote = partial(importlib.import_module("benchmarks.cluster").slept, str(answer), seconds)
                    yield pool

            cases = sum(1 for _ in execute(plan, suite, Workers(pools=pools)))
            took = time.perf_counter() - start
            costs = {name: processor_seconds(pid) - before[name] for name, pid in pids.items()}
    ideal = tasks * seconds / workers
    share = f", {ideal / took:.2f} of the ideal {ideal:.1f} s" if ideal else ""
    each = ", ".join(f"{1e3 * cost / tasks:.2f} ms in the {name}" for name, cost in costs.items())
    print(
        f"{workers} workers, {tasks} tasks of {seconds:g} s ({cases} cases, answers of {len(records) / 1e3:.1f} kB): "
        f"{took:.1f} s{share}; of processors for each task {each}",
        flush=True,
    )


async def simulate(address: str, count: int) -> None:
    """Be so many workers, which do nothing that takes time."""
    import dask
    from distributed import Worker

    dask.config.set({**QUIET, "distributed.admin.system-monitor.interval": "1h"})  # one is enough for this process
    async with AsyncExitStack() as stack:
        for number in range(count):
            one = Worker(
                address,
                nthreads=1,
                resources={"emulated": 1},
                memory_limit=0,
                name=f"w{number}",
                dashboard=False,
                dashboard_address="127.0.0.1:0",
            )
            await stack.enter_async_context(one)
        print("ready", flush=True)
        await one.finished()


async def slept(file: str, seconds: float, request: bytes, ticket: str, client: str) -> bytes:
    """The call of a simulated worker: sleep, and answer with what a kernel left."""
    from distributed import get_worker

    unpacked(request, Request, "what a client asks for")
    await asyncio.sleep(seconds)
    return deliver(get_worker(), ticket, client, answer_in(file))


@functools.cache
def answer_in(file: str) -> bytes:
    """The answer in a file."""
    return Path(file).read_bytes()


@contextmanager
def started(command: list[str]) -> Iterator[subprocess.Popen[bytes]]:
    """A process that ends with the block, when it has said that it is ready."""
    process = subprocess.Popen(command, stdout=subprocess.PIPE)
    try:
        assert process.stdout and process.stdout.readline()
        yield process
    finally:
        process.terminate()
        process.wait()


@contextmanager
def scheduler() -> Iterator[tuple[str, int]]:
    """Start Dask's scheduler in a separate process; yield its address and process id."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "scheduler.json")
        options = ("--host", "127.0.0.1", "--port", "0", "--no-dashboard", "--scheduler-file", str(file))
        command = [sys.executable, "-m", "distributed.cli.dask_scheduler", *options]
        process = subprocess.Popen(command, stderr=subprocess.DEVNULL)
        try:
            while not (file.exists() and file.read_text().endswith("}")):
                time.sleep(0.05)
            yield json.loads(file.read_text())["address"], process.pid
        finally:
            process.terminate()
            process.wait()


def processor_seconds(process: int) -> float:
    """The seconds that a process has had of processors (proc(5), fields 14 and 15 of its stat)."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


if __name__ == "__main__":
    main()
