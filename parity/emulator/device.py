"""An emulated GPU: memory, and launches of the kernels of a code object."""

from __future__ import annotations

import ctypes
import mmap
import struct
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from parity.cache import Cache, default_root
from parity.codeobject import CodeObject, Kernel, first_difference, mangled
from parity.emulator.build import Executable, Programs
from parity.emulator.classes import class_of, totals
from parity.emulator.codegen import COUNTERS, blocks_of, registers_of
from parity.emulator.faults import BadCall, DataRace, DivergentBarrier, InstructionBudgetExceeded, MemoryFault, quoted
from parity.emulator.image import image_of
from parity.emulator.memory import BASE, NO_RESERVE, Allocation, Arena, Bytes
from parity.emulator.parse import Instruction, bodies_of, function_of
from parity.errors import ParityError, UsageError, nearest
from parity.toolchain.targets import Target, target

__all__ = ["Device", "LaunchStats", "pack", "together"]

_NONE, _READ_OUTSIDE, _WRITE_OUTSIDE, _READ_UNWRITTEN, _TIMEOUT, _RACE, _DIVERGENT, _BAD_CALL = range(8)
_KINDS = {
    _READ_OUTSIDE: "out-of-bounds read",
    _WRITE_OUTSIDE: "out-of-bounds write",
    _READ_UNWRITTEN: "never-written read",
}
_DISPATCH_AT, _KERNARG_AT = 256, 1024
_SCALAR = 0xFFFFFFFF
_WHOLE_WAVE = 1 << 31
# As in workgroups.cpp and wavefronts.h: wavefronts of a workgroup, the stack of one, the trace of a byte. LDS is that
# of the largest device.
_WAVES, _STACK = 32, 1 << 20
_LDS = 1 << 18
_TRACED, _TRACE_BYTES = 1 << 24, 24
_ORDINALS = 1 << 31

Triple = tuple[int, int, int]


class _Context(ctypes.Structure):
    """``struct Context`` of runtime/memory.h."""

    _fields_ = (
        ("data", ctypes.c_uint64),
        ("state", ctypes.c_uint64),
        ("base", ctypes.c_uint64),
        ("size", ctypes.c_uint64),
        ("dispatch", ctypes.c_uint64),
        ("kernarg", ctypes.c_uint64),
        ("image", ctypes.c_uint64),
        ("lds", ctypes.c_uint64),
        ("scratch", ctypes.c_uint64),
        ("lds_bytes", ctypes.c_uint32),
        ("scratch_bytes", ctypes.c_uint32),
        ("scratch_stride", ctypes.c_uint32),
        ("budget", ctypes.c_int64),
        ("checked", ctypes.c_uint32),
        ("fault", ctypes.c_uint32),
        ("instruction", ctypes.c_uint32),
        ("lane", ctypes.c_uint32),
        ("bytes", ctypes.c_uint32),
        ("group", ctypes.c_uint32 * 3),
        ("address", ctypes.c_uint64),
        ("fill", ctypes.c_uint32),
        ("odd", ctypes.c_uint32),
        ("seed", ctypes.c_uint32),
        ("other", ctypes.c_uint32),
        ("crossed", ctypes.c_uint32),
        ("stacks", ctypes.c_uint64),
        ("trace", ctypes.c_uint64),
        ("lds_trace", ctypes.c_uint64),
        ("trace_bytes", ctypes.c_uint64),
        ("ordinal", ctypes.c_uint32),
        ("running", ctypes.c_uint64),
        ("program", ctypes.c_void_p),
    )


@dataclass(frozen=True)
class LaunchStats:
    """What a launch did.

    ``instructions`` is the number that all wavefronts executed, waits and hints not counted. ``crossing`` is the first
    instruction that exchanged values between lanes 0-31 and 32-63 of a wavefront of 64, as text, if one did.
    ``classes`` are the instructions by class, see ``class_of``, on a device that counts.
    """

    instructions: int
    crossing: str | None = None
    classes: Mapping[str, int] | None = None


def together(stats: Sequence[LaunchStats]) -> LaunchStats:
    """What several launches did."""
    classes: Counter[str] = Counter()
    for each in stats:
        classes.update(each.classes or {})
    crossing = next((each.crossing for each in stats if each.crossing), None)
    return LaunchStats(sum(each.instructions for each in stats), crossing, classes or None)


