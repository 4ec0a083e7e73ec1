"""How runs on a cluster scale: ``python -m benchmarks.cluster``.

Three things are measured, all with the scheduler, client and protocol that a run has:

* ``efficiency``: kernels of the suite on ``local:1`` and on ``local:2``, ... up to the processors that this process may
  use; the rate of each divided by that of ``local:1`` and by the number of processes. In turns, so that a machine that
  is shared by others disturbs all alike; the best of each is taken.
* ``overhead``: calls that do nothing, on one worker: processor time of the scheduler, and of client and worker.
* ``scale``: workers that sleep as long as the emulator needs for a kernel, and nothing else, for as many tasks as have
  1,000,000 cases. ``--seconds`` of sleep for each task of ``--cases`` cases.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import AsyncExitStack, contextmanager
from pathlib import Path
from typing import Any

from parity.application import Run, Settings
from parity.cluster import connected
from parity.cluster.connection import need_dask
from parity.engine.pool import processors

CASES, TASK_CASES, TASK_SECONDS = 1_000_000, 24, 0.6
"""A kernel of the suite has about 24 cases on a column, which take the emulator 10 to 27 ms each."""

TURNS = 3


def main() -> None:
    """Measure what is asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", nargs="*", metavar="efficiency|overhead|scale", default=[])
    parser.add_argument("--select", nargs="*", default=["reduce.softmax", "sort"], help="kernels (efficiency)")
    parser.add_argument("--workers", type=int, nargs="*", default=[64, 512], help="simulated workers (scale)")
    parser.add_argument("--cases", type=int, default=CASES, help="cases in all (scale)")
    parser.add_argument("--seconds", type=float, default=TASK_SECONDS, help="of a task (scale)")
    parser.add_argument("--tasks", type=int, default=2000, help="calls (overhead)")
    arguments = parser.parse_args()
    need_dask()
    what = arguments.what or ["efficiency", "overhead", "scale"]
    if "efficiency" in what:
        efficiency(arguments.select)
    if "overhead" in what:
        asyncio.run(simulated(1, arguments.tasks, 0.0))
    if "scale" in what:
        for workers in arguments.workers:
            asyncio.run(simulated(workers, max(1, arguments.cases // TASK_CASES), arguments.seconds))


def efficiency(selectors: list[str]) -> None:
    """Print the rates of a run on 1, 2, ... processes of this machine."""
    counts = range(1, processors() + 1)
    seconds: dict[int, list[float]] = {count: [] for count in counts}
    cases = 0
    for _ in range(TURNS):
        for count in counts:
            with connected(f"local:{count}") as cluster:
                run = Run.of(*selectors, targets=["gfx1100"], settings=Settings(), cluster=cluster)
                results = run.build().execute()
            cases = len(results.records)
            seconds[count].append(results.seconds)
    alone = min(seconds[1])
    for count, each in seconds.items():
        best = min(each)
        print(
            f"local:{count}  {cases} cases  {best:6.2f} s (of {', '.join(f'{one:.2f}' for one in each)})  "
            f"{cases / best:6.0f} cases/s  efficiency {alone / best / count:.2f}",
            flush=True,
        )


async def simulated(workers: int, tasks: int, seconds: float) -> None:
    """Print how long workers that sleep need for so many tasks: the scheduler in a process of its own, they in this."""
    from distributed import Client, Worker

    with scheduler() as (address, process):
        async with AsyncExitStack() as stack:
            for number in range(workers):
                worker = Worker(
                    address,
                    nthreads=1,
                    resources={"emulated": 1},
                    memory_limit=0,
                    name=f"w{number}",
                    dashboard=False,
                    dashboard_address="127.0.0.1:0",
                )
                await stack.enter_async_context(worker)
            client = await stack.enter_async_context(Client(address, asynchronous=True, set_as_default=False))
            before, mine, start = processor_seconds(process), time.process_time(), time.perf_counter()
            options = {"seconds": seconds, "pure": False, "resources": {"emulated": 1}}
            waiting = [asyncio.ensure_future(answer(each)) for each in client.map(slept, range(tasks), **options)]
            await asyncio.gather(*waiting)
            took = time.perf_counter() - start
            theirs, mine = processor_seconds(process) - before, time.process_time() - mine
    ideal = tasks * seconds / workers
    share = f", {ideal / took:.2f} of the ideal {ideal:.1f} s" if ideal else ""
    print(
        f"{workers} workers, {tasks} tasks of {seconds:g} s ({tasks * TASK_CASES} cases): {took:.1f} s{share}; for",
        f"each task {1e3 * theirs / tasks:.2f} ms of a processor in the scheduler, {1e3 * mine / tasks:.2f} ms in",
        f"client and workers, {1e3 * took / tasks:.2f} ms in all",
        flush=True,
    )


async def answer(future: Any) -> None:
    """Wait for an answer, and let the cluster forget it, as a run does."""
    await future
    future.release()


async def slept(number: int, seconds: float) -> bytes:
    """What a simulated worker does; its answer is about as large as that of a kernel."""
    await asyncio.sleep(seconds)
    return bytes(10_000)


@contextmanager
def scheduler() -> Iterator[tuple[str, int]]:
    """Dask's scheduler in a process of its own: its address, and the number of the process."""
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
