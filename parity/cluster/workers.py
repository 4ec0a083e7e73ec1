"""Workers of a cluster: what ``parity worker`` starts on a machine, with what that has."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Iterator, Sequence

from parity.cluster.connection import CONNECT, QUIET, Site, WorkerSpec, configure
from parity.cluster.messages import local_offer, machine_name
from parity.engine import Column
from parity.engine.pool import processors
from parity.errors import NotAvailable
from parity.runners import SupportsDeviceNumbers, runner

__all__ = ["local_gpus", "local_workers", "run_workers"]


def local_workers(jobs: int | None = None, gpus: Sequence[str] = ()) -> Iterator[WorkerSpec]:
    """The workers for this machine: one for each GPU, which share the processors; or one without.

    ``jobs`` are the calls that they take together (default: one per processor), ``gpus`` the GPUs of the machine as
    ``local_gpus`` finds them.
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
    """The GPUs of this machine by runner and target, in the order of their numbers: "cuda sm_90"."""
    found: list[str] = []
    for each in local_offer(1).runners:
        own = _numbered(each.name)
        if own and any(Column(each.name, target, each.evidence).on_device for target in each.targets):
            found += (f"{each.name} {target}" for target in own.device_targets())
    return tuple(found)


def _numbered(resource: str) -> SupportsDeviceNumbers | None:
    """The runner of a resource, if it is one of GPUs with numbers."""
    found = runner(resource.partition(" ")[0])
    return found if isinstance(found, SupportsDeviceNumbers) else None


def run_workers(where: Site, workers: Sequence[WorkerSpec]) -> None:
    """Run the workers until they are interrupted, or their scheduler ends.

    Each is a process of its own under a nanny of Dask's, which starts it again where it was killed.

    Raises:
        NotAvailable: no scheduler answers.
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
