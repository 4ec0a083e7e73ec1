"""The emulator that shows what roundings matter to code of a target, whatever device that code runs on."""

from __future__ import annotations

import functools

from parity.errors import ParityError
from parity.runners.base import Evidence, Runner
from parity.runners.capabilities import SupportsShadows
from parity.runners.registry import probe_runner, runner, runners

__all__ = ["shadow_session"]


@functools.cache
def shadow_session(target: str) -> SupportsShadows | None:
    """A session that executes code of a target with other roundings; None if no runner that is installed has one."""
    for name in runners():
        try:
            found = runner(name)
        except ParityError:  # a plug-in that cannot be used is said elsewhere
            continue
        if not isinstance(found, Runner) or found.evidence != Evidence.EMULATED or target not in found.targets():
            continue
        if probe_runner(found).available:
            session = found.open(target, checked=False)
            if isinstance(session, SupportsShadows):
                return session
    return None
