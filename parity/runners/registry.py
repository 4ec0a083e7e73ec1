"""Finds runners by name: built-in runners and the entry points of the group ``parity.runners``.

A defective plug-in makes only its own runner unavailable, with a message that names the package.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterator
from contextlib import suppress
from importlib.metadata import EntryPoint, entry_points
from typing import get_args

from parity.compilers.targets import gpu_of
from parity.errors import NotAvailable, ParityError, UsageError, nearest
from parity.reference.expected import Vendor
from parity.runners.base import Evidence, OpRunner, Probe, Runner
from parity.runners.capabilities import SupportsShadows

GROUP = "parity.runners"
BUILT_IN = {
    "emulated": "parity.runners.emulated:EmulatedRunner",
    "ptx": "parity.runners.ptx:PtxRunner",
    "cuda": "parity.runners.cuda:CudaRunner",
    "rocm": "parity.runners.rocm:RocmRunner",
    "hipblas": "parity.runners.hip_libraries:HipBlasRunner",
    "hipblaslt": "parity.runners.hip_libraries:HipBlasLtRunner",
    "rocblas": "parity.runners.compiled_libraries:RocBlasRunner",
    "miopen": "parity.runners.compiled_libraries:MiopenRunner",
    "hipcub": "parity.runners.compiled_libraries:HipCubRunner",
    "rocthrust": "parity.runners.compiled_libraries:RocThrustRunner",
    "rocrand": "parity.runners.compiled_libraries:RocRandRunner",
    "recorded": "parity.runners.replay:ReplayRunner",
}


def runners() -> dict[str, str]:
    """Return the import path of every runner by name, without importing it. Built-in names take precedence."""
    return {**{point.name: point.value for point in entry_points(group=GROUP)}, **BUILT_IN}


def plugin_conflicts() -> Iterator[tuple[str, str]]:
    """Yield each name that several packages claim, with a remedy. Imports nothing."""
    for name, points in _plugins().items():
        if name in BUILT_IN:
            yield name, f"{_packages(points)}: the name {name!r} is built into parity; rename the plug-in's runner"
        elif len(points) > 1:
            yield name, f"{_packages(points)} both offer a runner {name!r}; uninstall one of them"


def runner(name: str) -> Runner | OpRunner:
    """Create the runner with a name. ``name=WORD`` passes the word, such as a file or a device, to the runner.

    Raises:
        UsageError: No such runner is installed.
        NotAvailable: Several packages offer it, it cannot be created, or it does not implement the protocol.
    """
    name, equals, word = name.partition("=")
    known = BUILT_IN if name in BUILT_IN else runners()  # finding plug-ins reads the metadata of all packages
    if name not in known:
        raise UsageError(f"unknown runner {name!r}; installed: {' '.join(known)}{nearest(name, known)}")
    plugins = [] if name in BUILT_IN else _plugins()[name]
    if len(plugins) > 1:
        raise NotAvailable(dict(plugin_conflicts())[name])
    module, _, attribute = known[name].partition(":")
    whose = f"the runner {name!r} of {_packages(plugins) or known[name]}"
    try:
        created = getattr(__import__(module, fromlist=[attribute]), attribute)(*[word] * bool(equals))
    except ParityError:
        raise
    except (Exception, SystemExit) as error:
        raise NotAvailable(f"{whose} cannot be loaded: {type(error).__name__}: {error}") from error
    if problems := ", ".join(_protocol_violations(created, name)):
        raise NotAvailable(f"{whose} is not a runner: {problems}")
    found: Runner | OpRunner = created
    return found


def available(name: str) -> Runner | OpRunner:
    """Create the runner with a name and check that it works on this machine.

    Raises:
        UsageError: No such runner is installed.
        NotAvailable: It does not work here; the message states why and what to install.
    """
    found = runner(name)
    probe = probe_runner(found)
    if not probe.available:
        why = "; ".join(filter(None, (probe.reason, probe.install)))
        raise NotAvailable(f"the runner {name!r} cannot work here: {why}")
    return found


def probe_runner(found: Runner | OpRunner) -> Probe:
    """Probe a runner. If its methods raise or return something invalid, report it as not available."""
    whose = f"{type(found).__module__}.{type(found).__qualname__}"
    try:
        probe = found.probe()
        targets = found.targets() if probe.available else ()
    except ParityError:
        raise
    except Exception as error:
        return Probe(False, f"{whose} raised {type(error).__name__} while it was probed: {error}")
    if isinstance(targets, str) or not all(isinstance(each, str) and each.split() == [each] for each in targets):
        return Probe(False, f"the targets of {whose} must be a tuple of words, not {targets!r}")
    return probe


def kernel_runner(name: str, what: str, find: Callable[[str], Runner | OpRunner] = available) -> Runner:
    """Get a runner through ``find`` for the purpose ``what``, which needs a runner of kernels.

    Raises:
        UsageError: No such runner is installed, or it computes ops instead of running kernels.
        NotAvailable: As for ``available``.
    """
    found = find(name)
    if not isinstance(found, Runner):
        raise UsageError(f"{what} needs a runner of kernels, but the runner {name!r} computes ops with a library")
    return found


def gpu_runner(what: str, find: Callable[[str], Runner | OpRunner] = available) -> Runner | None:
    """Get the first runner that works on a GPU, through ``find``, for the purpose ``what``; None if no such exists."""
    for name in runners():
        with suppress(ParityError):
            if runner(name).evidence == Evidence.HARDWARE:
                return kernel_runner(name, what, find)
    return None


def _plugins() -> dict[str, list[EntryPoint]]:
    """Return the entry points by name, without duplicates within a package."""
    found: dict[str, dict[tuple[str, str], EntryPoint]] = {}
    for point in entry_points(group=GROUP):
        found.setdefault(point.name, {})[_package(point), point.value] = point
    return {name: list(points.values()) for name, points in found.items()}


def _package(point: EntryPoint) -> str:
    return point.dist.name if point.dist else point.module


def _packages(points: list[EntryPoint]) -> str:
    return " and ".join(sorted(f"{_package(point)} ({point.value})" for point in points))


def _protocol_violations(created: object, name: str) -> Iterator[str]:
    """Yield the reasons why an object is not a runner with this name."""
    has = {name for name in ("probe", "targets", "open", "compute") if callable(getattr(created, name, None))}
    methods = [name for name in ("probe", "targets") if name not in has]
    if not has & {"open", "compute"}:
        methods.append("open (for kernels) or compute (for ops)")
    if methods:
        yield f"it lacks the method{'s' * (len(methods) > 1)} {', '.join(methods)}"
    evidence = [Evidence.LIBRARY] if "compute" in has else [each for each in Evidence if each != Evidence.LIBRARY]
    for attribute, known in (("evidence", evidence), ("vendor", get_args(Vendor)), ("name", (name,))):
        value = getattr(created, attribute, None)
        if value not in known:
            yield f"its {attribute} must be {' or '.join(map(repr, map(str, known)))}, not {value!r}"
    replays = inspect.getattr_static(created, "recording", None) is not None  # a real access would read the file
    if replays != (getattr(created, "evidence", None) == Evidence.RECORDED):
        verb = "has a recording, so its evidence must be" if replays else "has no recording, so its evidence cannot be"
        yield f"it {verb} {str(Evidence.RECORDED)!r}"


@functools.cache
def shadow_session(target: str) -> SupportsShadows | None:
    """Open a session that executes shadow runs for a target; None if no installed runner provides one."""
    for name in runners():
        try:
            found = runner(name)
        except ParityError:  # parity doctor reports defective plug-ins
            continue
        if (
            not isinstance(found, Runner)
            or found.evidence != Evidence.EMULATED
            or gpu_of(target) not in found.targets()
        ):
            continue
        if probe_runner(found).available:
            session = found.open(gpu_of(target), checked=False)
            if isinstance(session, SupportsShadows):
                return session
    return None
