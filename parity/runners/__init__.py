"""Runners: what executes launches, or computes ops. A third party adds one through the entry-point group
``parity.runners``.
"""

from parity.errors import Unsupported
from parity.launch import Computation
from parity.runners.base import (
    Evidence,
    Library,
    OpRunner,
    Probe,
    Runner,
    Session,
    Vendor,
    described,
    replayed,
)
from parity.runners.registry import available, kernel_runner, probed, problems, runner, runners

__all__ = [
    "Computation",
    "Evidence",
    "Library",
    "OpRunner",
    "Probe",
    "Runner",
    "Session",
    "Unsupported",
    "Vendor",
    "available",
    "described",
    "kernel_runner",
    "probed",
    "problems",
    "replayed",
    "runner",
    "runners",
]
