"""An emulated GPU: memory, and launches of the kernels of a code object."""

from __future__ import annotations

import ctypes
import re
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from parity.emulator import mailbox
from parity.emulator.approximate import Drawing
from parity.emulator.fault_report import FaultSite, fault_error
from parity.emulator.instruction import Instruction
from parity.emulator.language import Dim3, Language, LaunchShape
from parity.emulator.launch_checks import check_shape
from parity.emulator.launch_options import LaunchOptions
from parity.emulator.loading import KernelLoader, LoadedKernel
from parity.emulator.memory import HEAP, READABLE, TRACED, WRITABLE, Allocation, Bytes, DeviceMemory, zeroed_pages
from parity.emulator.printing import RECORD, SHOWN, printed
from parity.emulator.programs import Kind, Programs
from parity.emulator.runtime_headers import constants, structure
from parity.emulator.stats import LaunchStats
from parity.emulator.trace import Trace
from parity.emulator.variables import VARIABLES_BYTES, VariableMemory
from parity.emulator.workgroups import LDS, Workgroups
from parity.errors import UsageError
from parity.model.code_object import CodeObject
from parity.model.coverage import Point, Reached
from parity.platform.cache import Cache, default_root

_PACKET_AT, _KERNARG_AT = 256, 1024
"""The places of a launch's dispatch packet and arguments in the first bytes of device memory."""
_LOGGED = 1 << 15
"""Records that the log of printed messages holds."""
_REGISTER_BYTES = 1 << 18
"""Room for the scalar registers of a wavefront, and for some vector registers, to detect kernels without progress."""
_VECTOR_BYTES = 64 * 4
"""Bytes of a vector register."""
_ORDINALS = 1 << 31
"""After this many wavefronts, the trace numbers them from the beginning again."""
_NO_REGISTER = 0xFFFFFFFF

_SLICE: int = constants("threaded.h")["SLICE"]
_PAGES: int = constants("memory.h")["PAGES"]
_Context = structure("memory.h", "Context")
_Sparse = structure("memory.h", "Sparse")
_FILE = re.compile(r"^\t\.file\t.*\n", re.MULTILINE)


