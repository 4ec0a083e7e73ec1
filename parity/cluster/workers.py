"""Workers of a cluster: what ``parity worker`` starts on a machine, with what that has."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Iterator, Sequence

from parity.cluster.connection import CONNECT, QUIET, Place, Start, configure
from parity.cluster.messages import machine_name, offer
from parity.engine.pool import processors
from parity.errors import NotAvailable
from parity.runners import Evidence

__all__ = ["gpus_here", "started", "starts"]

VISIBLE = {"cuda": "CUDA_VISIBLE_DEVICES", "rocm": "HIP_VISIBLE_DEVICES"}
"""The variable that shows a process only some GPUs, by the runner of these."""


def starts(jobs: int | None = None, gpus: Sequence[str] = ()) -> Iterator[Start]:
    """The workers for this machine: one for each GPU, which share the processors; or one without.

    ``jobs`` are the calls that they take together (default: one per processor), ``gpus`` the GPUs of the machine as
    ``gpus_here`` finds them.
    """
    jobs = jobs or processors()
    if not gpus:
        found = offer(jobs)
        yield Start(machine_name(), jobs, found.resources)
        return
    each = max(1, jobs // len(gpus))
    found = offer(each)
    for number, gpu in enumerate(gpus):
        runner = gpu.partition(" ")[0]
        resources = {
            name: count
            for name, count in found.resources.items()
            if name == gpu or name.partition(" ")[0] not in VISIBLE
        }
        same = [other for other in gpus[:number] if other.partition(" ")[0] == runner]
        yield Start(f"{machine_name()}-gpu{number}", each, resources, {VISIBLE[runner]: str(len(same))})


def gpus_here() -> tuple[str, ...]:
    """The GPUs of this machine by runner and target, in the order of their numbers: "cuda sm_90"."""
    found: list[str] = []
    for each in offer(1).runners:
        if each.evidence == Evidence.HARDWARE and each.name in VISIBLE:
            found += (f"{each.name} {target}" for target in _targets(each.name))
    return tuple(found)


def _targets(runner: str) -> list[str]:
    """The target of each GPU of a runner, in the order of their numbers."""
    if runner == "cuda":
        from parity.runners.cuda import capabilities

        return list(capabilities())
    from parity.runners.rocm import gpus

    return [gpu.target for gpu in gpus()]


def started(where: Place, workers: Sequence[Start]) -> None:
    """Run the workers until they are interrupted, or their scheduler ends.

    Each is a process of its own under a nanny of Dask's, which starts it again where it was killed.

    Raises:
        NotAvailable: no scheduler answers.
    """
    import dask

    dask.config.set(QUIET)
    configure(where)
    asyncio.run(_serve(where, workers))


async def _serve(where: Place, workers: Sequence[Start]) -> None:
    import dask
    from distributed import Nanny

    async with contextlib.AsyncExitStack() as stack:
        running = []
        for each in workers:
            nanny = Nanny(
                where.address,
                nthreads=each.slots,
                name=each.name,
                resources=dict(each.resources),
                env=each.environment,
                memory_limit=0,
                dashboard=False,
                config=dict(dask.config.config),
            )
            try:
                running.append(await asyncio.wait_for(stack.enter_async_context(nanny), CONNECT))
            except (OSError, TimeoutError, RuntimeError) as error:
                raise NotAvailable(
                    f"no scheduler of Dask answers at {where.address}: {error or 'no answer'}"
                ) from error
        await asyncio.gather(*(nanny.finished() for nanny in running))
