"""An emulated GPU: memory, and launches of the kernels of a code object."""

from __future__ import annotations

import ctypes
import mmap
import re
import struct
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from parity.compilers.targets import Target, target
from parity.emulator.amdgpu.approximate import Drawing, drawing
from parity.emulator.amdgpu.build import Amdgpu, Executable, Kind, Language, Programs
from parity.emulator.amdgpu.classes import class_of, totals
from parity.emulator.amdgpu.codegen import COUNTERS, blocks_of, registers_of
from parity.emulator.amdgpu.launch_options import LaunchOptions
from parity.emulator.amdgpu.matrix import flushes
from parity.emulator.faults import (
    SCRATCH,
    BadCall,
    BoundsExceeded,
    DataRace,
    DivergentBarrier,
    FailedAssertion,
    InstructionBudgetExceeded,
    LdsExceeded,
    MemoryFault,
    MisalignedAccess,
    NoProgress,
    Refused,
    Thread,
    Trapped,
    WarpMask,
    WarpRace,
    quoted,
)
from parity.emulator.image import Image, image_of
from parity.emulator.memory import BASE, NO_RESERVE, Allocation, Bytes, DeviceMemory
from parity.emulator.parse import Instruction, bodies_of, kernel_code
from parity.emulator.printing import RECORD, messages
from parity.emulator.shadow import arithmetic_of, round_to_nearest
from parity.emulator.structures import structure
from parity.errors import ParityError, UsageError, nearest
from parity.model.code_object import CodeObject, Kernel, first_difference, spelled
from parity.model.coverage import Point, Reached
from parity.model.launch import BLOCK, Arithmetic
from parity.platform.cache import Cache, default_root

__all__ = ["DISPATCH_AT", "KERNARG_AT", "Device", "LaunchStats", "pack", "together"]

(
    _NONE,
    _READ_OUTSIDE,
    _WRITE_OUTSIDE,
    _READ_UNWRITTEN,
    _TIMEOUT,
    _RACE,
    _DIVERGENT,
    _BAD_CALL,
    _TRAP,
    _STUCK,
    _REQUEST,
    _MISALIGNED,
    _ABSENT,
    _UNNAMED,
    _WARP_RACE,
) = range(15)
_KINDS = {
    _READ_OUTSIDE: "out-of-bounds read",
    _WRITE_OUTSIDE: "out-of-bounds write",
    _READ_UNWRITTEN: "never-written read",
    _MISALIGNED: "misaligned access",
}
DISPATCH_AT, KERNARG_AT = 256, 1024
"""The addresses of a launch's dispatch packet and of its arguments in the memory of a device."""
_SCALAR = 0xFFFFFFFF
_WHOLE_WAVE = 1 << 31
# As in workgroups.cpp: wavefronts of a workgroup, the stack of one. LDS is that of the largest device.
_WAVES, _STACK = 32, 1 << 20
_LDS = 1 << 18
# For the variables of code objects, before LDS; those of further ones are somewhere else, and not traced.
_VARIABLES, _BETWEEN = 1 << 20, 256
# As in wavefronts.h: how much of memory is traced, the bytes of a cell of each level, and the size of a cell itself.
_TRACED, _CELLS, _CELL = 1 << 24, (32, 4, 1), 32
_ORDINALS = 1 << 31
# As in wavefronts.h and requests.cpp: the buffer for requests to the host, and where its parts are; what a log holds.
_MAILBOX, _EVENT, _SIGNAL, _HEADERS, _PAYLOADS = 8192, 64, 128, 256, 512
_LOGGED = 1 << 15
PRINTED = 4096
"""Characters that are kept of what a launch prints."""

# As in threaded.cpp: instructions until it is looked whether a kernel goes on, and the registers of a wavefront.
_SLICE, _REGISTERS = 1 << 20, 1 << 18
_FAILED = re.compile(
    r"(?P<file>.*):(?P<line>\d+): (?P<function>.*): Device-side assertion `(?P<expression>.*)' failed\.\n", re.DOTALL
)
_FILE = re.compile(r"^\t\.file\t.*\n", re.MULTILINE)
# Hidden arguments through which a kernel uses what parity does not emulate. They point to where no memory is, so that
# the first use is a fault: a kernel that calls through pointers has all of them, used or not.
_REFUSED = {
    "hidden_multigrid_sync_arg": "synchronisation of a whole grid (cg::this_grid().sync())",
    "hidden_heap_v1": "memory that is allocated on the device (malloc, new)",
    "hidden_default_queue": "launches from the device",
    "hidden_completion_action": "launches from the device",
    "hidden_printf_buffer": "printf through a buffer (-mprintf-kind=buffered)",
}
_REFUSED_AT, _REFUSED_BYTES = 0x7D00_0000_0000, 1 << 32
_SERVICES = {1: "calls of functions of the host", 3: "memory that is allocated on the device (malloc, new)"}

