"""The runners that are installed, by name: those of parity, and those of the entry-point group ``parity.runners``.

A defect of a plug-in makes its runner one that is not available, in a message that names the package; everything else
goes on.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from contextlib import suppress
from importlib.metadata import EntryPoint, entry_points
from typing import get_args

from parity.errors import NotAvailable, ParityError, UsageError, nearest
from parity.runners.base import Evidence, OpRunner, Probe, Runner, Vendor

__all__ = ["available", "kernel_runner", "plugin_conflicts", "probe_runner", "runner", "runners"]

GROUP = "parity.runners"
BUILT_IN = {
    "emulated": "parity.runners.emulated:EmulatedRunner",
    "ptx": "parity.runners.ptx:PtxRunner",
    "cuda": "parity.runners.cuda:CudaRunner",
    "rocm": "parity.runners.rocm:RocmRunner",
    "hipblas": "parity.runners.hip_libraries:HipBlasRunner",
    "hipblaslt": "parity.runners.hip_libraries:HipBlasLtRunner",
    "recorded": "parity.runners.replay:ReplayRunner",
}


def runners() -> dict[str, str]:
    """Name and import path of every runner; nothing is imported. A plug-in cannot take a name of parity's own."""
    return {**{point.name: point.value for point in entry_points(group=GROUP)}, **BUILT_IN}


def plugin_conflicts() -> Iterator[tuple[str, str]]:
    """The names that more than one package wants, and what to do; nothing is imported."""
    for name, points in _plugins().items():
        if name in BUILT_IN:
            yield name, f"{_packages(points)}: the name {name!r} is parity's own; the package has to choose another"
        elif len(points) > 1:
            yield name, f"{_packages(points)} both offer a runner {name!r}; uninstall one of them"


def runner(name: str) -> Runner | OpRunner:
    """The runner of that name; ``name=WORD`` makes it with that word: a file, a device, as it says.

    Raises:
        UsageError: there is none.
        NotAvailable: more than one package offers it, it cannot be made, or it lacks what a runner has.
    """
    name, equals, word = name.partition("=")
    known = BUILT_IN if name in BUILT_IN else runners()  # to look for plug-ins reads all packages
    if name not in known:
        raise UsageError(f"unknown runner {name!r}; installed: {' '.join(known)}{nearest(name, known)}")
    plugins = [] if name in BUILT_IN else _plugins()[name]
    if len(plugins) > 1:
        raise NotAvailable(dict(plugin_conflicts())[name])
    module, _, attribute = known[name].partition(":")
    whose = f"the runner {name!r} of {_packages(plugins) or known[name]}"
    try:
        made = getattr(__import__(module, fromlist=[attribute]), attribute)(*[word] * bool(equals))
    except ParityError:
        raise
    except (Exception, SystemExit) as error:
        raise NotAvailable(f"{whose} cannot be loaded: {type(error).__name__}: {error}") from error
    if lacks := ", ".join(_lacks(made, name)):
        raise NotAvailable(f"{whose} is not a runner: {lacks}")
    found: Runner | OpRunner = made
    return found


def available(name: str) -> Runner | OpRunner:
    """The runner of that name, if it can work on this machine.

    Raises:
        UsageError: there is none of that name.
        NotAvailable: it cannot work here; the message says why and what to install.
    """
    found = runner(name)
    probe = probe_runner(found)
    if not probe.available:
        raise NotAvailable(
            f"the runner {name!r} cannot work here: {probe.reason}" + (f"; {probe.install}" if probe.install else "")
        )
    return found


def probe_runner(found: Runner | OpRunner) -> Probe:
    """The probe of a runner; if a defect keeps it from an answer, the defect is the reason why it cannot work here."""
    whose = f"{type(found).__module__}.{type(found).__qualname__}"
    try:
        probe = found.probe()
        targets = found.targets() if probe.available else ()
    except ParityError:
        raise
    except Exception as error:
        return Probe(False, f"asked whether it can, {whose} raised {type(error).__name__}: {error}")
    if isinstance(targets, str) or not all(isinstance(each, str) and each.split() == [each] for each in targets):
        return Probe(False, f"the targets of {whose} have to be a tuple of words, and are {targets!r}")
    return probe


def kernel_runner(name: str, what: str, find: Callable[[str], Runner | OpRunner] = available) -> Runner:
    """The runner of that name, as ``find`` gives it, for ``what`` only a runner of kernels can do.

    Raises:
        UsageError, NotAvailable: as ``available``, or it computes ops.
    """
    found = find(name)
    if not isinstance(found, Runner):
        raise UsageError(f"{what} is about kernels, and the runner {name!r} has none: it computes ops with a library")
    return found


def gpu_runner(what: str, find: Callable[[str], Runner | OpRunner] = available) -> Runner | None:
    """A runner of kernels on a GPU, as ``find`` gives it, for ``what`` needs one; None if none can work."""
    for name in runners():
        with suppress(ParityError):
            if runner(name).evidence == Evidence.HARDWARE:
                return kernel_runner(name, what, find)
    return None


def _plugins() -> dict[str, list[EntryPoint]]:
    """The entry points by name; the same one of the same package counts once."""
    found: dict[str, dict[tuple[str, str], EntryPoint]] = {}
    for point in entry_points(group=GROUP):
        found.setdefault(point.name, {})[_package(point), point.value] = point
    return {name: list(points.values()) for name, points in found.items()}


def _package(point: EntryPoint) -> str:
    return point.dist.name if point.dist else point.module


def _packages(points: list[EntryPoint]) -> str:
    return " and ".join(sorted(f"{_package(point)} ({point.value})" for point in points))


def _lacks(made: object, name: str) -> Iterator[str]:
    """The reasons why an object is no runner of that name."""
    has = {name for name in ("probe", "targets", "open", "compute") if callable(getattr(made, name, None))}
    methods = [name for name in ("probe", "targets") if name not in has]
    if not has & {"open", "compute"}:
        methods.append("open (for kernels) or compute (for ops)")
    if methods:
        yield f"it lacks the methods {', '.join(methods)}" if len(methods) > 1 else f"it lacks the method {methods[0]}"
    evidence = [Evidence.LIBRARY] if "compute" in has else [each for each in Evidence if each != Evidence.LIBRARY]
    for attribute, known in (("evidence", evidence), ("vendor", get_args(Vendor)), ("name", (name,))):
        value = getattr(made, attribute, None)
        if value not in known:
            yield f"its {attribute} has to be {' or '.join(map(repr, map(str, known)))}, and is {value!r}"
    replays = inspect.getattr_static(made, "recording", None) is not None  # asked for, it would be read from its file
    if replays != (getattr(made, "evidence", None) == Evidence.RECORDED):
        it = "has a recording, so its evidence has to be" if replays else "has no recording, so its evidence cannot be"
        yield f"it {it} {str(Evidence.RECORDED)!r}"
