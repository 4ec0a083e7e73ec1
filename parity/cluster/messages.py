"""The messages between the client and the workers of a cluster: data that are checked on arrival and never executed.

The arguments of a request are the exception: a worker runs what its client asks for.
"""

from __future__ import annotations

import functools
import platform
import socket
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Literal, get_type_hints

from parity.engine import Column
from parity.engine.calls import CallTimeout, NoWorker, T, WorkerCrashed
from parity.engine.pool import processors
from parity.engine.record_file import package_versions
from parity.errors import NotAvailable, ParityError, ResourceExhausted, UsageError
from parity.platform.serialization import unpacked
from parity.platform.version import __version__
from parity.runners import (
    Evidence,
    SupportsWorkerLimit,
    Vendor,
    default_targets,
    device_description,
    probe_runner,
    replayed_recording,
    runner,
    runners,
)

__all__ = [
    "Answer",
    "Request",
    "RunnerOffer",
    "WorkerOffer",
    "column_resource",
    "local_offer",
    "machine_name",
    "version_differences",
    "versions",
]

_ERRORS = {each.__name__: each for each in (UsageError, NotAvailable, ResourceExhausted, ParityError)}


@dataclass(frozen=True)
class Request:
    """A call: a function with its arguments (pickled), its time limit in seconds, and what it needs.

    ``run`` is the name of the run that it belongs to, ``plan`` the digest of the bundle of that, ``contents`` are those
    of all else, ``resources`` what of the worker it uses.
    """

    versions: dict[str, str]
    run: str
    plan: str
    contents: tuple[str, ...]
    call: bytes
    seconds: float
    resources: tuple[str, ...] = ()


@dataclass(frozen=True)
class Answer:
    """The end of a call on a machine: what it ``returned`` (packed); how its process ended; or an error.

    A worker that is ``unable`` has lost a device; one that has ``refused`` is of other versions, or got other content.
    """

    machine: str
    how: Literal["returned", "died", "late", "raised", "unable", "refused"]
    value: bytes = b""
    error: str = ""
    text: str = ""
    exitcode: int | None = None

    def result(self, function: Callable[..., T]) -> T:
        """The value that the function returned.

        Raises:
            SchemaError: that is not of its type.
            Died, Late, Absent, ParityError: it did not return.
        """
        if self.how == "returned":
            kind: type[T] = get_type_hints(function)["return"]
            return unpacked(self.value, kind, f"what {self.machine} returned")
        if self.how == "died":
            raise WorkerCrashed(self.exitcode)
        if self.how == "late":
            raise CallTimeout
        if self.how == "unable":
            raise NoWorker(f"{self.machine}: {self.text}")
        raise _ERRORS.get(self.error, RuntimeError)(f"{self.machine}: {self.text}")


@dataclass(frozen=True)
class RunnerOffer:
    """A runner as a worker describes it; ``usual`` are the targets of a run that names none."""

    name: str
    evidence: Evidence
    vendor: Vendor
    targets: tuple[str, ...]
    usual: tuple[str, ...]
    device: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class WorkerOffer:
    """The equipment of a machine: versions, processors, runners, and for each resource the calls that may share it."""

    machine: str
    versions: dict[str, str]
    processors: int
    runners: tuple[RunnerOffer, ...]
    resources: dict[str, int]


def versions() -> dict[str, str]:
    """The versions of everything that decides cases and verdicts, as far as it is installed."""
    python = ".".join(platform.python_version_tuple()[:2])
    return {"parity": __version__, "python": python, **package_versions()}


def version_differences(theirs: Mapping[str, str], where: str) -> str:
    """The versions here that differ from theirs, which are those of ``where``; empty if none does."""
    mine = versions()
    differ = [name for name, value in theirs.items() if mine.get(name, value) != value]
    return ", ".join(f"{name} is {mine[name]} here and {theirs[name]} {where}" for name in differ)


def machine_name() -> str:
    """The name of this machine."""
    return socket.gethostname()


def column_resource(column: Column) -> str:
    """The resource that a call on a column needs: "cuda sm_90"; "emulated", whatever the target; nothing to replay."""
    return "" if not column.live else column.runner if column.emulated else f"{column.runner} {column.target}"


@functools.cache
def local_offer(slots: int) -> WorkerOffer:
    """The equipment of this machine, as ``parity doctor`` finds it, for so many calls at a time."""
    found: list[RunnerOffer] = []
    resources: dict[str, int] = {}
    for name in runners():
        try:
            each = runner(name)
            if not probe_runner(each).available or replayed_recording(each) is not None:
                continue
            targets = tuple(each.targets())
            columns = [Column(name, target, str(each.evidence)) for target in targets]
            device = device_description(each) if any(column.on_device for column in columns) else {}
            most = min(slots, each.max_workers(targets)) if isinstance(each, SupportsWorkerLimit) and targets else slots
        except ParityError:
            continue
        found.append(RunnerOffer(name, each.evidence, each.vendor, targets, default_targets(each), device))
        resources |= {column_resource(column): most for column in columns}
    return WorkerOffer(machine_name(), versions(), processors(), tuple(found), resources)
