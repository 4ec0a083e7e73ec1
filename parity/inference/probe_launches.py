"""Launches one kernel on an emulated device, and observes the memory that each launch accesses."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from parity.emulator.faults import (
    FAR,
    LDS,
    DataRace,
    InstructionBudgetExceeded,
    MemoryFault,
    Trapped,
    UnknownInstruction,
    UnsupportedFeature,
)
from parity.emulator.launch_options import RACE_MASKS, LaunchOptions
from parity.emulator.memory import Allocation
from parity.emulator.ptx.device import PtxDevice
from parity.errors import ParityError
from parity.inference.conditions import LDS_BYTES
from parity.inference.data_flow import BEHIND, ROW
from parity.inference.spec import IndexRole, KernelArgument, Numbers, Triple, in_one_line, is_scatter
from parity.inference.textures import object_name, texture_shape
from parity.model.code_object import CodeObject
from parity.model.dtypes import Array
from parity.model.texture import MOST_LAYERS, TextureSpec, parse_texture, texture_of

_GAPS = {1 << 15: 1 << 18, 1 << 18: 1 << 20, 1 << 20: 1 << 20, 1 << 21: 1 << 21}
"""Sizes of allocations to try, in bytes, and the gap to the next allocation."""
_MOST_LARGE, _PAGE = 1 << 27, 1 << 12
"""Bytes of an allocation at most, for sizes that are constants of the source, and what its size is a multiple of."""
_DIFFERENT = -1
"""Stands for the size of allocations that differ in size."""
_STRUCTURE = 1 << 12
"""Bytes of a structure in memory."""
_MOST_TRACED = 15 << 20
"""Bytes that the emulator traces at most."""
_POINTER = 8
"""Bytes of a pointer."""
_FEW, _MANY = 110, 1100
"""Rows behind an array of pointers, and elements of a row: few and many, or many and few."""
_OBJECT = 64
"""Bytes of a texture object."""
_EXTENTS, _LAYERS = {1: (4096,), 2: (512, 512), 3: (64, 64, 64)}, 8
"""The extents of textures by the number of dims, and their layers."""
BUDGET = 3_000_000
"""Instructions of a launch."""
LARGE_BUDGET = 60_000_000
"""Instructions of a launch that is one of few."""
_MOST_INSTRUCTIONS, _MOST_LAUNCHES, _MORE_LAUNCHES = 20_000_000, 800, 2400
"""Instructions and launches of a kernel, after which probing gives up, and launches with a larger budget, which allows
as many more instructions."""


@dataclass(frozen=True)
class InputFill:
    """The content of tensors.

    Floating-point tensors are filled with ``real``, integer tensors with ``whole``, and the tensor called ``one`` with
    ``value`` instead. With a ``seed``, the elements are random: numbers around 0, and small integers. Arguments of one
    byte are 0 unless ``flags`` is set. The pointers in ``nulls`` are null.
    """

    real: float = 1
    whole: int = 0
    one: str = ""
    value: int = 0
    seed: int = 0
    flags: bool = True
    nulls: frozenset[str] = frozenset()


@dataclass(frozen=True)
class LaunchConfig:
    """A launch: values of the integer arguments, geometry, bytes of dynamic shared memory, and content of tensors.

    A tensor in ``roles`` has the content of its role instead of ``fill``.
    """

    numbers: Numbers
    grid: Triple
    block: Triple
    shared: int
    fill: InputFill = InputFill()
    roles: Mapping[str, IndexRole] = field(default_factory=dict)

    @property
    def geometry(self) -> object:
        """A hashable form without the content of tensors."""
        return tuple(sorted(self.numbers.items())), self.grid, self.block, self.shared

    @property
    def key(self) -> object:
        """A hashable form."""
        return self.geometry, self.fill, *self.roles.items()


@dataclass(frozen=True)
class Accessed:
    """The accesses of a launch behind a pointer: one past the last element, and the bytes read and written."""

    end: int
    read: int
    written: int


Observation = Mapping[str, Accessed]
"""The accesses of a launch, by pointer."""


def combined(several: Sequence[Accessed]) -> Accessed:
    """Return the most that any of several launches accessed, and the least that all of them wrote."""
    return Accessed(max(e.end for e in several), max(e.read for e in several), min(e.written for e in several))


class ProbeLimit(Exception):
    """A kernel cannot be executed, which the message says, or needs too many launches."""


class ProbeLaunches:
    """Runs the launches of one kernel, each configuration once.

    ``device`` executes at most ``budget`` instructions per launch, ``share`` divides the usual limits, and no launch
    begins if ``ended`` returns that the time is over. ``fault`` describes the first launch that failed, ``race`` the
    first one with a data race in shared memory, and ``raced`` are the configurations with one in global memory.
    ``undefined`` is True if a launch has used the value of a thread that a warp does not have.
    ``cost`` is the number of instructions of the last launch, and ``too_long`` are the configurations that need more.
    ``before`` is True as long as every launch ends with an access before the begin of a buffer that is not far away,
    as from a null pointer, and that does not depend on the content of tensors. The buffer is an argument, not a field
    of a structure, whose other fields may be wrong. ``constants`` are the contents of ``__constant__`` variables. A
    race counts with one of ``blocks``, None for any. If it ``grows``, a launch that reaches far is repeated with
    larger allocations: it shows only their sizes. With ``lds_races``, a data race in shared memory is not a fault.
    ``holders`` are the variables that hold arguments, by position. With ``unset``, arguments of one byte are 0.
    ``needs_shared`` is True after an access outside of shared memory, and ``most_shared`` is how many bytes of
    dynamic shared memory AMD GPUs have for it.
    """

    def __init__(
        self, device: PtxDevice, code: CodeObject, kernel: str, args: Sequence[KernelArgument], share: int,
        ended: Callable[[], str] = str, budget: int = BUDGET, constants: Mapping[str, Array] | None = None,
        blocks: Collection[Triple] | None = None, *, grows: bool = False, lds_races: bool = False,
        unset: bool = False, holders: Mapping[int, str] | None = None,
    ) -> None:  # fmt: skip
        self._device, self._code, self._kernel, self._args = device, code, kernel, args
        self._budget, self._constants, self._blocks, self._grows = budget, constants or {}, blocks, grows
        self._launches = (_MOST_LAUNCHES if budget == BUDGET else _MORE_LAUNCHES) // share
        self._instructions = _MOST_INSTRUCTIONS // share * (budget // BUDGET)
        self._ended = ended
        # A scalar that each wavefront of a Triton kernel loads, and one of them stores, is a race without effect.
        mask = RACE_MASKS[0] if code.kernels[kernel].converged else 0
        self._options = LaunchOptions(race_mask=mask, lds_races=lds_races)
        self.fault, self.race, self.cost, self.before, self.undefined = "", "", 0, True, False
        self.trapped, self.needs_shared, self._unset = False, False, unset
        self.most_shared = LDS_BYTES - code.kernels[kernel].lds_bytes
        self.too_long, self.raced = set[object](), set[object]()
        self._size, self._places, self._columns = 0, dict[str, Allocation](), _MANY
        self._grown, self._large = dict[str, int](), set[object]()
        counts = Counter(each.key[0] for each in args)
        self._alone = {each.name for each in args if each.is_pointer and counts[each.key[0]] == 1}
        self._behind = sorted({each.key[0] for each in args if each.key[1] >= BEHIND})
        self._holders = {place: device.symbol(code, name) for place, name in (holders or {}).items()}
        self._contents = dict[str, object]()
        self._observed: dict[object, Observation | None] = {}
        self._offsets: dict[object, int] = {}

    @property
    def succeeded(self) -> bool:
        """True if a launch completed without a fault."""
        return any(self._observed.values())

    def trust(self, block: Triple) -> None:
        """Add a block with which a race counts."""
        self._blocks = None if self._blocks is None else {*self._blocks, block}

    def observe(self, config: LaunchConfig) -> Observation | None:
        """Return the accesses of a launch, or None if it faults.

        Raises:
            ProbeLimit: the kernel cannot be executed, or was launched too often.
        """
        key = config.key
        if key not in self._observed:
            pointers = sum(each.is_pointer for each in self._args)
            self._observed[key] = None
            if config.geometry in self._large and not config.fill.one:
                self._observed[key] = self._launch_large(config)
                return self._observed[key]
            sizes = [size for size, gap in _GAPS.items() if (size + gap) * pointers <= _MOST_TRACED]
            for size in sizes:
                try:
                    self._observed[key] = self._launch(config, size)
                    self.before = False
                    break
                except MemoryFault as fault:
                    self.fault = self.fault or str(fault).splitlines()[0]
                    self.needs_shared |= fault.buffer == LDS
                    self.before &= fault.buffer in self._alone and -FAR < fault.offset < 0
                    self.before &= self._offsets.setdefault(config.geometry, fault.offset) == fault.offset
                    if fault.buffer not in self._places or not size <= fault.offset < sizes[-1]:
                        # Larger allocations would not help, unless the sizes are large constants of the source.
                        is_large = fault.buffer in self._places and sizes[-1] <= fault.offset < _MOST_LARGE
                        if is_large and self._grows and not config.fill.one:
                            self._observed[key] = self._launch_large(config)
                        break
        return self._observed[key]

    def _launch_large(self, config: LaunchConfig) -> Observation | None:
        """Launch with allocations that grow until no access is outside. Return their sizes as accesses."""
        pointers = [each for each in self._args if each.is_pointer]
        while True:
            if self._size != _DIFFERENT:
                self._device.reset()
                for each in pointers:
                    size = self._grown.setdefault(each.name, min(_GAPS))
                    self._places[each.name] = self._device.allocate(size, each.name)
                    self._device.allocate(max(_GAPS.values()), "gap")
                self._places |= {f"structure {i}": self._device.allocate(_STRUCTURE, "structure") for i in self._behind}
                self._places |= self._textures()
                self._size = _DIFFERENT
            self._contents.clear()
            try:
                if self._executed(config, self._places) is None:
                    return None
            except MemoryFault as fault:
                name = fault.buffer or ""
                if not self._grown.get(name, _MOST_LARGE) <= fault.offset < _MOST_LARGE:
                    return None
                self._size = 0
                self._grown[name] = -(-fault.offset * 3 // 2 // _PAGE) * _PAGE
            else:
                self._large.add(config.geometry)
                sizes = {each.name: (self._grown[each.name], each.dtype.itemsize) for each in pointers}
                return {name: Accessed(size // itemsize, size, 1) for name, (size, itemsize) in sizes.items()}

    def _launch(self, config: LaunchConfig, size: int) -> Observation | None:
        """Launch with allocations of a size.

        Raises:
            MemoryFault: the allocations are too small.
        """
        places = self._allocate(size)
        try:
            self._columns = _MANY
            contents = self._executed(config, places)
        except MemoryFault as fault:
            if not any(each.name == fault.buffer and each.key[1] == ROW for each in self._args):
                raise
            self._columns = _FEW
            contents = self._executed(config, places)
        if contents is None:
            return None
        found = {each.name: self._accessed(each, places[each.name]) for each in self._args if each.is_pointer}
        rows = (each for each in self._args if each.key[1] == ROW)
        if self._columns == _FEW and any(found[each.name].end >= _FEW * each.lanes for each in rows):
            return None  # perhaps beyond the row
        self._contents |= {name: contents[name] for name, accessed in found.items() if not accessed.written}
        return found

    def _executed(self, config: LaunchConfig, places: Mapping[str, Allocation]) -> dict[str, object] | None:
        """Execute a launch. Return the content of the tensors before it, or None if it fails.

        Raises:
            MemoryFault: the allocations are too small.
        """
        if message := self._ended():
            raise ProbeLimit(message)
        if not self._launches or self._instructions < 0:
            raise ProbeLimit
        self._launches -= 1
        self._device.restore()
        for name, content in self._constants.items():
            self._device.write_symbol(self._code, name, content)
        arguments, contents = self._arguments(config, places)
        self._contents.clear()  # unknown until the launch ends
        try:
            stats = self._device.launch(
                self._code, self._kernel, grid=config.grid, block=config.block,
                shared_bytes=max(config.shared, self._code.kernels[self._kernel].dynamic_lds),
                args=arguments, options=self._options,
            )  # fmt: skip
        except (UnknownInstruction, UnsupportedFeature) as error:
            raise ProbeLimit(str(error).splitlines()[0]) from error
        except InstructionBudgetExceeded:
            self._instructions -= self._budget
            self.too_long.add(config.key)
            return None
        except MemoryFault:
            raise
        except ParityError as error:
            self.fault = self.fault or str(error).splitlines()[0]
            self.trapped |= isinstance(error, Trapped)
            message = in_one_line(str(error))
            if isinstance(error, DataRace) and error.is_in_lds and not is_scatter(message):
                self.race = self.race or (message if self._blocks is None or config.block in self._blocks else "")
            elif isinstance(error, DataRace) and not error.is_in_lds:
                self.raced.add(config.key)
            return None
        self.cost = stats.instructions
        self.undefined |= stats.undefined is not None
        self._instructions -= self.cost
        return contents

    def _arguments(self, config: LaunchConfig, places: Mapping[str, Allocation]) -> tuple[bytes, dict[str, object]]:
        """Write the content of the tensors. Return the kernel's argument bytes and a description of the content."""
        kernel = self._code.kernels[self._kernel]
        segment, contents = bytearray(kernel.explicit_bytes), dict[str, object]()
        behind = {place: bytearray(_STRUCTURE) for place in self._behind}
        held = {place: bytearray(each.size) for place, each in self._holders.items()}
        # Small integers may be values or switches, so each one is different. The first of two numbers may be a minimum.
        others = (each for each in self._args if not each.is_pointer and not each.is_whole)
        flags = config.fill.flags and not self._unset
        values = {
            each.name: i / 2 if each.dtype.is_float else i * (flags or not each.is_flag)
            for i, each in enumerate(others, 1)
        } | {each.name: each.values[-1] for each in self._args if each.values}
        for each in self._args:
            if each.key[1] == ROW:
                contents[each.name] = self._fill(each, places[each.name], config)
                continue
            if each.rows_of:
                row = places[each.rows_of].size // (_FEW * _MANY) * self._columns
                rows = places[each.rows_of].address + row * np.arange(places[each.name].size // _POINTER)
                self._device.write(places[each.name], rows.astype(np.uint64))
                contents[each.name] = None
                raw = places[each.name].address.to_bytes(_POINTER, "little")
            elif each.texture:
                contents[each.name] = self._fill(each, places[each.name], config)
                raw = self._texture(each, places, config.numbers)
            elif each.is_pointer:
                contents[each.name] = self._fill(each, places[each.name], config)
                address = 0 if each.name in config.fill.nulls else places[each.name].address
                raw = address.to_bytes(8, "little")
            else:
                raw = each.dtype.convert(config.numbers[each.name] if each.is_whole else values[each.name]).tobytes()
            place, at = each.key
            if place in held:
                target, start = held[place], 0
            else:
                target, start = (behind[place], -BEHIND) if at >= BEHIND else (segment, kernel.args[place].offset)
            target[start + at : start + at + len(raw)] = raw
        for place, content in held.items():
            self._device.write(self._holders[place], np.frombuffer(content, np.uint8))
        for place, content in behind.items():
            self._device.write(places[f"structure {place}"], np.frombuffer(content, np.uint8))
            address, at = places[f"structure {place}"].address, kernel.args[place].offset
            segment[at : at + 8] = address.to_bytes(8, "little")
        return bytes(segment), contents

    def _textures(self) -> dict[str, Allocation]:
        """Allocate texture objects, and the tensors of those that are not linear memory."""
        found = {}
        for each in self._args:
            if each.texture:
                found[object_name(each.name)] = self._device.allocate(_OBJECT, "texture")
            if each.texture and not each.is_pointer:
                shape = _usual_shape(parse_texture(f"{each.name} {each.texture}"))
                size = math.prod(shape) * each.lanes * each.dtype.itemsize
                found[each.name] = self._device.allocate(size, each.name)
        return found

    def _texture(self, one: KernelArgument, places: Mapping[str, Allocation], numbers: Numbers) -> bytes:
        """Write a texture object. Return its address."""
        spec, place, found = parse_texture(f"{one.name} {one.texture}"), places[one.name], places[object_name(one.name)]
        texels = place.size // (one.lanes * one.dtype.itemsize)
        shape = _usual_shape(spec)
        if spec.memory:
            shape = (texels,)
        elif one.is_pointer:
            extents = (numbers.get(name, 1) for name in texture_shape(one.texture, 1, one.name, numbers).split())
            shape = tuple(min(max(extent, 1), MOST_LAYERS) for extent in extents)
        texture = texture_of(spec, one.dtype, (*shape, one.lanes))
        # A place outside of a surface is the one that an array of the same extents would have there.
        words = texture.dense(place.address) if one.is_pointer and spec.surface else texture.record(place.address)
        self._device.write(found, np.frombuffer(words, np.uint8), constant=True)
        return found.address.to_bytes(8, "little")

    def _accessed(self, one: KernelArgument, place: Allocation) -> Accessed:
        read, written = self._device.accessed(place)
        if one.key[1] == ROW:  # the furthest access in a row, and the least that was written in a row with accesses
            rows = np.stack([read, written]).reshape(2, _FEW * _MANY // self._columns, -1)
            used = rows.any((0, 2))
            read, written = rows[0].any(0), rows[1][used].all(0) if used.any() else rows[1].any(0)
        last = np.flatnonzero(read | written)[-1:]
        size = one.dtype.itemsize * one.lanes
        end = -(-(int(last[0]) + 1) // size) * one.lanes if last.size else 0
        return Accessed(end, int(np.count_nonzero(read)), int(np.count_nonzero(written)))

    def _allocate(self, size: int) -> Mapping[str, Allocation]:
        """Return allocations of a size for all pointers, far apart. Reuses the last allocations if possible."""
        if self._size != size:
            self._device.reset()
            self._contents.clear()
            gaps, places = [], {}
            for each in self._args:
                if each.is_pointer:
                    places[each.name] = self._device.allocate(_rows_bytes(each) or size, each.name)
                    gaps.append(self._device.allocate(_GAPS[size], "gap"))
            places |= {f"structure {i}": self._device.allocate(_STRUCTURE, "structure") for i in self._behind}
            places |= self._textures()
            for gap in gaps:
                self._device.free(gap)
            self._size, self._places = size, places
        return self._places

    def _fill(self, one: KernelArgument, place: Allocation, config: LaunchConfig) -> object:
        """Write the content of a tensor unless it is there already. Return a description of the content."""
        fill, role = config.fill, config.roles.get(one.name)
        if role:
            content: object = role, config.numbers.get(role.bound, 0)
        else:
            usual = fill.real if one.dtype.is_float else fill.whole
            content = fill.value if fill.one == one.name else ("random", fill.seed) if fill.seed else usual
        if self._contents.get(one.name, self) != content:
            count = place.size // one.dtype.itemsize
            if role:
                values = role.content(count, config.numbers.get(role.bound, 0))
            elif isinstance(content, tuple):
                values = _random(fill.seed, count, is_float=one.dtype.is_float)
            else:
                values = np.full(count, content)
            self._device.write(place, one.dtype.convert(values))
        return content


def _rows_bytes(one: KernelArgument) -> int:
    """Return the size of all rows behind an array of pointers; 0 for another argument."""
    return _FEW * _MANY * one.lanes * one.dtype.itemsize if one.key[1] == ROW else 0


def _usual_shape(spec: TextureSpec) -> tuple[int, ...]:
    """Return the layers and extents of a texture whose size launches do not show."""
    return (*[_LAYERS] * spec.layered, *_EXTENTS[spec.dims])


def _random(seed: int, count: int, *, is_float: bool) -> Array:
    """Return random elements: numbers of several magnitudes, or integers from 0 to 3."""
    random = np.random.default_rng(seed)
    if not is_float:
        return random.integers(0, 4, count)
    return random.standard_normal(count) * 10.0 ** random.integers(-1, 3, count)
