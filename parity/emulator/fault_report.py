"""Turn the fault that the runtime reports in its context into an exception (``runtime/faults.h``)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from parity.compilers.targets import Target
from parity.emulator import faults
from parity.emulator.faults import SCRATCH, KernelFault, Thread, quoted, source_location
from parity.emulator.instruction import Instruction
from parity.emulator.language import Dim3, Language
from parity.emulator.memory import Allocation, DeviceMemory
from parity.emulator.printing import ASSERTION, messages
from parity.emulator.runtime_headers import constants
from parity.emulator.variables import VariableMemory
from parity.model.code_object import CodeObject

_FAULTS = constants("faults.h")
_SERVICES = {1: "calls of functions of the host", 3: "a heap that the device library manages"}
"""Requests to the host that the emulator does not handle (ROCm device libraries, ockl: services.cl)."""


@dataclass(frozen=True)
class FaultSite:
    """A launch that ended with a fault, and the memory of its device.

    Attributes:
        context: the ``Context`` that holds the fault.
        block: the size of a block.
        log: the records that the launch printed.
    """

    context: Any
    code: CodeObject
    kernel: str
    target: Target
    block: Dim3
    budget: int
    log: np.ndarray[Any, np.dtype[np.uint64]]
    language: Language
    memory: DeviceMemory
    variables: VariableMemory

    @property
    def instruction(self) -> Instruction:
        """The instruction that raised the fault."""
        return self.numbered(self.context.instruction)

    @property
    def workgroup(self) -> Dim3:
        """The coordinates of the workgroup."""
        x, y, z = self.context.group
        return x, y, z

    @property
    def lane(self) -> int | None:
        """The lane in its wavefront; ``None`` for a scalar access."""
        lane: int = self.context.lane
        return None if lane == _FAULTS["NO_LANE"] else lane

    @property
    def thread(self) -> Thread:
        """The thread, if ``Context.lane`` is its number in the workgroup."""
        x, rest = self.context.lane % self.block[0], self.context.lane // self.block[0]
        return Thread(self.workgroup, (x, rest % self.block[1], rest // self.block[1]))

    @property
    def others(self) -> int:
        """The number of further threads in the mask that ``Context.address`` holds."""
        return int(self.context.address).bit_count() - 1

    def numbered(self, number: int) -> Instruction:
        """Return the instruction of this number."""
        return self.language.instruction(self.code.listing, self.kernel, number)

    def nearest(self) -> Allocation | None:
        """Return the memory that the access was meant for: scratch memory of the lane, or the nearest allocation."""
        c = self.context
        if self.lane is not None and c.scratch_stride:
            own = self._scratch(c.wave * self.target.wavefront + self.lane, self.lane)
            if private := self.language.private_memory(self.instruction, own, c):
                return private
        if c.address >= c.lds:
            return Allocation(faults.LDS, c.lds, c.lds_bytes)
        if variable := self.variables.nearest(c.address, c.variables):
            return variable
        if c.scratch_stride and c.scratch <= c.address < c.variables:
            lane = (c.address - c.scratch) // c.scratch_stride
            return self._scratch(lane, lane)
        return self.memory.nearest(c.address)

    def _scratch(self, number: int, lane: int) -> Allocation:
        c = self.context
        return Allocation(f"{SCRATCH}lane {lane}", c.scratch + number * c.scratch_stride, c.scratch_bytes)


def fault_error(fault: int, site: FaultSite) -> KernelFault:
    """Return the exception for a fault."""
    return _ERRORS[fault](site)


def _of(error: type[KernelFault], *names: str, **facts: Any) -> Callable[[FaultSite], KernelFault]:
    """Return a function that creates an error with attributes of the site, and with further facts."""
    return lambda s: error(s.kernel, s.instruction, **{name: getattr(s, name) for name in names}, **facts)


def _divergent_barrier(site: FaultSite) -> KernelFault:
    lane = site.context.lane
    first = lane - _FAULTS["WHOLE_WAVEFRONT"]
    who = f"the wavefront of threads {first} and up" if first >= 0 else f"lane {lane} of a wavefront"
    return faults.DivergentBarrier(site.kernel, site.instruction, who=who, workgroup=site.workgroup)


def _request(site: FaultSite) -> KernelFault:
    service = site.context.other
    feature = _SERVICES.get(service, f"the host's service {service}")
    return faults.UnsupportedFeature(site.kernel, feature, site.instruction)


def _trap(site: FaultSite) -> KernelFault:
    instruction = site.instruction
    for message in messages(site.log):
        printed_by_thread = (message.group, message.thread) == (site.workgroup, site.context.lane)
        if printed_by_thread and (failed := ASSERTION.fullmatch(message.text)):
            own, _, _ = (instruction.source or "").rpartition(":")  # the file's name in the project
            file = own if own and failed["file"].endswith(f"/{own}") else failed["file"]
            facts = {"file": file, "at": int(failed["at"]), "thread": site.thread, "others": site.others}
            return faults.FailedAssertion(site.kernel, None, **failed.groupdict() | facts)
    return faults.Trapped(site.kernel, instruction, thread=site.thread, others=site.others)


def _race(error: type[faults.DataRace]) -> Callable[[FaultSite], KernelFault]:
    def race(site: FaultSite) -> KernelFault:
        c, near = site.context, site.nearest()
        memory = f"byte {c.address - near.address} of {quoted(near.name)}" if near else f"address {c.address:#x}"
        first = site.numbered(c.other)
        other = f"{first.text} at {source_location(first)}"
        return error(
            site.kernel, site.instruction, other=other, lane=site.lane, workgroup=site.workgroup, memory=memory
        )

    return race


def _access(error: type[faults.MemoryFault], kind: str) -> Callable[[FaultSite], KernelFault]:
    def access(site: FaultSite) -> KernelFault:
        c, instruction = site.context, site.instruction
        if feature := site.language.unsupported_feature(c.address):
            return faults.UnsupportedFeature(site.kernel, feature, instruction)
        near = site.nearest()
        private = near is not None and near.name.startswith(SCRATCH)
        found = error(
            site.kernel, instruction, kind=kind, lane=site.lane, workgroup=site.workgroup,
            address=c.address, size=c.bytes, buffer=near and near.name, buffer_size=near.size if near else 0,
            offset=c.address - near.address if near else 0,
            array=site.language.private_array(site.code.listing, site.kernel, instruction) if private else None,
        )  # fmt: skip
        if c.writer:
            found.add_writer(site.numbered(c.writer - 1), c.writing_lane, (c.wave, c.writing_wave))
        return found

    return access


_ABSENT = "threads wait for others of their warp that the mask names and that do not arrive"
_ERRORS: dict[int, Callable[[FaultSite], KernelFault]] = {
    _FAULTS["READ_OUTSIDE"]: _access(faults.MemoryFault, "out-of-bounds read"),
    _FAULTS["WRITE_OUTSIDE"]: _access(faults.MemoryFault, "out-of-bounds write"),
    _FAULTS["READ_UNWRITTEN"]: _access(faults.MemoryFault, "never-written read"),
    _FAULTS["MISALIGNED"]: _access(faults.MisalignedAccess, "misaligned access"),
    _FAULTS["TIMEOUT"]: _of(faults.InstructionBudgetExceeded, "budget", "workgroup"),
    _FAULTS["RACE"]: _race(faults.DataRace),
    _FAULTS["WARP_RACE"]: _race(faults.WarpRace),
    _FAULTS["DIVERGENT_BARRIER"]: _divergent_barrier,
    _FAULTS["BAD_CALL"]: _of(faults.BadCall, "workgroup"),
    _FAULTS["TRAP"]: _trap,
    _FAULTS["NOT_ALLOCATED"]: lambda s: faults.NotAllocated(s.kernel, s.instruction, address=s.context.address),
    _FAULTS["NOT_TEXTURE"]: lambda s: faults.NotTexture(s.kernel, s.instruction),
    _FAULTS["STUCK"]: _of(faults.NoProgress, "thread", "others"),
    _FAULTS["REQUEST"]: _request,
    _FAULTS["SWIZZLED"]: lambda s: faults.UnsupportedFeature(s.kernel, "swizzled buffers", s.instruction),
    _FAULTS["FORMAT"]: lambda s: faults.UnsupportedFeature(s.kernel, "packed or reserved formats", s.instruction),
    _FAULTS["ABSENT"]: _of(faults.WarpMask, "thread", what=_ABSENT),
    _FAULTS["UNNAMED"]: _of(faults.WarpMask, "thread", what="a thread executes it that the mask does not name"),
}
