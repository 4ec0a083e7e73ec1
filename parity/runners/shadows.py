"""The emulator that shows what roundings matter to code of a target, whatever device that code runs on."""

from __future__ import annotations

import functools

from parity.errors import ParityError
from parity.runners.base import Evidence, Runner
from parity.runners.capabilities import Shadowing
from parity.runners.registry import probed, runner, runners

__all__ = ["shadowing"]


@functools.cache
def shadowing(target: str) -> Shadowing | None:
    """A session that executes code of a target with other roundings; None if no runner that is installed has one."""
    for name in runners():
        try:
            found = runner(name)
        except ParityError:  # a plug-in that cannot be used is said elsewhere
            continue
        if not isinstance(found, Runner) or found.evidence != Evidence.EMULATED or target not in found.targets():
            continue
        if probed(found).available:
            session = found.open(target, checked=False)
            if isinstance(session, Shadowing):
                return session
    return None
