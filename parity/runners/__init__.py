"""Runners execute launches, or compute ops. A third party adds one through the entry-point group ``parity.runners``."""

from parity.errors import Unsupported
from parity.model.launch import Computation
from parity.reference.expected import Vendor
from parity.runners.base import Evidence, OpRunner, OpSession, Probe, Runner, Session
from parity.runners.capabilities import (
    SupportsCounting,
    SupportsCoverage,
    SupportsDefaultTargets,
    SupportsDescription,
    SupportsDeviceNumbers,
    SupportsExplanation,
    SupportsNearest,
    SupportsReordering,
    SupportsReplay,
    SupportsSampling,
    SupportsShadows,
    SupportsTiming,
    SupportsWorkerLimit,
    default_targets,
    device_description,
    replayed_recording,
)
from parity.runners.registry import (
    available,
    gpu_runner,
    kernel_runner,
    plugin_conflicts,
    probe_runner,
    runner,
    runners,
    shadow_session,
)

__all__ = [
    "Computation", "Evidence", "OpRunner", "OpSession", "Probe", "Runner", "Session", "SupportsCounting",
    "SupportsCoverage", "SupportsDefaultTargets", "SupportsDescription", "SupportsDeviceNumbers",
    "SupportsExplanation", "SupportsNearest", "SupportsReordering", "SupportsReplay", "SupportsSampling",
    "SupportsShadows", "SupportsTiming", "SupportsWorkerLimit", "Unsupported", "Vendor", "available",
    "default_targets", "device_description", "gpu_runner", "kernel_runner", "plugin_conflicts", "probe_runner",
    "replayed_recording", "runner", "runners", "shadow_session",
]  # fmt: skip
