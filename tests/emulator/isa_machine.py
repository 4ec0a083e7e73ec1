"""The state of the interpreter of whole kernels: memory, programs and wavefronts (``isa_kernels``)."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np
from isa_harness import Machine

from parity.emulator.amdgpu.data_sections import CODE, data_image
from parity.emulator.amdgpu.isa import IGNORED
from parity.emulator.amdgpu.isa_names import canonical
from parity.emulator.amdgpu.listing import kernel_code
from parity.emulator.instruction import Instruction
from parity.model.code_object import CodeObject

__all__ = ["APART", "BUFFERS", "IMAGE", "KERNARG", "REGISTERS", "Astray", "CannotRun", "Memory", "Program", "Wave"]

BUFFERS, KERNARG, IMAGE = 0x10_0000_0000, 0x20_0000_0000, 0x30_0000_0000
"""Addresses of the first buffer, the arguments, and the data of the code object."""
APART = 1 << 28
"""The distance between buffers."""
REGISTERS = re.compile(r"([sv])(?:(\d+)|\[(\d+):(\d+)\])(?:\.([lh]))?$")
_FILL = 0xBAADF00D
_TAKEN: dict[str, Callable[[Wave], bool]] = {
    "s_branch": lambda w: True,
    "s_cbranch_execz": lambda w: w.exec == 0,
    "s_cbranch_execnz": lambda w: w.exec != 0,
    "s_cbranch_vccz": lambda w: w.vcc == 0,
    "s_cbranch_vccnz": lambda w: w.vcc != 0,
    "s_cbranch_scc0": lambda w: not w.scc,
    "s_cbranch_scc1": lambda w: bool(w.scc),
}


class Astray(Exception):
    """Raised for an access outside the memory."""


class CannotRun(Exception):
    """Raised if the kernel needs something unknown or takes too long; the message states the reason."""


class Memory:
    """Device memory: areas by their first address."""

    def __init__(self, pieces: Mapping[str, tuple[int, bytes]]) -> None:
        self.start: dict[str, int] = {}
        self.content: dict[int, bytearray] = {}
        for name, (at, content) in pieces.items():
            self.add(name, at, content)

    def add(self, name: str, at: int, content: bytes) -> None:
        self.start[name] = at
        self.content[at] = bytearray(content)

    def _place(self, at: int, size: int) -> tuple[bytearray, int]:
        start = at // APART * APART
        if start not in self.content or at - start + size > len(self.content[start]):
            raise Astray(f"an access of {size} bytes at {at:#x}, where no memory is")
        return self.content[start], at - start

    def read(self, at: int, size: int) -> int:
        content, offset = self._place(at, size)
        return int.from_bytes(content[offset : offset + size], "little")

    def write(self, at: int, size: int, bits: int) -> None:
        content, offset = self._place(at, size)
        content[offset : offset + size] = (bits & (1 << 8 * size) - 1).to_bytes(size, "little")


class Program:
    """A kernel whose instructions are prepared on first use."""

    def __init__(
        self,
        machine: Machine,
        code: CodeObject,
        kernel: str,
        prepare: Callable[[Program, Instruction], Callable[[Wave], None]],
    ) -> None:
        self.machine, self.prepare = machine, prepare
        self.function = kernel_code(code.listing, kernel)
        self.items = self.function.items
        self.labels = {item: i for i, item in enumerate(self.items) if isinstance(item, str)}
        self.places = data_image(code.listing).places
        self.steps: dict[int, Callable[[Wave], None]] = {}

    def step(self, at: int, item: Instruction) -> Callable[[Wave], None]:
        if at not in self.steps:
            self.steps[at] = self.prepare(self, item)
        return self.steps[at]

    def symbol(self, name: str) -> int:
        if name not in self.places:
            raise CannotRun(f"symbol {name}")
        return self.places[name] if self.places[name] >= CODE else IMAGE + self.places[name]


class Wave:
    """A wavefront: its registers and its control flow."""

    def __init__(
        self,
        program: Program,
        memory: Memory,
        group: Any,
        block: Any,
        first: int,
        lds: bytearray,
        scratch: int,
        left: list[int],
    ) -> None:
        self.program, self.memory, self.lds, self.left = program, memory, lds, left
        self.lanes = program.machine.lanes
        self.s = dict.fromkeys(range(128), _FILL)
        self.v = [[_FILL] * self.lanes for _ in range(256)]
        self.scratch = [bytearray(scratch) for _ in range(self.lanes)]
        threads = int(np.prod(block))
        self.exec = (1 << min(self.lanes, threads - first)) - 1
        self.vcc, self.vcc_hi, self.scc, self.m0 = 0, 0, 0, 0
        descriptor, at = program.function.descriptor, 0
        for key, count in (
            ("private_segment_buffer", 4),
            ("dispatch_ptr", 2),
            ("queue_ptr", 2),
            ("kernarg_segment_ptr", 2),
        ):
            if descriptor.get(f"user_sgpr_{key}"):
                if key == "kernarg_segment_ptr":
                    self.put(f"s[{at}:{at + 1}]", 64, KERNARG)
                at += count
        at = descriptor.get("user_sgpr_count", at)
        for axis, number in zip("xyz", group, strict=True):
            if descriptor.get(f"system_sgpr_workgroup_id_{axis}"):
                self.s[at], at = int(number), at + 1
        for lane in range(self.lanes):
            thread = first + lane
            ids = thread % block[0], thread // block[0] % block[1], thread // block[0] // block[1]
            self.v[0][lane] = ids[0] | ids[1] << 10 | ids[2] << 20

    def run(self) -> Iterator[None]:
        """Run up to the end, with a stop at each barrier."""
        items, at = self.program.items, 0
        while True:
            item = items[at]
            at += 1
            if isinstance(item, str):
                continue
            name = canonical(item.mnemonic)
            if name in IGNORED or name == "s_sendmsg":
                continue
            if name == "s_endpgm":
                return
            if name == "s_barrier":
                yield
            elif name in _TAKEN:
                if _TAKEN[name](self):
                    at = self.program.labels[item.operands[0]]
            else:
                self.left[0] -= self.exec.bit_count() if name[0] == "v" else 1
                if self.left[0] < 0:
                    raise CannotRun("too long")
                self.program.step(at - 1, item)(self)

    # --- registers ---

    def get(self, text: str, bits: int) -> int:
        """Return a scalar register or a pair."""
        if text in ("vcc", "vcc_lo"):
            return self.vcc
        if text in ("exec", "exec_lo"):
            return self.exec
        if text == "vcc_hi":  # with 32 lanes, an ordinary register
            return self.vcc_hi if self.lanes == 32 else self.vcc >> 32
        if text in ("exec_hi", "null"):
            return self.exec >> 32 if text == "exec_hi" else 0
        if text == "m0":
            return self.m0
        if text in ("scc", "src_scc"):
            return self.scc
        match = REGISTERS.match(text)
        if not match or match[1] != "s":
            raise CannotRun(f"operand {text}")
        first = int(match[2] or match[3])
        return self.s[first] | (self.s[first + 1] << 32 if bits == 64 else 0)

    def put(self, text: str, bits: int, value: int) -> None:
        value &= (1 << bits) - 1
        if text in ("vcc", "vcc_lo"):
            self.vcc = value & (1 << self.lanes) - 1
        elif text in ("exec", "exec_lo"):
            self.exec = value & (1 << self.lanes) - 1
        elif text == "m0":
            self.m0 = value
        elif text == "vcc_hi" and self.lanes == 32:
            self.vcc_hi = value
        elif text != "null":
            match = REGISTERS.match(text)
            if not match or match[1] != "s":
                raise CannotRun(f"operand {text}")
            for i in range(bits // 32):
                self.s[int(match[2] or match[3]) + i] = value >> 32 * i & 0xFFFFFFFF

    def vector(self, first: int, count: int, lane: int) -> int:
        return sum(self.v[first + i][lane] << 32 * i for i in range(count))

    def put_vector(self, first: int, count: int, lane: int, value: int) -> None:
        for i in range(count):
            self.v[first + i][lane] = value >> 32 * i & 0xFFFFFFFF

    def active(self) -> Iterator[int]:
        return (i for i in range(self.lanes) if self.exec >> i & 1)