_PRIVATE = ("scratch_", "buffer_", "flat_")
"""Instructions that access scratch memory; the compiler uses buffers for that alone."""

_APERTURE, _FAR, _WILD = 0x0002_0000 << 32, 1 << 20, 1 << 34
"""The first generic address of scratch memory; the number of bytes before it that still count as scratch memory; the
same before and behind it for an access to a known array: an index of 32 bits, times 4 bytes or fewer."""

Triple = tuple[int, int, int]


_Context = structure("memory.h", "Context")


@dataclass(frozen=True)
class LaunchStats:
    """The statistics of a launch.

    ``instructions`` is the number that all wavefronts executed, waits and hints not counted. ``crossing`` is the first
    instruction that exchanged values between lanes 0-31 and 32-63 of a wavefront of 64, as text, if one did.
    ``lacking`` is the first by which a thread took the value of one that takes no part, of PTX. ``classes`` are the
    instructions by class, see ``class_of``, on a device that counts.
    """

    instructions: int
    crossing: str | None = None
    lacking: Instruction | None = None
    classes: Mapping[str, int] | None = None


def together(stats: Sequence[LaunchStats]) -> LaunchStats:
    """The statistics of several launches as one."""
    classes: Counter[str] = Counter()
    for each in stats:
        classes.update(each.classes or {})
    crossing = next((each.crossing for each in stats if each.crossing), None)
    lacking = next((each.lacking for each in stats if each.lacking), None)
    return LaunchStats(sum(each.instructions for each in stats), crossing, lacking, classes or None)


@dataclass(frozen=True)
class Loaded:
    kernel: Kernel
    target: Target
    launch: Any
    executable: Executable
    image: int
    prints: bool
    blocks: Mapping[int, Sequence[Instruction]]
    counters: Any
    drawings: tuple[Any, ...]