@dataclass(frozen=True)
class _Loaded:
    kernel: Kernel
    target: Target
    launch: Any
    executable: Executable
    image: int
    barriers: bool
    blocks: Mapping[int, Sequence[Instruction]]
    counters: Any


class Device:
    """An emulated GPU with its own memory.

    ``checked``: every access is checked byte by byte. Unchecked is for benchmarks: only the bounds of the whole arena
    are, and ``written`` is of no use. ``traced``: who accessed each byte is kept as well, and data races and divergent
    barriers are found (in the first 16 MiB of memory, and in LDS). That costs a few nanoseconds per access and lane, so
    a traced device runs code that is quicker to compile instead of code that is quicker to run.
    ``counted``: launches say how many instructions of each class they executed, with code of a kind of its own.
    ``instruction_budget`` is per launch.
    """

    def __init__(
        self,
        *,
        checked: bool = True,
        traced: bool = False,
        counted: bool = False,
        instruction_budget: int = 2_000_000_000,
        cache: Cache | None = None,
        capacity: int = 1 << 30,
    ) -> None:
        self.instruction_budget = instruction_budget
        self._cache = cache or Cache(default_root())
        self._counted = counted
        self._programs = Programs(self._cache, "counted" if counted else "threaded" if traced else "compiled")
        self._arena = Arena(capacity)
        self._loaded: dict[tuple[str, str], _Loaded] = {}
        arena = self._arena
        self._images: dict[str, int] = {}
        self._stacks = _pages(_WAVES * _STACK)
        self._scratch, self._scratch_bytes = 0, 0
        lds = arena.reserve(_LDS, red_zone=0)  # nothing follows: an offset beyond LDS leads out of memory
        self._context = context = _Context(
            arena.data.ctypes.data, arena.state.ctypes.data, BASE, capacity, checked=checked or traced,
            lds=lds, stacks=self._stacks.ctypes.data,
        )  # fmt: skip
        if traced:
            limit = min(_TRACED, capacity)
            self._traces = _pages((limit + _LDS) * _TRACE_BYTES)
            context.trace, context.trace_bytes = self._traces.ctypes.data, limit
            context.lds_trace = context.trace + limit * _TRACE_BYTES

    def prepare(self, code: CodeObject, kernels: Iterable[str] | None = None, *, workers: int | None = None) -> None:
        """Translate and compile kernels (default: all of the code object) at once, in parallel batches.

        Raises:
            UnknownInstruction: a kernel has an instruction that the emulator does not know.
        """
        names = list(code.kernels if kernels is None else kernels)
        self._programs.prepare(code.listing, target(code.target), names, workers=workers)

    def allocate(self, nbytes: int, name: str = "buffer") -> Allocation:
        """Memory of which no byte was written yet."""
        return self._arena.allocate(nbytes, name)

    def write(self, allocation: Allocation, array: np.ndarray[Any, Any], defined: Any = None, offset: int = 0) -> None:
        """Copy an array's bytes to byte ``offset``; ``defined`` (bool per byte) says which of them count as written.

        Raises:
            UsageError: the bytes do not fit, or the allocation was freed.
        """
        raw = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
        at = self._part(allocation, offset, raw.size)
        self._arena.data[at] = raw
        self._arena.state[at] = 3 if defined is None else np.where(np.asarray(defined, bool).reshape(-1), 3, 1)

    def read(self, allocation: Allocation, offset: int = 0, size: int | None = None) -> Bytes:
        """The ``size`` bytes of an allocation from ``offset`` on (default: all that follow), as a copy.

        Raises:
            UsageError: it does not have them, or was freed.
        """
        return self._arena.data[self._part(allocation, offset, size)].copy()

    def written(
        self, allocation: Allocation, offset: int = 0, size: int | None = None
    ) -> np.ndarray[Any, np.dtype[np.bool_]]:
        """Which of these bytes were written, by the host or by a kernel; the arguments are those of ``read``."""
        return np.equal(self._arena.state[self._part(allocation, offset, size)], 3)

    def _part(self, allocation: Allocation, offset: int, size: int | None) -> slice:
        """Where bytes of an allocation are in the arena."""
        span = self._arena.span(allocation)
        size = allocation.size - offset if size is None else size
        if offset < 0 or size < 0 or offset + size > allocation.size:
            raise UsageError(
                f"buffer {allocation.name!r} of {allocation.size} bytes does not have {size} bytes at offset {offset}"
            )
        return slice(span.start + offset, span.start + offset + size)

    def free(self, allocation: Allocation) -> None:
        """Make memory inaccessible, to be used again by an allocation of the same size.

        Raises:
            UsageError: it was freed already.
        """
        self._arena.free(allocation)

    @staticmethod
    def registers(code: CodeObject, kernel: str) -> Mapping[str, Instruction]:
        """The registers of a kernel in the order in which ``launch`` numbers them, and where each is named first."""
        return registers_of(function_of(code.listing, kernel), target(code.target), image_of(code.listing).symbols)

    def write_symbol(self, code: CodeObject, kernel: str, name: str, data: np.ndarray[Any, Any]) -> None:
        """Fill a variable of a code object (``__constant__`` or ``__device__``) from its begin, as the host does.

        Raises:
            UsageError: the code object has no such variable, or one that is smaller.
        """
        loaded, places = self._load(code, kernel), image_of(code.listing).symbols
        symbol = next((each for each in mangled(name) if each in places), None)
        if symbol is None:
            known = f"; it has {' '.join(places)}" if places else "; no kernel of it uses a variable"
            raise UsageError(f"module {code.module!r} has no variable {name!r}{nearest(name, places) or known}")
        end = min((at for at in places.values() if at > places[symbol]), default=len(image_of(code.listing).content))
        if data.nbytes > end - places[symbol]:
            raise UsageError(f"{name} has {end - places[symbol]} bytes; its declared content has {data.nbytes}")
        self._arena.overwrite(loaded.image + places[symbol], np.ascontiguousarray(data).view(np.uint8))

    def reset(self) -> None:
        """Free all allocations."""
        self._arena.reset()

    def launch(
        self,
        code: CodeObject,
        kernel: str,
        *,
        grid: Triple,
        block: Triple,
        args: bytes,
        shared_bytes: int = 0,
        seed: int = 0,
        fill: int = 0xBAADF00D,
        odd: int | None = None,
    ) -> LaunchStats:
        """Execute a kernel. ``args`` is the kernarg segment up to the end of the explicit arguments, see ``pack``.

        ``shared_bytes`` is the dynamic LDS. ``seed`` permutes the order of workgroups and, between barriers, of their
        wavefronts (0: natural order). ``fill`` is what registers hold that nothing wrote; the one of
        that number in ``registers`` holds its complement if ``odd`` is given.

        Raises:
            MemoryFault: a wavefront accessed memory it must not; the device stays usable and readable.
            DataRace, DivergentBarrier: on a traced device.
            InstructionBudgetExceeded: more instructions than ``instruction_budget``.
            UnknownInstruction: the kernel has an instruction that the emulator does not know.
            UsageError: no such kernel, or a grid, block or argument list that does not fit it.
        """
        loaded = self._load(code, kernel)
        noun = loaded.kernel
        if min(grid) < 1 or min(block) < 1 or block[0] * block[1] * block[2] > noun.max_threads:
            raise UsageError(
                f"kernel {kernel!r} cannot be launched with grid {grid} and block {block}: every size is at "
                f"least 1, and a block has at most {noun.max_threads} threads"
            )
        lds = noun.lds_bytes + shared_bytes
        if shared_bytes < 0 or lds > loaded.target.lds_bytes:
            raise UsageError(
                f"kernel {kernel!r} needs {lds} bytes of LDS ({noun.lds_bytes} static, {shared_bytes} dynamic); a "
                f"workgroup on {loaded.target} can have {loaded.target.lds_bytes}"
            )
        expected = noun.explicit_bytes
        if len(args) != expected:
            raise UsageError(
                f"kernel {kernel!r} takes {expected} bytes of arguments, not {len(args)}; build them with pack()"
            )
        context = self._context
        context.kernarg = self._arena.place(_KERNARG_AT, _kernarg(noun, args, grid, block, shared_bytes))
        context.dispatch = self._arena.place(
            _DISPATCH_AT, _dispatch_packet(noun, grid, block, shared_bytes, context.kernarg)
        )
        context.budget = self.instruction_budget
        self._arena.clear(context.lds, context.lds_bytes)
        context.image, context.lds_bytes = loaded.image, lds
        context.seed, context.fill, context.odd = seed, fill, _SCALAR if odd is None else odd
        waves = -(-block[0] * block[1] * block[2] // loaded.target.wavefront)
        self._place_scratch(noun.scratch_bytes, waves * loaded.target.wavefront)
        if context.ordinal > _ORDINALS:
            self._forget()
        if self._counted:
            ctypes.memset(loaded.counters, 0, ctypes.sizeof(loaded.counters))
        program = loaded.executable.program
        context.program = ctypes.addressof(program) if program else None
        fault = loaded.launch(
            ctypes.byref(context), loaded.executable.address,
            (ctypes.c_uint32 * 3)(*grid), (ctypes.c_uint32 * 3)(*block), loaded.barriers,
        )  # fmt: skip
        if fault:
            raise self._fault(code, kernel, fault)
        crossing = self._instruction(code, kernel, context.crossed - 1).text if context.crossed else None
        return LaunchStats(
            self.instruction_budget - context.budget, crossing, _classes(loaded) if self._counted else None
        )

    def _place_scratch(self, size: int, lanes: int) -> None:
        """Scratch memory for the lanes of one workgroup, with a gap after each."""
        context = self._context
        context.scratch_bytes, context.scratch_stride = size, size + 64 if size else 0
        needed = context.scratch_stride * lanes
        if needed > self._scratch_bytes:
            self._scratch, self._scratch_bytes = self._arena.reserve(needed), needed
        elif size:
            self._arena.clear(self._scratch, self._scratch_bytes)
        context.scratch = self._scratch or context.lds

    def _forget(self) -> None:
        """The ordinals of wavefronts are used up: begin anew."""
        if self._context.trace:
            ctypes.memset(self._context.trace, 0, self._traces.size)
        self._context.ordinal = 0

    def _load(self, code: CodeObject, name: str) -> _Loaded:
        key = (code.digest, name)
        if key not in self._loaded:
            if name not in code.kernels:
                raise UsageError(f"module {code.module!r} has no kernel {name!r}{nearest(name, code.kernels)}")
            where = target(code.target)
            executable = self._programs.kernel(code.listing, where, name)
            library, symbol = executable.library, executable.symbol
            launch = library.launch
            launch.argtypes = (*(ctypes.c_void_p,) * 4, ctypes.c_uint32)
            launch.restype = ctypes.c_uint32
            if code.digest not in self._images:
                image = image_of(code.listing)
                self._images[code.digest] = self._arena.place_image(image.content, image.writable)
            barriers = any("s_barrier" in body.text for body in bodies_of(code.listing, name))
            blocks, counters = {}, None
            if self._counted:
                blocks = blocks_of(function_of(code.listing, name))
                counters = (ctypes.c_uint64 * (max(blocks) + 1)).in_dll(library, symbol + COUNTERS)
            self._loaded[key] = _Loaded(
                code.kernels[name], where, launch, executable, self._images[code.digest], barriers, blocks, counters
            )
        return self._loaded[key]

    @staticmethod
    def _instruction(code: CodeObject, kernel: str, number: int) -> Instruction:
        instructions = function_of(code.listing, kernel).instructions
        return instructions[min(number, len(instructions) - 1)]

    def _fault(self, code: CodeObject, kernel: str, fault: int) -> ParityError:
        c = self._context
        instruction = self._instruction(code, kernel, c.instruction)
        workgroup = (c.group[0], c.group[1], c.group[2])
        lane = None if c.lane == _SCALAR else c.lane
        if fault == _TIMEOUT:
            return InstructionBudgetExceeded(kernel, instruction, self.instruction_budget, workgroup)
        if fault == _DIVERGENT:
            first = c.lane - _WHOLE_WAVE
            who = (
                f"the wavefront of threads {first} and up" if c.lane >= _WHOLE_WAVE else f"lane {c.lane} of a wavefront"
            )
            return DivergentBarrier(kernel, instruction, who, workgroup)
        if fault == _BAD_CALL:
            return BadCall(kernel, instruction, workgroup)
        near = self._nearest(c.address)
        if fault == _RACE:
            memory = f"byte {c.address - near.address} of {quoted(near.name)}" if near else f"address {c.address:#x}"
            other = self._instruction(code, kernel, c.other)
            return DataRace(kernel, instruction, other, lane=lane, workgroup=workgroup, memory=memory)
        return MemoryFault(
            _KINDS[fault],
            kernel,
            instruction,
            lane=lane,
            workgroup=workgroup,
            address=c.address,
            size=c.bytes,
            buffer=near.name if near else None,
            offset=c.address - near.address if near else 0,
            buffer_size=near.size if near else 0,
        )

    def _nearest(self, address: int) -> Allocation | None:
        """The buffer, the LDS or the lane's scratch memory that an address is in or nearest to."""
        c = self._context
        if address >= c.lds:
            return Allocation("LDS", c.lds, c.lds_bytes)
        if c.scratch <= address:
            lane = (address - c.scratch) // c.scratch_stride
            return Allocation(f"scratch of lane {lane}", c.scratch + lane * c.scratch_stride, c.scratch_bytes)
        return self._arena.nearest(address)


def pack(kernel: Kernel, values: Sequence[Allocation | int | bytes | np.generic[Any] | None]) -> bytes:
    """The explicit arguments of a kernel as they lie in its kernarg segment.

    A pointer is an ``Allocation``, an address or ``None`` (null); a by-value argument a NumPy scalar, bytes or an int.

    Raises:
        UsageError: the first argument that differs from the kernel's metadata.
    """
    raws: list[bytes] = []
    given: list[tuple[int, bool | None]] = []
    for i, value in enumerate(values):
        if isinstance(value, Allocation):
            raws.append(struct.pack("<Q", value.address))
        elif value is None:
            raws.append(bytes(8))
        elif isinstance(value, int):
            size = kernel.args[i].size if i < len(kernel.args) else 8
            raws.append((value % (1 << 8 * size)).to_bytes(size, "little"))
        else:
            raws.append(value if isinstance(value, bytes) else value.tobytes())
        pointer = isinstance(value, Allocation) or value is None
        given.append((len(raws[-1]), None if isinstance(value, int) else pointer))
    if problem := first_difference(kernel, given):
        raise UsageError(problem)
    segment = bytearray(kernel.explicit_bytes)
    for argument, raw in zip(kernel.args, raws, strict=True):
        segment[argument.offset : argument.offset + argument.size] = raw
    return bytes(segment)


def _classes(loaded: _Loaded) -> Mapping[str, int]:
    return totals(
        (class_of(instruction.mnemonic), loaded.counters[start])
        for start, block in loaded.blocks.items()
        for instruction in block
    )


def _pages(size: int) -> Bytes:
    """Zeroed memory that takes room from the first touch on."""
    pages = mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | NO_RESERVE)
    return np.frombuffer(pages, np.uint8)


