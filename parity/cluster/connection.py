"""Connects to a Dask cluster, and collects what its workers offer."""

from __future__ import annotations

import asyncio
import contextlib
import ipaddress
import logging
import re
import threading
import warnings
from collections import Counter
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator, Mapping, Sequence
from concurrent.futures import TimeoutError as Late
from contextlib import AbstractAsyncContextManager, AsyncExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import urlsplit

import yaml

from parity.cluster.messages import RunnerOffer, WorkerOffer, local_offer, machine_name, version_differences
from parity.cluster.pool import DaskPool
from parity.cluster.remote import collect_offer
from parity.engine.plan import Plan
from parity.errors import MissingTool, NotAvailable, UsageError, nearest
from parity.platform.files import read_text
from parity.platform.installation import install_command
from parity.platform.serialization import unpacked
from parity.platform.signals import delay_interrupts
from parity.platform.subprocesses import processors
from parity.runners import Evidence, OpRunner, Probe, Runner, Session, Vendor, available
from parity.suite.loading import Suite

if TYPE_CHECKING:
    from distributed import Client

T = TypeVar("T")

CONNECT = 30.0
"""Time limit in seconds for connecting to the scheduler and to one worker."""

CLOSE = 10.0

QUIET: Mapping[str, Any] = {
    "distributed.worker.profile.enabled": False,
    "distributed.admin.tick.interval": "1s",
    "distributed.admin.system-monitor.interval": "10s",
    "distributed.scheduler.active-memory-manager.start": False,
    "distributed.scheduler.work-stealing": False,
}
"""Settings that disable Dask's work for profiling, monitoring and moving data, which parity does not need.

An idle scheduler, client and worker in one process use 3 ms of processor time per second with these settings, and 27 ms
without.
"""

EXAMPLES = "tcp://127.0.0.1:8786, tls://scheduler:8786, local, local:4, or a file of Dask's configuration"
_ADDRESS = re.compile(r"(?:(?P<protocol>[a-z]+)://)?(?P<host>\[[^\]]+\]|[^:/\[\]]+):(?P<port>[0-9]+)")


@dataclass(frozen=True)
class Site:
    """The location of a cluster: the ``address`` of a scheduler or, if empty, ``jobs`` processes of this machine.

    ``settings`` override the settings that Dask finds itself.
    """

    address: str = ""
    jobs: int = 0
    settings: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class WorkerSpec:
    """A Dask worker to start: its name, the number of concurrent calls, its resources, and environment variables."""

    name: str
    slots: int
    resources: dict[str, int]
    environment: dict[str, str] = field(default_factory=dict)

    def __str__(self) -> str:
        has = ", ".join(f"{name} ({count})" if count > 1 else name for name, count in self.resources.items())
        return f"{self.name}: {has or 'nothing that executes'}"


def parse_site(text: str) -> Site:
    """Parse the argument of ``--cluster``.

    Raises:
        UsageError: The text is not a location, or the file is unreadable or names no scheduler.
    """
    if match := re.fullmatch("local(?::([0-9]+))?", text):
        if match[1] is not None and not int(match[1]):
            raise UsageError(f"--cluster {text}: at least one process is needed; plain local starts one per processor")
        return Site(jobs=int(match[1] or processors()))
    if _ADDRESS.fullmatch(text):
        return Site(text if "://" in text else f"tcp://{text}")
    path = Path(text)
    if not path.is_file():
        raise UsageError(f"--cluster {text}: neither the address of a scheduler nor a file; write {EXAMPLES}")
    try:
        found = yaml.safe_load(read_text(path))
    except yaml.YAMLError as error:
        raise UsageError(f"{path} is neither YAML nor JSON: {error}") from error
    table = found if isinstance(found, dict) else {}
    address = table.get("scheduler-address") or table.get("address")
    if not (isinstance(address, str) and _ADDRESS.fullmatch(address)):
        raise UsageError(
            f"{path} names no scheduler: it must contain scheduler-address: tls://HOST:8786 (a Dask configuration), or "
            "be the file that dask scheduler --scheduler-file writes"
        )
    return Site(address, settings=table if "scheduler-address" in table else {})


