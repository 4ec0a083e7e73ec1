"""Starts the Dask workers of a machine for ``parity worker``."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Iterator, Sequence

from parity.cluster.connection import CONNECT, QUIET, Site, WorkerSpec, configure
from parity.cluster.messages import local_offer, machine_name
from parity.engine.case_records import Column
from parity.errors import NotAvailable
from parity.platform.subprocesses import processors
from parity.runners import SupportsDeviceNumbers, runner


def local_workers(jobs: int | None = None, gpus: Sequence[str] = ()) -> Iterator[WorkerSpec]:
    """Yield the workers for this machine: one per GPU, which share the processors, or one without GPUs.

    ``jobs`` is the total number of concurrent calls (default: one per processor). ``gpus`` are the GPUs of the machine,
    as ``local_gpus`` returns them.
    """
    jobs = jobs or processors()
    if not gpus:
        found = local_offer(jobs)
        yield WorkerSpec(machine_name(), jobs, found.resources)
        return
    each = max(1, jobs // len(gpus))
    found = local_offer(each)
    for number, gpu in enumerate(gpus):
        own = _numbered(gpu)
        assert own is not None
        resources = {name: count for name, count in found.resources.items() if name == gpu or not _numbered(name)}
        same = [other for other in gpus[:number] if other.partition(" ")[0] == gpu.partition(" ")[0]]
        yield WorkerSpec(f"{machine_name()}-gpu{number}", each, resources, {own.visible: str(len(same))})


def local_gpus() -> tuple[str, ...]:
    """Return the GPUs of this machine by runner and target, in the order of their numbers: "cuda sm_90"."""
    found: list[str] = []
    for each in local_offer(1).runners:
        own = _numbered(each.name)
        if own and any(Column(each.name, target, each.evidence).on_device for target in each.targets):
            found += (f"{each.name} {target}" for target in own.device_targets())
    return tuple(found)


def _numbered(resource: str) -> SupportsDeviceNumbers | None:
    found = runner(resource.partition(" ")[0])
    return found if isinstance(found, SupportsDeviceNumbers) else None


def run_workers(where: Site, workers: Sequence[WorkerSpec]) -> None:
    """Run workers until an interrupt, or until their scheduler stops.

    Each worker is a process under a nanny of Dask, which restarts it if it is killed.

    Raises:
        NotAvailable: No scheduler answers.
    """
    import dask

    dask.config.set(QUIET)
    configure(where)
    asyncio.run(_serve(where, workers))


async def _serve(where: Site, workers: Sequence[WorkerSpec]) -> None:
    import dask
    from distributed import Nanny

    async with contextlib.AsyncExitStack() as stack:
        running = []
        for each in workers:
            own = {"nthreads": each.slots, "name": each.name, "resources": each.resources, "env": each.environment}
            nanny = Nanny(where.address, **own, memory_limit=0, dashboard=False, config=dict(dask.config.config))
            try:
                running.append(await asyncio.wait_for(stack.enter_async_context(nanny), CONNECT))
            except (OSError, TimeoutError, RuntimeError) as error:
                raise NotAvailable(
                    f"no scheduler of Dask answers at {where.address}: {error or 'no answer'}"
                ) from error
        await asyncio.gather(*(nanny.finished() for nanny in running))