class Device:
    """An emulated GPU with its own memory; subclasses choose the language of the listings that it executes.

    Args:
        checked: check each byte of each access. Unchecked devices are for benchmarks: they check only the bounds of the
            whole memory, and ``written`` is meaningless.
        initialized: let all LDS and scratch memory count as written, so that kernels may read it at once.
        traced: also record who accessed each byte, to find data races and divergent barriers in 16 MiB of memory
            around each multiple of 4 GiB, and in LDS. That costs a few nanoseconds per access and lane, so traced
            devices execute threaded code, which is quicker to compile and slower to run.
        counted: count the executed instructions by class, with code that is compiled for that.
        shadow: execute shadow runs (``parity.emulator.amdgpu.shadow``): operations round up or down.
        instruction_budget: how many instructions a launch may execute.
        cache: where to keep translated and compiled kernels.
        capacity: the size of device memory, in bytes.
        spread: place each allocation across another multiple of 4 GiB (``DeviceMemory``); not on unchecked devices.
        heap: the addresses for memory that kernels allocate, in bytes.
        memory: existing memory to use; ``capacity``, ``spread`` and ``heap`` then have no effect.
        cores: the threads of the host that an unchecked device may use for a launch whose workgroups are independent.
            Without data races between workgroups, the results do not depend on it.
    """

    _language: Language

    def __init__(
        self,
        *,
        checked: bool = True,
        initialized: bool = False,
        traced: bool = False,
        counted: bool = False,
        shadow: bool = False,
        instruction_budget: int = 2_000_000_000,
        cache: Cache | None = None,
        capacity: int = 1 << 30,
        spread: bool = True,
        heap: int = HEAP,
        memory: DeviceMemory | None = None,
        cores: int = 1,
    ) -> None:
        self.instruction_budget = instruction_budget
        self._counted, self._traced, self._shadow = counted, traced, shadow
        self._fresh = WRITABLE | READABLE if initialized else WRITABLE
        kind: Kind = "shadow" if shadow else "counted" if counted else "threaded" if traced else "compiled"
        # Unchecked code may write anywhere in a memory, and every written page takes space.
        self._memory = memory = memory or DeviceMemory(capacity, spread=spread and (checked or traced), heap=heap)
        self._logged = 0  # records before the last launch
        self._earlier = 0  # the ordinal of the last wavefront before the last launch
        self._workgroups = Workgroups(memory, 1 if checked or traced or counted or shadow else cores)
        self._log = zeroed_pages(_LOGGED * RECORD * 8).view(np.uint64).reshape(-1, RECORD)
        self._registers = zeroed_pages(_REGISTER_BYTES)
        self._opened = zeroed_pages(4 * _PAGES).view(np.uint32)
        self._tiles: list[Bytes] = []  # the contents of sparse allocations
        variables = memory.reserve(VARIABLES_BYTES + self._workgroups.lds_bytes, red_zone=0)
        lds = variables + VARIABLES_BYTES
        self._variables = VariableMemory(memory, self._language, variables, lds)
        programs = Programs(cache or Cache(default_root()), kind, self._language)
        self._kernels = KernelLoader(self._language, programs, self._variables, counted)
        self._context = _Context(
            data=memory.data.ctypes.data, shadow=memory.state.ctypes.data, base=memory.base,
            size=lds + LDS - memory.base, checked=checked or traced, lds=lds, variables=variables,
            mailbox=memory.reserve(mailbox.SIZE), log=self._log.ctypes.data, log_size=_LOGGED,
            heap_begin=memory.heap.start, heap_end=memory.heap.stop,
            snapshot=self._registers.ctypes.data, trace_bytes=memory.slots * TRACED if traced else 0,
            trace_before=memory.before, opened=self._opened.ctypes.data,
            fresh=self._fresh,
        )  # fmt: skip
        tail = VARIABLES_BYTES + LDS
        self._trace = Trace(self._context, tail, warps=self._language.warps) if traced else None

    # --- kernels ---

    def prepare(self, code: CodeObject, kernels: Iterable[str] | None = None, *, workers: int | None = None) -> None:
        """Translate and compile kernels (default: all of the code object) in parallel batches.

        Raises:
            UnknownInstruction: the emulator does not know an instruction of a kernel.
            UnsupportedFeature: a kernel uses a feature that the emulator lacks.
        """
        self._kernels.prepare(code, kernels, workers)

    def points(self, code: CodeObject, kernel: str) -> tuple[Point, ...]:
        """Return the coverage points of a kernel, in the order of ``Reached.bits``; only traced devices have them."""
        return self._kernels.load(code, kernel).executable.points

    def take_reached(self, code: CodeObject, kernel: str) -> Reached:
        """Return the coverage of a kernel's launches since the last call; only traced devices record it."""
        return self._kernels.load(code, kernel).executable.take_reached()

    def is_approximate(self, code: CodeObject, kernel: str) -> bool:
        """True if a launched kernel, or a function it calls, has an instruction with a documented error."""
        loaded = self._kernels.loaded(code, kernel)  # None if the kernel cannot be loaded
        return loaded is not None and loaded.executable.traits.approximate

    @staticmethod
    def undefined_reads(code: CodeObject, kernel: str) -> Mapping[int, tuple[str, Instruction]]:
        """Return the registers that a kernel may read before it sets them, by number: name and first such read."""
        return {}

    @classmethod
    def parts(cls, code: CodeObject, kernel: str) -> tuple[str, ...]:
        """Return the texts that determine what a kernel does: metadata, data and code, without source positions."""
        image = cls._language.image(code.listing)
        data = f"{image.content.hex()} {image.relocations}"
        texts = (_FILE.sub("", text) for text in cls._language.parts(code.listing, kernel))
        return (repr(code.kernels[kernel]), data, *texts)

    # --- memory ---

    def allocate(self, nbytes: int, name: str = "buffer") -> Allocation:
        """Allocate memory that nothing has written."""
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
        """Copy an array to byte ``offset`` of an allocation; ``defined`` (bool per byte) marks the written bytes.

        Kernels must not write ``constant`` bytes, so reads of them cannot race and are not traced. All bytes of a
        variable (``symbol``) count as written, and a constant variable stays constant.

        Raises:
            UsageError: the bytes do not fit, or the allocation was freed.
        """
        raw = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
        at = self._part(allocation, offset, raw.size)
        self._memory.data[at] = raw
        if at.start < self._memory.end:
            state: Any = READABLE if constant else READABLE | WRITABLE
            if defined is not None:
                state = np.where(np.asarray(defined, bool).reshape(-1), state, WRITABLE)
            self._memory.state[at] = state

    def read(self, allocation: Allocation, offset: int = 0, size: int | None = None) -> Bytes:
        """Return a copy of ``size`` bytes of an allocation from ``offset`` on (default: all following bytes).

        Raises:
            UsageError: the allocation is too small, or was freed.
        """
        return self._memory.data[self._part(allocation, offset, size)].copy()

    def written(
        self, allocation: Allocation, offset: int = 0, size: int | None = None
    ) -> np.ndarray[Any, np.dtype[np.bool_]]:
        """Return, for each byte that ``read`` returns, whether the host or a kernel has written it."""
        return np.greater_equal(self._memory.state[self._part(allocation, offset, size)], READABLE)

    def accessed(self, allocation: Allocation) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
        """Return, for each byte, whether the last launch read it, and whether it wrote it.

        Requires a traced device, and an allocation in traced memory.
        """
        assert self._trace is not None
        return self._trace.accessed(self._memory.span(allocation), self._earlier)

    @property
    def addresses(self) -> range:
        """The addresses of the device's memory."""
        return range(self._memory.base, self._memory.base + self._memory.size)

    @property
    def has_sparse_memory(self) -> bool:
        """Whether the address space has room for ``allocate_sparse``."""
        return self._memory.slots > 1

    def allocate_sparse(self, nbytes: int, name: str, content: np.ndarray[Any, Any], *, writable: bool) -> Allocation:
        """Allocate memory that may be larger than the capacity, until ``reset``. Only one may be ``writable``.

        Its ``content`` repeats; if it is empty, nothing has written the memory.
        """
        found = self._memory.allocate_sparse(nbytes, name)
        tile = np.ascontiguousarray(content).reshape(-1).view(np.uint8)
        state = READABLE * bool(tile.size) | WRITABLE * writable
        place = tile.ctypes.data if tile.size else 0
        self._context.sparse[len(self._tiles)] = _Sparse(found.address, found.size, place, tile.size, state)
        self._tiles.append(tile)
        return found

    def read_sparse(self, allocation: Allocation, dtype: np.dtype[Any]) -> tuple[np.ndarray[Any, Any], Any]:
        """Return the elements of the writable sparse allocation that have a value: their numbers, sorted, and values.

        If it has content, these are all elements of the pages that a kernel accessed.
        """
        pages = np.sort(self._opened[: self._context.openings])
        data, state = self._memory.sparse_pages(allocation, pages)
        written = (state >= READABLE).view(f"u{dtype.itemsize}").astype(bool)
        page, place = np.nonzero(written)
        return pages.astype(np.int64)[page] * written.shape[1] + place, data.view(dtype)[page, place]

    def _part(self, allocation: Allocation, offset: int, size: int | None) -> slice:
        """The slice of device memory that holds these bytes of an allocation."""
        span = self._memory.span(allocation)
        size = allocation.size - offset if size is None else size
        if offset < 0 or size < 0 or offset + size > allocation.size:
            raise UsageError(
                f"buffer {allocation.name!r} of {allocation.size} bytes does not have {size} bytes at offset {offset}"
            )
        return slice(span.start + offset, span.start + offset + size)

    def free(self, allocation: Allocation) -> None:
        """Make memory inaccessible, until an allocation of the same size reuses it.

        Raises:
            UsageError: the allocation was freed already.
        """
        self._memory.free(allocation)

    def reset(self) -> None:
        """Free all allocations, and discard printed output."""
        self._memory.reset()
        self._context.logged = self._context.lost = self._context.openings = 0
        if self._tiles:
            self._context.sparse = type(self._context.sparse)()
            self._tiles.clear()

    # --- variables of code objects ---

    def restore(self, code: CodeObject | None = None) -> None:
        """Reset the variables of one code object to their initial values; launches do not reset them.

        Without a code object, reset all variables, and release what kernels have allocated.
        """
        self._variables.restore(code)
        if code is None:
            self._memory.clear_heap()

    def symbol(self, code: CodeObject, name: str) -> Allocation:
        """Return the memory of a variable, ``__constant__`` or ``__device__``, by its name in the source.

        Raises:
            UsageError: the code object has no variable of that name.
        """
        return self._variables.find(code, name)

    def variables(self, code: CodeObject) -> dict[str, bytes]:
        """Return the contents of the variables that kernels may write, by symbol."""
        return {place.name: self.read(place).tobytes() for place in self._variables.writable(code)}

    def write_symbol(self, code: CodeObject, name: str, data: np.ndarray[Any, Any]) -> None:
        """Write the first bytes of a variable, for the following launches until ``restore``.

        Raises:
            UsageError: the variable does not exist, or it is smaller.
        """
        there = self.symbol(code, name)
        if data.nbytes > there.size:
            raise UsageError(f"variable {name!r} of module {code.module!r} has {there.size} bytes, not {data.nbytes}")
        self.write(there, data)

    # --- launches ---

    def take_printed(self, most: int = SHOWN) -> str:
        """Return the first ``most`` characters that launches printed since the last call, in the order of threads."""
        context = self._context
        if not context.logged:
            return ""
        text = printed(self._log[: context.logged], context.lost, most)
        context.logged = context.lost = 0
        return text

    def launch(
        self,
        code: CodeObject,
        kernel: str,
        *,
        grid: Dim3,
        block: Dim3,
        args: bytes,
        shared_bytes: int = 0,
        rest: Dim3 = (0, 0, 0),
        options: LaunchOptions = LaunchOptions(),  # noqa: B008 - immutable
        whole: bool = False,
    ) -> LaunchStats:
        """Execute a kernel. ``args`` are the explicit arguments, from ``pack``; ``shared_bytes`` is the dynamic LDS.

        The last block along each dim has ``rest`` threads, unless that is 0. If ``whole`` is true, ``args`` also
        contain the hidden arguments, as a runtime filled them in.

        Raises:
            MemoryFault: a wavefront accessed memory that it must not access; the device stays usable and readable.
            DataRace, DivergentBarrier: on a traced device.
            InstructionBudgetExceeded: more instructions than the launch may execute.
            UnknownInstruction: the emulator does not know an instruction of the kernel.
            UsageError: the kernel does not exist, or the grid, the block or the arguments do not fit it.
        """
        loaded = self._kernels.load(code, kernel)
        shape = LaunchShape(grid, block, shared_bytes, rest)
        check_shape(loaded.kernel, kernel, shape, loaded.target)
        if len(args) != (size := loaded.kernel.kernarg_bytes if whole else loaded.kernel.explicit_bytes):
            raise UsageError(
                f"kernel {kernel!r} takes {size} bytes of arguments, not {len(args)}; build them with pack()"
            )
        self._place_launch(loaded, shape, args, whole=whole)
        self._workgroups.place(
            self._context, loaded.kernel, shape, loaded.target.wavefront,
            independent=loaded.executable.traits.independent and not loaded.prints, cooperative=options.cooperative,
        )  # fmt: skip
        self._set_options(loaded, options)
        if self._counted:
            ctypes.memset(loaded.counters, 0, ctypes.sizeof(loaded.counters))
        context = self._run(loaded, shape)
        if context.fault:
            site = FaultSite(
                context, code, kernel, loaded.target, shape.block_at(context.group), context.whole,
                self._log[self._logged : self._context.logged], self._language, self._memory, self._variables,
            )  # fmt: skip
            error = fault_error(context.fault, site)
            error.undefined = self._first(code, kernel, context.undefined)
            raise error
        return self._stats(code, kernel, loaded)

    def _place_launch(self, loaded: LoadedKernel, shape: LaunchShape, args: bytes, *, whole: bool) -> None:
        """Write the data that the kernel reads, and prepare LDS and scratch memory."""
        context, kernel = self._context, loaded.kernel
        buffer = context.mailbox if loaded.prints else 0
        arguments = (
            mailbox.with_own(kernel, args, buffer) if whole else self._language.arguments(kernel, args, shape, buffer)
        )
        context.kernarg = self._memory.place(_KERNARG_AT, arguments)
        context.dispatch = self._memory.place(_PACKET_AT, self._language.dispatch(kernel, shape, context.kernarg))
        if buffer:
            self._memory.put(buffer, mailbox.prepared(buffer))
        self._memory.clear(context.lds, context.lds_bytes)
        context.image, context.lds_bytes = loaded.image, kernel.lds_bytes + shape.shared_bytes
        context.lds_zeros = kernel.lds_zeros
        allocates = loaded.executable.traits.allocates
        arenas = self._memory.take_heap(shape.groups * shape.threads) if allocates else (0, 0, 0)
        context.heap, context.heap_far, context.heap_far_bytes = arenas
        context.heap_grid[:], context.heap_threads = shape.grid[:2], shape.threads
        if self._trace:
            self._trace.compare_threads(not kernel.converged)

    def _set_options(self, loaded: LoadedKernel, options: LaunchOptions) -> None:
        context, inverted = self._context, options.inverted_register
        context.seed, context.register_fill = options.seed, options.register_fill
        context.sampled, context.in_order = options.sampled, options.in_order
        context.shuffled_lanes, context.race_mask = options.shuffled_lanes, options.race_mask
        context.lds_races = options.lds_races
        context.inverted_register = _NO_REGISTER if inverted is None else inverted
        errors = ctypes.addressof(self._language.documented_errors(loaded.target))
        for drawing in loaded.drawings:
            drawing[0] = Drawing(options.results, options.draw, errors)
        context.whole, context.undefined = options.instructions or self.instruction_budget, 0
        context.budget = min(_SLICE, context.whole)
        context.reserve = context.whole - context.budget
        context.compares, context.ticks = loaded.executable.traits.compares, 0
        context.clock_rate, context.undivided = options.clock_rate, options.undivided
        context.fresh = self._fresh if options.memory_fill is None else WRITABLE | READABLE
        if (fill := options.memory_fill) is not None:
            self._memory.fill(context.lds, context.lds_bytes, fill)
            self._memory.fill(context.scratch, self._workgroups.scratch_bytes, fill)
            context.lds_zeros = context.lds_zeros if fill else context.lds_bytes

    def _run(self, loaded: LoadedKernel, shape: LaunchShape) -> Any:
        """Execute the workgroups; returns the context with the result."""
        context = self._context
        if self._trace and context.ordinal > _ORDINALS:
            self._trace.reset()
        self._logged, self._earlier = context.logged, context.ordinal
        context.rest[:] = shape.rest
        context.used = max(context.used, self._memory.used)
        program = loaded.executable.program
        context.program = ctypes.addressof(program) if program else 0
        if program and (needed := _REGISTER_BYTES + program.vectors * _VECTOR_BYTES) > self._registers.size:
            self._registers = zeroed_pages(needed)
            context.snapshot = self._registers.ctypes.data
        switching = loaded.executable.traits.barriers or self._traced
        grid, block = (ctypes.c_uint32 * 3)(*shape.grid), (ctypes.c_uint32 * 3)(*shape.block)

        def launch(context: Any) -> None:
            loaded.launch(ctypes.byref(context), loaded.executable.address, grid, block, switching)

        try:
            return self._workgroups.execute(launch, context, shape)
        finally:
            if self._shadow:
                _round_to_nearest()

    def _stats(self, code: CodeObject, kernel: str, loaded: LoadedKernel) -> LaunchStats:
        context = self._context
        counts = ((name, loaded.counters[start]) for start, block in loaded.blocks.items() for name in block)
        return LaunchStats(
            context.whole - context.budget - context.reserve,
            self._first(code, kernel, context.crossed),
            self._first(code, kernel, context.undefined),
            self._language.class_totals(counts) if self._counted else None,
        )

    def _first(self, code: CodeObject, kernel: str, number: int) -> Instruction | None:
        """The instruction of a number of the context, which is 1 more; 0 stands for none."""
        return self._language.instruction(code.listing, kernel, number - 1) if number else None


def _round_to_nearest() -> None:
    """Reset the rounding mode of this thread, after a shadow run."""
    ctypes.CDLL(None).fesetround(0)  # FE_TONEAREST, on x86-64 and aarch64
