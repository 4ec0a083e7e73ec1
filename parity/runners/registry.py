"""The runners that are installed, by name."""

from __future__ import annotations

from importlib.metadata import entry_points

from parity.errors import NotAvailable, ParityError, UsageError, nearest
from parity.runners.base import Runner

__all__ = ["available", "runner", "runners"]

GROUP = "parity.runners"
BUILT_IN = {
    "emulated": "parity.runners.emulated:Emulated",
    "cuda": "parity.runners.cuda:Cuda",
    "recorded": "parity.runners.recorded:Recorded",
}


def runners() -> dict[str, str]:
    """Name and import path of every runner; nothing is imported."""
    found = {point.name: point.value for point in entry_points(group=GROUP)}
    return {**BUILT_IN, **found}


def runner(name: str) -> Runner:
    """The runner of that name; ``name=FILE`` makes it with that file.

    Raises:
        UsageError: there is none, or it cannot be imported.
    """
    known = runners()
    name, equals, file = name.partition("=")
    if name not in known:
        raise UsageError(f"unknown runner {name!r}; installed: {' '.join(known)}{nearest(name, known)}")
    module, _, attribute = known[name].partition(":")
    try:
        made = getattr(__import__(module, fromlist=[attribute]), attribute)(*[file] * bool(equals))
    except ParityError:
        raise
    except Exception as error:
        raise UsageError(f"the runner {name!r} ({known[name]}) cannot be loaded: {error}") from error
    if not isinstance(made, Runner):
        raise UsageError(f"{known[name]} is not a runner: it needs name, evidence, vendor, probe, targets and open")
    return made


def available(name: str) -> Runner:
    """The runner of that name, if it can work on this machine.

    Raises:
        UsageError: there is none of that name.
        NotAvailable: it cannot work here; the message says why and what to install.
    """
    found = runner(name)
    probe = found.probe()
    if not probe.available:
        raise NotAvailable(
            f"the runner {name!r} cannot work here: {probe.reason}" + (f"; {probe.install}" if probe.install else "")
        )
    return found