def _kernarg(kernel: Kernel, args: bytes, grid: Triple, block: Triple, shared_bytes: int) -> bytes:
    """The whole segment: explicit arguments, then the hidden ones at the places the metadata names."""
    known = {
        **{f"hidden_block_count_{a}": n for a, n in zip("xyz", grid, strict=True)},
        **{f"hidden_group_size_{a}": n for a, n in zip("xyz", block, strict=True)},
        "hidden_grid_dims": max((i + 1 for i in range(3) if grid[i] * block[i] > 1), default=1),
        "hidden_dynamic_lds_size": shared_bytes,
    }
    segment = bytearray(args.ljust(kernel.kernarg_bytes, b"\0"))
    for argument in kernel.hidden:
        if value := known.get(argument.kind, 0):
            segment[argument.offset : argument.offset + argument.size] = value.to_bytes(argument.size, "little")
    return bytes(segment)


def _dispatch_packet(kernel: Kernel, grid: Triple, block: Triple, shared_bytes: int, kernarg: int) -> bytes:
    """``hsa_kernel_dispatch_packet_t``: grid sizes are in work-items."""
    items = [g * b for g, b in zip(grid, block, strict=True)]
    lds = kernel.lds_bytes + shared_bytes
    return struct.pack("<6H5I3Q", 0, 3, *block, 0, *items, kernel.scratch_bytes, lds, 0, kernarg, 0) + bytes(8)