def require_trusted(where: Site, insecure: bool) -> None:
    """Refuse a connection through which others could send code to the workers.

    Raises:
        UsageError: The scheduler is on another host, and the connection is neither encrypted nor authenticated.
    """
    address = urlsplit(where.address)
    if not where.address or address.scheme == "tls" or insecure or _is_here(address.hostname or ""):
        return
    raise UsageError(
        f"{where.address} is on another host, and {address.scheme} is neither encrypted nor authenticated: anyone who "
        "reaches such a scheduler can run any code on its workers and on this machine. Use tls:// (docs/cluster.md) "
        "or, in a network that you fully trust, --insecure-cluster"
    )


def _is_here(host: str) -> bool:
    """Return True if only programs of this machine can listen at the host."""
    with contextlib.suppress(ValueError):
        return ipaddress.ip_address(host).is_loopback
    return host == "localhost"


@dataclass
class _RemoteRunner:
    """The facts about a runner of the workers that the client needs."""

    name: str
    evidence: Evidence
    vendor: Vendor
    _targets: tuple[str, ...]
    _usual: tuple[str, ...]
    device: Mapping[str, str]

    def probe(self) -> Probe:
        return Probe(True)

    def targets(self) -> tuple[str, ...]:
        return self._targets

    def default_targets(self) -> tuple[str, ...]:
        return self._usual

    def describe(self) -> Mapping[str, str]:
        return self.device

    def open(self, target: str, *, checked: bool = True) -> Session:
        raise NotAvailable(f"the runner {self.name!r} is on workers of the cluster, not on this machine")


class Cluster:
    """A connected cluster. Implements ``RemoteWorkers``.

    ``offers`` describes the workers. ``machines`` counts the calls that each machine has answered. The Dask client
    lives in a thread with its own event loop.
    """

    def __init__(self, where: Site, start: Callable[[Site], AbstractAsyncContextManager[Client]]) -> None:
        self.where = where
        self.offers: tuple[WorkerOffer, ...] = ()
        self.machines: Counter[str] = Counter()
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="parity cluster", daemon=True)
        self._start = start

    def open(self) -> None:
        """Connect, and collect the offers of the workers.

        Raises:
            NotAvailable: There is no scheduler or no worker, or a worker has other versions than this machine.
        """
        with delay_interrupts():
            self._thread.start()
        self.offers = self._call(self._open())
        for each in self.offers:
            if other := version_differences(each.versions, f"at {each.machine}"):
                why = "all machines must have the same versions, because these decide cases and verdicts"
                raise NotAvailable(f"{other}; {why}")

    def close(self) -> None:
        """Disconnect, and stop everything that runs on this machine."""
        if self._thread.is_alive():
            with contextlib.suppress(Exception):
                self._call(self._stack.aclose(), CLOSE)
            self._loop.call_soon_threadsafe(self._loop.stop)
            self._thread.join(CLOSE)

    async def _open(self) -> tuple[WorkerOffer, ...]:
        self._stack = AsyncExitStack()
        self._client = await self._stack.enter_async_context(self._start(self.where))
        try:
            await self._client.wait_for_workers(1, timeout=CONNECT)
        except TimeoutError as error:
            raise NotAvailable(
                f"no worker is connected to {self.where.address}; start one with parity worker {self.where.address}"
            ) from error
        found = await self._client.run(collect_offer)
        return tuple(unpacked(each, WorkerOffer, f"the offer of {address}") for address, each in found.items())

    def available(self, spec: str) -> Runner | OpRunner:
        """Return the runner of the workers with that name. A replaying runner is local.

        Raises:
            UsageError: The runner replays a file that is not a recording.
            NotAvailable: No worker has the runner.
        """
        name, equals, _ = spec.partition("=")
        if name == "recorded":
            return available(spec)
        if equals:
            raise NotAvailable(
                f"the runner {spec!r} has an argument, which workers do not support; name it without one"
            )
        found = [each for offer in self.offers for each in offer.runners if each.name == name]
        if not found:
            there = dict.fromkeys(each.name for offer in self.offers for each in offer.runners)
            raise NotAvailable(f"no worker has the runner {name!r}; available: {' '.join(there)}{nearest(name, there)}")
        return _joined(found)

    def describe(self, spec: str) -> dict[str, str]:
        """Return the facts that a runner of the workers reports about its device."""
        found = self.available(spec)
        return dict(found.device) if isinstance(found, _RemoteRunner) else {}

    @contextlib.contextmanager
    def pool(self, suite: Suite, plan: Plan, *, alone: bool = False) -> Iterator[DaskPool]:
        """Return a pool for a plan. With ``alone``, each call has a device to itself."""
        here = not self.where.address
        pool = DaskPool(self._client, self._loop, plan, suite, here, self.machines, alone)
        self._call(pool.start())
        try:
            yield pool
        finally:
            with contextlib.suppress(Late, NotAvailable):
                self._call(pool.stop(), CLOSE)

    def _call(self, coroutine: Coroutine[Any, Any, T], seconds: float | None = None) -> T:
        return asyncio.run_coroutine_threadsafe(coroutine, self._loop).result(seconds)