class Device:
    """An emulated GPU with its own memory.

    ``checked``: every access is checked byte by byte. Unchecked is for benchmarks: only the bounds of memory as a whole
    are, and ``written`` is of no use. ``traced``: who accessed each byte is kept as well, and data races and divergent
    barriers are found (in the first 16 MiB of memory, and in LDS). That costs a few nanoseconds per access and lane, so
    a traced device runs code that is quicker to compile instead of code that is quicker to run.
    ``counted``: launches say how many instructions of each class they executed, with code of a kind of its own.
    ``shadow``: what rounds does so up or down, as the number of the draw says (``parity.emulator.shadow``).
    ``instruction_budget`` is per launch.
    """

    _language: Language = Amdgpu()
    _warps = False
    """Whether the threads of a wavefront have no order of their own: races between them are found, too."""

    def __init__(
        self,
        *,
        checked: bool = True,
        traced: bool = False,
        counted: bool = False,
        shadow: bool = False,
        instruction_budget: int = 2_000_000_000,
        cache: Cache | None = None,
        capacity: int = 1 << 30,
    ) -> None:
        self.instruction_budget = instruction_budget
        self._cache = cache or Cache(default_root())
        self._counted, self._traced, self._shadow = counted, traced, shadow
        kind: Kind = "shadow" if shadow else "counted" if counted else "threaded" if traced else "compiled"
        self._programs = Programs(self._cache, kind, self._language)
        self._memory = DeviceMemory(capacity)
        self._loaded: dict[tuple[str, str], Loaded] = {}
        self._logged = 0  # of what was printed before the last launch
        self._earlier = 0  # the ordinal of the last wavefront before it
        memory = self._memory
        self._images: dict[str, tuple[Image, int]] = {}
        self._stacks = _pages(_WAVES * _STACK)
        self._scratch, self._scratch_bytes = 0, 0
        # Nothing follows LDS: an offset beyond it leads out of memory.
        self._variables = memory.reserve(_VARIABLES + _LDS, red_zone=0)
        lds = self._variables + _VARIABLES
        self._context = context = _Context(
            memory.data.ctypes.data, memory.state.ctypes.data, BASE, capacity, checked=checked or traced,
            lds=lds, variables=self._variables, stacks=self._stacks.ctypes.data,
        )  # fmt: skip
        context.mailbox = memory.reserve(_MAILBOX)
        self._log = _pages(_LOGGED * RECORD * 8).view(np.uint64).reshape(-1, RECORD)
        self._registers = _pages(_REGISTERS)
        context.log, context.log_size, context.snapshot = self._log.ctypes.data, _LOGGED, self._registers.ctypes.data
        if traced:
            context.trace_bytes = min(_TRACED, capacity)
            self._forget()

    def prepare(self, code: CodeObject, kernels: Iterable[str] | None = None, *, workers: int | None = None) -> None:
        """Translate and compile kernels (default: all of the code object) at once, in parallel batches.

        Raises:
            UnknownInstruction: a kernel has an instruction that the emulator does not know.
        """
        names = list(code.kernels if kernels is None else kernels)
        self._programs.prepare(code, _where(code), names, workers=workers)

    def allocate(self, nbytes: int, name: str = "buffer") -> Allocation:
        """Memory of which no byte was written yet."""
        return self._memory.allocate(nbytes, name)

    def write(
        self,
        allocation: Allocation,
        array: np.ndarray[Any, Any],
        defined: Any = None,
        offset: int = 0,
        *,
        constant: bool = False,
    ) -> None:
        """Copy an array's bytes to byte ``offset``; ``defined`` (bool per byte) says which of them count as written.

        To write bytes that are ``constant`` is a fault, so reads of them can race with nothing and are not traced.
        All bytes of a variable (``symbol``) count as written, and a constant stays one.

        Raises:
            UsageError: the bytes do not fit, or the allocation was freed.
        """
        raw = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
        at = self._part(allocation, offset, raw.size)
        self._memory.data[at] = raw
        if at.start < self._memory.end:
            written = 2 if constant else 3
            whole = defined is None
            self._memory.state[at] = written if whole else np.where(np.asarray(defined, bool).reshape(-1), written, 1)

    def read(self, allocation: Allocation, offset: int = 0, size: int | None = None) -> Bytes:
        """The ``size`` bytes of an allocation from ``offset`` on (default: all that follow), as a copy.

        Raises:
            UsageError: it does not have them, or was freed.
        """
        return self._memory.data[self._part(allocation, offset, size)].copy()

    def written(
        self, allocation: Allocation, offset: int = 0, size: int | None = None
    ) -> np.ndarray[Any, np.dtype[np.bool_]]:
        """True for each of these bytes that the host or a kernel wrote; the arguments are those of ``read``."""
        return np.greater_equal(self._memory.state[self._part(allocation, offset, size)], 2)

    def accessed(self, allocation: Allocation) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
        """True for each byte that the last launch read, and true for each that it wrote; on a traced device alone, in
        the first 16 MiB of memory.
        """
        span = self._memory.span(allocation)
        first, last = span.start // _CELLS[0], -(-span.stop // _CELLS[0])
        within = slice(span.start - first * _CELLS[0], span.stop - first * _CELLS[0])
        found = np.zeros((2, (last - first) * _CELLS[0]), bool)
        cells = np.arange(first, last)
        for traces, size in zip(self._traces, _CELLS, strict=True):
            # The words of a cell: the ordinals of who wrote, of two who read, and of who accessed a part.
            words = traces.view(np.uint32).reshape(-1, _CELL // 4)
            after = (words[first:last] if size == _CELLS[0] else words[cells])[:, ::2] > self._earlier
            touched = np.flatnonzero(after[:, 0] | after[:, 1] | after[:, 2] | after[:, 3])
            cells, later = cells[touched], after[touched][:, [1, 2, 0, 3]]
            places = (cells * size - first * _CELLS[0])[:, None] + np.arange(size)
            found[0, places], found[1, places] = (later[:, :1] | later[:, 1:2]), later[:, 2:3]
            parts = size // _CELLS[min(_CELLS.index(size) + 1, len(_CELLS) - 1)]
            cells = (cells[later[:, 3]][:, None] * parts + np.arange(parts)).reshape(-1)
        return found[0, within], found[1, within]

    def _part(self, allocation: Allocation, offset: int, size: int | None) -> slice:
        """The slice of device memory that has these bytes of an allocation."""
        span = self._memory.span(allocation)
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
        self._memory.free(allocation)

    def points(self, code: CodeObject, kernel: str) -> tuple[Point, ...]:
        """The points of a kernel's code in the order of ``Reached.bits``; none on a device that notes none."""
        return self._load(code, kernel).executable.points

    def take_reached(self, code: CodeObject, kernel: str) -> Reached:
        """The code that launches of a kernel reached since the last call; noted on a traced device alone."""
        return self._load(code, kernel).executable.take_reached()

    @staticmethod
    def registers(code: CodeObject, kernel: str) -> Mapping[str, Instruction]:
        """The registers of a kernel in the order in which ``launch`` numbers them, and where each is named first."""
        return registers_of(kernel_code(code.listing, kernel), _where(code), image_of(code.listing).places)

    def is_approximate(self, code: CodeObject, kernel: str) -> bool:
        """True if a kernel that was launched, or a function it calls, has an instruction with a documented error."""
        loaded = self._loaded.get((code.digest, kernel))  # it may be one that cannot be loaded
        return loaded is not None and loaded.executable.traits.approximate

    @staticmethod
    def arithmetic(code: CodeObject, kernel: str) -> Arithmetic:
        """The most that a kernel, or a function it calls, does with floating-point numbers."""
        return max(arithmetic_of(body.text) for body in bodies_of(code.listing, kernel))

    @staticmethod
    def flushes(code: CodeObject, kernel: str) -> bool:
        """True if a kernel, or a function it calls, has matrix instructions that take subnormal numbers for 0."""
        return any(flushes(body.text, code.target) for body in bodies_of(code.listing, kernel))

    @classmethod
    def parts(cls, code: CodeObject, kernel: str) -> tuple[str, ...]:
        """Texts that decide what launches of a kernel do: its code and data, and not where in the source they come
        from.
        """
        image = cls._image(code)
        data = f"{image.content.hex()} {image.references}"
        texts = (_FILE.sub("", text) for text in cls._language.parts(code.listing, kernel))
        return (repr(code.kernels[kernel]), data, *texts)

    def reset(self) -> None:
        """Free all allocations, and forget what was printed."""
        self._memory.reset()
        self._context.logged = self._context.lost = 0

    def restore(self, code: CodeObject | None = None) -> None:
        """Give the variables of all code objects, or of one, the values that they begin with.

        Else they stay from launch to launch.
        """
        for key, (image, address) in self._images.items():
            if any(image.sizes) and (code is None or key == code.digest):
                self._memory.place_image(address, image.placed(address), image.writable)

    def symbol(self, code: CodeObject, name: str) -> Allocation:
        """The memory of a variable of a code object, ``__constant__`` or ``__device__``, named as the source does.

        Raises:
            UsageError: the code object has no variable of that name.
        """
        image, address = self._placed(code)
        variables = {called: each for each in image.sizes if each in image.symbols for called in (*spelled(each), each)}
        if name not in variables:
            raise UsageError(f"module {code.module!r} has no variable {name!r}{nearest(name, variables)}")
        symbol = variables[name]
        return Allocation(f"variable {name}", address + image.symbols[symbol], image.sizes[symbol])

    def variables(self, code: CodeObject) -> dict[str, bytes]:
        """The contents of the variables of a code object that a kernel may write, by their symbols."""
        image, address = self._placed(code)
        if 1 not in image.writable:
            return {}
        names = (name for name, at in image.symbols.items() if image.sizes.get(name) and image.writable[at])
        places = ((name, Allocation(name, address + image.symbols[name], image.sizes[name])) for name in names)
        return {name: self.read(place).tobytes() for name, place in places}

    def write_symbol(self, code: CodeObject, name: str, data: np.ndarray[Any, Any]) -> None:
        """Fill a variable from its begin, for the launches that follow until ``restore``.

        Raises:
            UsageError: there is no such variable, or it is smaller.
        """
        there = self.symbol(code, name)
        if data.nbytes > there.size:
            raise UsageError(f"variable {name!r} of module {code.module!r} has {there.size} bytes, not {data.nbytes}")
        self.write(there, data)

    def read_symbol(self, code: CodeObject, name: str) -> Bytes:
        """The contents of a variable, as a copy.

        Raises:
            UsageError: there is no such variable.
        """
        return self.read(self.symbol(code, name))

    def take_printed(self) -> str:
        """The first ``PRINTED`` characters that launches printed since the last call, as the wavefronts ran."""
        context = self._context
        if not context.logged:
            return ""
        texts = [m.text for m in messages(self._log[: context.logged]) if not _FAILED.fullmatch(m.text)]
        whole, lost = "".join(texts), context.lost
        context.logged = context.lost = 0
        if lost or len(whole) > PRINTED:
            more = f"{len(whole) - PRINTED:,} characters" if len(whole) > PRINTED else ""
            parts = f"what did not fit into the log, {lost:,} parts" if lost else ""
            return f"{whole[:PRINTED]}\n... and more: {' and '.join(filter(None, (more, parts)))}\n"
        return whole

    def launch(
        self,
        code: CodeObject,
        kernel: str,
        *,
        grid: Triple,
        block: Triple,
        args: bytes,
        shared_bytes: int = 0,
        options: LaunchOptions = LaunchOptions(),  # noqa: B008 - frozen
    ) -> LaunchStats:
        """Execute a kernel. ``args`` is the kernarg segment up to the end of the explicit arguments, see ``pack``.

        ``grid`` counts blocks and ``block`` threads; ``shared_bytes`` is the dynamic LDS.

        Raises:
            MemoryFault: a wavefront accessed memory it must not; the device stays usable and readable.
            DataRace, DivergentBarrier: on a traced device.
            InstructionBudgetExceeded: more instructions than ``instruction_budget``.
            UnknownInstruction: the kernel has an instruction that the emulator does not know.
            UsageError: no such kernel, or a grid, block or argument list that does not fit it.
        """
        loaded = self._load(code, kernel)
        self._check_launch(loaded, grid, block, len(args), shared_bytes)
        context = self._context
        self._place_arguments(loaded, args, grid, block, shared_bytes)
        self._logged = context.logged
        if loaded.prints:
            self._place_mailbox()
        self._set_context(loaded, shared_bytes, options)
        waves = -(-block[0] * block[1] * block[2] // loaded.target.wavefront)
        self._place_scratch(loaded.kernel.scratch_bytes, waves * loaded.target.wavefront)
        if context.ordinal > _ORDINALS:
            self._forget()
        self._earlier = context.ordinal
        context.used = max(context.used, self._memory.used)
        if self._counted:
            ctypes.memset(loaded.counters, 0, ctypes.sizeof(loaded.counters))
        program = loaded.executable.program
        context.program = ctypes.addressof(program) if program else 0
        switching = loaded.executable.traits.barriers or self._traced
        try:
            fault = loaded.launch(
                ctypes.byref(context), loaded.executable.address,
                (ctypes.c_uint32 * 3)(*grid), (ctypes.c_uint32 * 3)(*block), switching,
            )  # fmt: skip
        finally:
            if self._shadow:
                round_to_nearest()
        if fault:
            raise self._fault(code, kernel, fault, block)
        crossing = self._instruction(code, kernel, context.crossed - 1).text if context.crossed else None
        return LaunchStats(
            self.instruction_budget - context.budget - context.reserve,
            crossing,
            self._instruction(code, kernel, context.lacking - 1) if context.lacking else None,
            _classes(loaded) if self._counted else None,
        )

    @staticmethod
    def _check_launch(loaded: Loaded, grid: Triple, block: Triple, argument_bytes: int, shared_bytes: int) -> None:
        kernel = loaded.kernel
        threads = block[0] * block[1] * block[2]
        if min(grid) < 1 or min(block) < 1 or threads > BLOCK:
            raise UsageError(
                f"kernel {kernel.name!r} cannot be launched with grid {grid} and block {block}: every size is at "
                f"least 1, and a block has at most {BLOCK} threads"
            )
        if threads > kernel.max_threads:
            raise BoundsExceeded(kernel.name, threads, kernel.max_threads)
        if shared_bytes < 0:
            raise UsageError(f"a launch of kernel {kernel.name!r} cannot have {shared_bytes} bytes of dynamic LDS")
        limit = loaded.target.lds_bytes
        if kernel.lds_bytes + shared_bytes > limit:
            raise LdsExceeded(kernel.name, kernel.lds_bytes, shared_bytes, str(loaded.target), limit)
        if argument_bytes != kernel.explicit_bytes:
            raise UsageError(
                f"kernel {kernel.name!r} takes {kernel.explicit_bytes} bytes of arguments, not {argument_bytes}; build "
                "them with pack()"
            )

    def _set_context(self, loaded: Loaded, shared_bytes: int, options: LaunchOptions) -> None:
        context = self._context
        context.whole, context.lacking = self.instruction_budget, 0
        context.budget = min(_SLICE, self.instruction_budget)
        context.reserve = self.instruction_budget - context.budget
        context.compares, context.ticks = loaded.executable.traits.compares, 0
        self._memory.clear(context.lds, context.lds_bytes)
        context.image, context.lds_bytes = loaded.image, loaded.kernel.lds_bytes + shared_bytes
        context.seed, context.register_fill = options.seed, options.register_fill
        context.inverted_register = _SCALAR if options.inverted_register is None else options.inverted_register
        drawn = drawing(options.results, options.draw, loaded.target.generation)
        for each in loaded.drawings:
            each[0] = drawn

    def _place_arguments(self, loaded: Loaded, args: bytes, grid: Triple, block: Triple, shared_bytes: int) -> None:
        """The data of a launch that its kernel reads: arguments, and the packet that dispatched it."""
        context = self._context
        mailbox = context.mailbox if loaded.prints else 0
        kernarg = _kernarg(loaded.kernel, args, grid, block, shared_bytes, mailbox)
        context.kernarg = self._memory.place(KERNARG_AT, kernarg)
        packet = _dispatch_packet(loaded.kernel, grid, block, shared_bytes, context.kernarg)
        context.dispatch = self._memory.place(DISPATCH_AT, packet)

    def _place_mailbox(self) -> None:
        """The buffer through which a kernel asks the host (ockl: hostcall_impl.cl), as the HSA runtime prepares it."""
        at = self._context.mailbox
        content = bytearray(_MAILBOX)
        struct.pack_into("<6Q", content, 0, at + _HEADERS, at + _PAYLOADS, at + _SIGNAL, 1, 0, 0)
        struct.pack_into("<QqQI", content, _SIGNAL, 1, 0, at + _EVENT, 1)  # amd_signal_t
        self._memory.put(at, bytes(content))

    def _place_scratch(self, size: int, lanes: int) -> None:
        """Scratch memory for the lanes of one workgroup, with a gap after each."""
        context = self._context
        context.scratch_bytes, context.scratch_stride = size, size + 64 if size else 0
        needed = context.scratch_stride * lanes
        if needed > self._scratch_bytes:
            self._scratch, self._scratch_bytes = self._memory.reserve(needed), needed
        elif size:
            self._memory.clear(self._scratch, self._scratch_bytes)
        context.scratch = self._scratch or context.variables

    def _forget(self) -> None:
        """Begin with the first ordinal of a wavefront again, because they are used up."""
        context = self._context
        context.ordinal = 0
        if context.trace_bytes:
            size = context.trace_bytes + _VARIABLES + _LDS
            self._traces = [_pages(size // bytes_ * _CELL) for bytes_ in _CELLS]
            context.trace[:] = [pages.ctypes.data for pages in self._traces]
            if self._warps:
                self._threads = [[_pages(size // unit * bytes_) for unit in (4, 1)] for bytes_ in (4, 2, 2)]
                for pointers, several in zip((context.who, context.wrote, context.loaded), self._threads, strict=True):
                    pointers[:] = [pages.ctypes.data for pages in several]
                context.phases = 0

    def _load(self, code: CodeObject, name: str) -> Loaded:
        key = (code.digest, name)
        if key not in self._loaded:
            if name not in code.kernels:
                raise UsageError(f"module {code.module!r} has no kernel {name!r}{nearest(name, code.kernels)}")
            where = _where(code)
            executable = self._programs.kernel(code, where, name)
            library, symbol = executable.library, executable.symbol
            launch = library.launch
            launch.argtypes = (*(ctypes.c_void_p,) * 4, ctypes.c_uint32)
            launch.restype = ctypes.c_uint32
            kernel = self._kernel(code, name)
            prints = any(hidden.kind == "hidden_hostcall_buffer" for hidden in kernel.hidden)
            blocks, counters = {}, None
            if self._counted:
                blocks = blocks_of(kernel_code(code.listing, name))
                counters = (ctypes.c_uint64 * (max(blocks) + 1)).in_dll(library, symbol + COUNTERS)
            # What says how approximate instructions draw, in each library.
            drawings = tuple(ctypes.pointer(Drawing.in_dll(each, "drawing")) for each in executable.libraries)
            self._loaded[key] = Loaded(
                kernel, where, launch, executable, self._placed(code)[1], prints, blocks, counters, drawings,
            )  # fmt: skip
        return self._loaded[key]

    def _kernel(self, code: CodeObject, name: str) -> Kernel:
        """A kernel with the memory that it takes."""
        return code.kernels[name]

    def _placed(self, code: CodeObject) -> tuple[Image, int]:
        """The data of a code object, and where it lies."""
        if code.digest not in self._images:
            image = self._image(code)
            address, next_ = self._variables, self._variables + -(-len(image.content) // _BETWEEN) * _BETWEEN + _BETWEEN
            if next_ > self._context.lds:
                address = self._memory.reserve(len(image.content))
            else:
                self._variables = next_
            self._memory.place_image(address, image.placed(address), image.writable)
            self._images[code.digest] = image, address
        return self._images[code.digest]

    @staticmethod
    def _image(code: CodeObject) -> Image:
        return image_of(code.listing)

    @staticmethod
    def _instruction(code: CodeObject, kernel: str, number: int) -> Instruction:
        instructions = kernel_code(code.listing, kernel).instructions
        return instructions[min(number, len(instructions) - 1)]

    def _fault(self, code: CodeObject, kernel: str, fault: int, block: Triple) -> ParityError:
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
        if fault == _REQUEST:
            return Refused(kernel, _SERVICES.get(c.other, f"the host's service {c.other}"), instruction)
        if fault == _STUCK:
            lanes = int(c.address).bit_count()
            return NoProgress(kernel, instruction, _thread(workgroup, c.lane, block), lanes)
        if fault in (_ABSENT, _UNNAMED):
            return WarpMask(kernel, instruction, _thread(workgroup, c.lane, block), fault == _ABSENT)
        if fault == _TRAP:
            others = int(c.address).bit_count() - 1
            thread = _thread(workgroup, c.lane, block)
            for message in messages(self._log[self._logged : c.logged]):
                its_own = (message.group, message.thread) == (workgroup, c.lane)
                if its_own and (failed := _FAILED.fullmatch(message.text)):
                    own, _, _ = (instruction.source or "").rpartition(":")  # its name in the project
                    file = own if own and failed["file"].endswith(f"/{own}") else failed["file"]
                    where = file, int(failed["line"]), failed["function"]
                    return FailedAssertion(kernel, failed["expression"], *where, thread, others)
            return Trapped(kernel, instruction, thread, others)
        if 0 <= (which := (c.address - _REFUSED_AT) // _REFUSED_BYTES) < len(_REFUSED):
            return Refused(kernel, [*_REFUSED.values()][which], instruction)
        near = self._private(instruction, lane, _where(code).wavefront) or self._nearest(c.address)
        if fault in (_RACE, _WARP_RACE):
            race = WarpRace if fault == _WARP_RACE else DataRace
            memory = f"byte {c.address - near.address} of {quoted(near.name)}" if near else f"address {c.address:#x}"
            other = self._instruction(code, kernel, c.other)
            return race(kernel, instruction, other, lane=lane, workgroup=workgroup, memory=memory)
        found = MisalignedAccess if fault == _MISALIGNED else MemoryFault
        return found(
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
            array=self._array(code, kernel, instruction) if near and near.name.startswith(SCRATCH) else None,
        )

    @staticmethod
    def _array(code: CodeObject, kernel: str, instruction: Instruction) -> str | None:
        """The private array that an access to scratch memory means; through a pointer, where there is only one."""
        arrays = {array for body in bodies_of(code.listing, kernel) for array in body.arrays}
        return instruction.array if instruction.array is not None else arrays.pop() if len(arrays) == 1 else None

    def _private(self, instruction: Instruction, lane: int | None, lanes: int) -> Allocation | None:
        """The scratch memory of the lane, if an access is meant for it, also outside of its bounds."""
        c = self._context
        if lane is None or not c.scratch_stride or not instruction.mnemonic.startswith(_PRIVATE):
            return None
        own = Allocation(
            f"{SCRATCH}lane {lane}", c.scratch + (c.wave * lanes + lane) * c.scratch_stride, c.scratch_bytes
        )
        # Before the first byte: a negative offset wraps to one near 2^32; a generic pointer leaves its aperture.
        if instruction.array:
            before = c.address - own.address >= 1 << 31
            return replace(
                own, address=_APERTURE if abs(c.address - _APERTURE) < _WILD else own.address + (before << 32)
            )
        for begin in (own.address + (1 << 32), _APERTURE):
            if 0 < begin - c.address <= _FAR and not c.lds_bytes:
                return replace(own, address=begin)
        generic = instruction.mnemonic.startswith("flat_")
        return own if not generic or c.scratch <= c.address < c.variables else None

    def _nearest(self, address: int) -> Allocation | None:
        """The buffer, the LDS or the lane's scratch memory that an address is in or nearest to."""
        c = self._context
        if address >= c.lds:
            return Allocation("LDS", c.lds, c.lds_bytes)
        for image, start in sorted(self._images.values(), key=lambda placed: placed[1], reverse=True):
            last = start + len(image.content) + _BETWEEN
            if start <= address and (address < last or address >= c.variables) and image.sizes:
                return _variable(image, start, address)
        if c.scratch_stride and c.scratch <= address < c.variables:
            lane = (address - c.scratch) // c.scratch_stride
            return Allocation(f"{SCRATCH}lane {lane}", c.scratch + lane * c.scratch_stride, c.scratch_bytes)
        return self._memory.nearest(address)


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


def _variable(image: Image, start: int, address: int) -> Allocation:
    """The variable of an image that an address is in, or that ends before it."""
    # That of the compiler, which names a compilation, is nobody's neighbour.
    places = [name for name in image.sizes if name in image.symbols and not name.startswith("__hip_cuid_")]
    before = [name for name in places if start + image.symbols[name] <= address] or places
    name = max(before, key=lambda name: image.symbols[name], default="")
    return Allocation(f"variable {name}", start + image.symbols.get(name, 0), image.sizes.get(name, 0))


def _where(code: CodeObject) -> Target:
    """The target of a code object, with wavefronts as wide as its kernels were compiled for."""
    usual = target(code.target)
    width = next((kernel.wavefront for kernel in code.kernels.values()), usual.wavefront)
    return usual if width == usual.wavefront else replace(usual, wavefront=width)


def _thread(group: Triple, number: int, block: Triple) -> Thread:
    """The thread of that number, in the order in which wavefronts take them."""
    x, rest = number % block[0], number // block[0]
    return Thread(group, (x, rest % block[1], rest // block[1]))


def _classes(loaded: Loaded) -> Mapping[str, int]:
    return totals(
        (class_of(instruction.mnemonic), loaded.counters[start])
        for start, block in loaded.blocks.items()
        for instruction in block
    )


def _pages(size: int) -> Bytes:
    """Zeroed memory; its pages exist from the first access on."""
    pages = mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | NO_RESERVE)
    return np.frombuffer(pages, np.uint8)


def _kernarg(kernel: Kernel, args: bytes, grid: Triple, block: Triple, shared_bytes: int, mailbox: int) -> bytes:
    """The whole segment: explicit arguments, then the hidden ones at the places the metadata names."""
    known = {
        **{f"hidden_block_count_{a}": n for a, n in zip("xyz", grid, strict=True)},
        **{f"hidden_group_size_{a}": n for a, n in zip("xyz", block, strict=True)},
        "hidden_grid_dims": max((i + 1 for i in range(3) if grid[i] * block[i] > 1), default=1),
        "hidden_dynamic_lds_size": shared_bytes,
        "hidden_hostcall_buffer": mailbox,
        **{name: _REFUSED_AT + i * _REFUSED_BYTES for i, name in enumerate(_REFUSED)},
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
