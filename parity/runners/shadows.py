"""Finds an emulator that can repeat launches of a target with other roundings, for any device of that target."""

from __future__ import annotations

import functools

from parity.errors import ParityError
from parity.runners.base import Evidence, Runner
from parity.runners.capabilities import SupportsShadows
from parity.runners.registry import probe_runner, runner, runners


@functools.cache
def shadow_session(target: str) -> SupportsShadows | None:
    """Open a session that executes shadow runs for a target; None if no installed runner provides one."""
    for name in runners():
        try:
            found = runner(name)
        except ParityError:  # parity doctor reports defective plug-ins
            continue
        if not isinstance(found, Runner) or found.evidence != Evidence.EMULATED or target not in found.targets():
            continue
        if probe_runner(found).available:
            session = found.open(target, checked=False)
            if isinstance(session, SupportsShadows):
                return session
    return None