def _joined(found: Sequence[RunnerOffer]) -> _RemoteRunner:
    first = found[0]
    facts = {key: ", ".join(dict.fromkeys(each.device.get(key, "") for each in found)) for key in first.device}

    def every(lists: Sequence[Sequence[str]]) -> tuple[str, ...]:
        return tuple(dict.fromkeys(one for each in lists for one in each))

    targets, usual = every([each.targets for each in found]), every([each.usual for each in found])
    return _RemoteRunner(first.name, first.evidence, first.vendor, targets, usual, facts)


@contextlib.contextmanager
def connected(text: str, *, insecure: bool = False) -> Iterator[Cluster]:
    """Connect to the cluster that ``--cluster`` names.

    Raises:
        UsageError: The location is invalid, or not trusted; ``insecure`` accepts untrusted locations.
        MissingTool: Dask is not installed.
        NotAvailable: The cluster is unreachable, or no worker has the versions of this machine.
    """
    where = parse_site(text)
    require_trusted(where, insecure)
    need_dask()
    cluster = Cluster(where, _here if not where.address else _there)
    try:
        cluster.open()
        yield cluster
    finally:
        cluster.close()


def need_dask() -> None:
    """Import Dask, and silence its messages.

    Raises:
        MissingTool: Dask is not installed.
    """
    try:
        import distributed  # noqa: F401
    except ImportError as error:
        raise MissingTool("Dask", "the package distributed", install_command("cluster")) from error
    logging.getLogger("distributed").setLevel(logging.CRITICAL)
    # Interrupts and failed connections leave coroutines of Dask behind.
    warnings.filterwarnings("ignore", "coroutine .* was never awaited", RuntimeWarning)
    warnings.filterwarnings("ignore", "Sending large graph", UserWarning)  # bundles are large


@contextlib.asynccontextmanager
async def _there(where: Site) -> AsyncIterator[Client]:
    from distributed import Client

    configure(where)
    try:
        client = await Client(where.address, asynchronous=True, set_as_default=False, timeout=CONNECT)
    except (OSError, TimeoutError, ValueError, TypeError) as error:
        raise NotAvailable(f"no scheduler of Dask answers at {where.address}: {error}") from error
    async with client:
        yield client


def configure(where: Site) -> None:
    """Apply the settings of a site in this process."""
    import dask

    dask.config.update(dask.config.config, dict(where.settings), priority="new")


@contextlib.asynccontextmanager
async def local_cluster(workers: Sequence[WorkerSpec]) -> AsyncIterator[Client]:
    """Start a scheduler and workers inside of this process. Workers execute calls in separate processes."""
    import dask
    from distributed import Client, Scheduler, Worker

    async with AsyncExitStack() as stack:
        stack.enter_context(dask.config.set(QUIET))
        quiet = {"dashboard": False, "dashboard_address": "127.0.0.1:0"}  # HTTP servers that only this machine reaches
        scheduler = await stack.enter_async_context(Scheduler(protocol="inproc://", **quiet))
        for each in workers:
            resources = {name: float(count) for name, count in each.resources.items()}
            options = {"nthreads": each.slots, "resources": resources, "name": each.name, "memory_limit": 0, **quiet}
            await stack.enter_async_context(Worker(scheduler.address, **options))
        client = Client(scheduler.address, asynchronous=True, set_as_default=False)
        yield await stack.enter_async_context(client)


def _here(where: Site) -> AbstractAsyncContextManager[Client]:
    return local_cluster([WorkerSpec(machine_name(), where.jobs, local_offer(where.jobs).resources)])
