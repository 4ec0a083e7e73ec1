"""Runners execute launches, or compute ops. A third party adds one through the entry-point group ``parity.runners``."""

from parity.errors import Unsupported
from parity.model.launch import Computation
from parity.runners.base import Evidence, Library, OpRunner, Probe, Runner, Session, Vendor
from parity.runners.capabilities import (
    Choosing,
    Counting,
    Covering,
    Describing,
    Drawing,
    Explaining,
    Numbered,
    Replaying,
    Shadowing,
    Shared,
    Timed,
    described,
    replayed,
    usual_targets,
)
from parity.runners.registry import available, gpu_runner, kernel_runner, probed, problems, runner, runners
from parity.runners.shadows import shadowing

__all__ = [
    "Choosing",
    "Computation",
    "Counting",
    "Covering",
    "Describing",
    "Drawing",
    "Evidence",
    "Explaining",
    "Library",
    "Numbered",
    "OpRunner",
    "Probe",
    "Replaying",
    "Runner",
    "Session",
    "Shadowing",
    "Shared",
    "Timed",
    "Unsupported",
    "Vendor",
    "available",
    "described",
    "gpu_runner",
    "kernel_runner",
    "probed",
    "problems",
    "replayed",
    "runner",
    "runners",
    "shadowing",
    "usual_targets",
]
