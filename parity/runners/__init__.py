"""Runners: what executes launches. A third party adds one through the entry-point group ``parity.runners``."""

from parity.runners.base import Evidence, Probe, Runner, Session, Vendor, described, replayed
from parity.runners.registry import available, runner, runners

__all__ = [
    "Evidence",
    "Probe",
    "Runner",
    "Session",
    "Vendor",
    "available",
    "described",
    "replayed",
    "runner",
    "runners",
]
