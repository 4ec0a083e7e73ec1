"""The messages between client and workers. They are data that is validated on arrival and never executed.

The arguments of a request are the exception: a worker executes what its client requests.
"""

from __future__ import annotations

import functools
import platform
import socket
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Literal, get_type_hints

from parity.engine.calls import CallTimeout, NoWorker, T, WorkerCrashed
from parity.engine.case_records import Column
from parity.engine.record_file import package_versions
from parity.errors import NotAvailable, ParityError, ResourceExhausted, UsageError
from parity.platform.serialization import unpacked
from parity.platform.subprocesses import processors
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

_ERRORS = {each.__name__: each for each in (UsageError, NotAvailable, ResourceExhausted, ParityError)}


@dataclass(frozen=True)
class Request:
    """A call: a pickled function with its arguments, its time limit in seconds, and what it needs.

    ``run`` is the name of the run, ``plan`` the digest of its manifest, ``bundles`` the digests of the other bundles,
    and ``resources`` the resources of the worker that the call uses.
    """

    versions: dict[str, str]
    run: str
    plan: str
    bundles: tuple[str, ...]
    call: bytes
    seconds: float
    resources: tuple[str, ...] = ()


@dataclass(frozen=True)
class Answer:
    """The result of a call on a machine: the packed return value, the way in which its process ended, or an error.

    "unable" means that the worker has lost a device. "refused" means that the worker has other versions, received wrong
    bytes for a bundle, or got a call for a run that has ended.
    """

    machine: str
    how: Literal["returned", "crashed", "timeout", "raised", "unable", "refused"]
    value: bytes = b""
    error: str = ""
    text: str = ""
    exitcode: int | None = None
    in_callback: bool = False

    def result(self, function: Callable[..., T]) -> T:
        """Return the value that the function returned.

        Raises:
            SchemaError: The value does not have the return type of the function.
            CallFailed, NoWorker, ParityError: The function did not return.
        """
        if self.how == "returned":
            kind: type[T] = get_type_hints(function)["return"]
            return unpacked(self.value, kind, f"the value that {self.machine} returned")
        if self.how == "crashed":
            raise WorkerCrashed(self.exitcode)
        if self.how == "timeout":
            raise CallTimeout(in_callback=self.in_callback)
        if self.how == "unable":
            raise NoWorker(f"{self.machine}: {self.text}")
        raise _ERRORS.get(self.error, RuntimeError)(f"{self.machine}: {self.text}")


@dataclass(frozen=True)
class RunnerOffer:
    """A runner of a worker. ``usual`` are the targets of a run that names no targets."""

    name: str
    evidence: Evidence
    vendor: Vendor
    targets: tuple[str, ...]
    usual: tuple[str, ...]
    device: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class WorkerOffer:
    """The equipment of a worker: versions, processors, runners, and the number of calls per resource."""

    machine: str
    versions: dict[str, str]
    processors: int
    runners: tuple[RunnerOffer, ...]
    resources: dict[str, int]


def versions() -> dict[str, str]:
    """Return the versions of the installed packages that decide cases and verdicts."""
    python = ".".join(platform.python_version_tuple()[:2])
    return {"parity": __version__, "python": python, **package_versions()}


def version_differences(theirs: Mapping[str, str], where: str) -> str:
    """Describe the versions here that differ from ``theirs`` at ``where``; empty if all agree."""
    mine = versions()
    differ = [name for name, value in theirs.items() if mine.get(name, value) != value]
    return ", ".join(f"{name} is {mine[name]} here and {theirs[name]} {where}" for name in differ)


def machine_name() -> str:
    return socket.gethostname()


def column_resource(column: Column) -> str:
    """Return the resource that a call on a column needs: "cuda sm_90", "emulated" (any target), or "" for a replay."""
    return "" if not column.live else column.runner if column.emulated else f"{column.runner} {column.target}"


@functools.cache
def local_offer(slots: int) -> WorkerOffer:
    """Return the equipment of this machine for ``slots`` concurrent calls, as ``parity doctor`` finds it."""
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
