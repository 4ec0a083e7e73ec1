"""Declares how a kernel is called: its arguments, shapes, data and launch."""

from __future__ import annotations

import itertools
import math
import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from parity.dsl.expression import expression
from parity.inference.keywords import Keyword, Literal, rows_name, safe_name
from parity.inference.signature import Parameter, Signature
from parity.inference.spec import GRID_EXTENTS, PLACES, InferredSpec
from parity.inference.textures import object_name
from parity.model.dtypes import NUMBERS
from parity.model.launch import WARP, WARP_SIZE

_COUNT_NAME = re.compile(r"n|numel|el_count|n_?elements|num_elements|count|len|length|size", re.IGNORECASE)
_ROWS_NAME = re.compile(rf"{_COUNT_NAME.pattern}|m|b|t|rows?|n?_?rows|batch\w*|num_\w+|n_\w+", re.IGNORECASE)
_DIM = re.compile(r"(?:\d+\*)?([A-Za-z_]\w*)")
"""Matches a dim from which the value of a name follows."""
_LARGE_DIM = re.compile(r"(\d{2,})\*([A-Za-z_]\w*)")
"""Matches a dim that is large for small values of a name."""
_DRAWN = (1, 2, 3, 7, 33, 300)
"""Choices for an extent that is not a dim of a tensor with data."""
_SQUARE_CHOICES, _LARGE_CHOICES = (1, 2, 3, 7, 33, 64), (1, 2, 3, 7)
"""Choices for names whose work grows with their square, or that have a large factor."""
_BOOLEANS, _SMALL, _MASK_CHOICES = (0, 1), (1, 2, 7), (0, 1, 2)
_SMALL_DATA = {0: ("0..3",), 1: ("0..3",), 2: ("0..1",)}
"""Data of small integers, by how calm all numbers have to be."""
_DIVISORS = ("1..3",)
"""Data of integers that a kernel divides by: a division by zero has no result that CUDA and AMD share."""
_FACTORS = ("-999..999",)
"""Data of integers that are multiplied with each other: compilers may assume that a product does not overflow (D24)."""
_POSITIONS = ("index", "ramp", "repeat")
"""Data streams for tensors whose elements are positions."""
_AROUND = ("points", "near", "small", "bits")
"""Data streams for integers that a kernel compares with constants."""
_ROLE_DATA: Mapping[str, tuple[str, ...]] = {
    "offsets": ("offsets",),
    "parts": ("parts",),
    "starts": ("starts",),
    "lengths": ("lengths",),
    "places": (f"{PLACES[0]}..{PLACES[-1]}",),
    "size": ("index", "repeat"),
    "mask": ("-1..2",),
    "order": ("permutation",),
    "ascending": ("consecutive",),
    "ordered": ("offsets",),
    "segments": ("segments",),
    "ends": ("values.-1",),
}
"""Data streams for tensors whose elements are bounds, by role."""
_CALM, CALM_DATA = (0.5, 1.0), ("0.25..1",)
"""Choices for parameters, and data for tensors, if an index depends on real numbers."""
_GUESS = "a guess"
_DISTINCT = f"{_GUESS}: with repeated elements, several threads write to one place"
_SMALL_NUMBERS = f"{_GUESS}: small numbers; others fail here, or differ between CUDA and AMD"
_PER_ELEMENT = "a guess; add grid= and shapes= unless the host starts a thread per element"
_GRID_EXTENTS = frozenset(GRID_EXTENTS.values())


@dataclass(frozen=True)
class DeclaredCall:
    """How a kernel is called: the words of ``args``, the parameters, and the keywords for shapes and launch."""

    words: Sequence[str]
    params: Mapping[str, str]
    shapes: Sequence[Keyword]
    launch: Sequence[Keyword]


def guessed_call(one: Signature, kinds: Mapping[str, str], *, shaped: bool, to_complete: bool) -> DeclaredCall:
    """Return the call of a kernel from names alone. If it is ``shaped``, inputs determine the shape of outputs.

    If it is ``to_complete``, the call has all lines that a person may have to change.
    """
    words, params = [], {}
    lanes = max(each.lanes for each in one.tensors)
    is_plain = shaped and lanes == 1 and not to_complete
    extent = "n"
    for each in one.args:
        kind = kinds[each.name]
        if each.is_pointer:
            words.append(_word_of_tensor(each))
        elif each.is_empty:
            words.append(_empty(each))
        elif each.name in ("num_dims", "numel"):
            words.append(f"{each.name}:{'u64' if each.size == 8 else 'i32'}")
        elif _COUNT_NAME.fullmatch(each.name) and _is_integer(kind):
            words.append(f"{each.name}:{kind}=numel" if is_plain or extent != "n" else f"{safe_name(each.name)}:{kind}")
            extent = extent if is_plain or extent != "n" else safe_name(each.name)
        else:
            words.append(each.name)
            params[each.name] = kind
    dim = extent if lanes == 1 else f"{lanes}*{extent}"
    shapes = [] if is_plain else [Keyword("shapes", "; ".join(f"{each.name}: {dim}" for each in one.tensors), _GUESS)]
    block = _host_block(one)
    grid = [Keyword("grid", f"ceil({extent}/{block})", _GUESS)] if to_complete and isinstance(block, int) else []
    return DeclaredCall(words, params, shapes, [*grid, Keyword("block", block, _PER_ELEMENT)])


def inferred_call(
    one: Signature, kinds: Mapping[str, str], spec: InferredSpec, filled: Collection[str]
) -> DeclaredCall:
    """Return the call of a kernel from what launches show. ``filled`` are the tensors with data."""
    facts = _Facts(one, kinds, spec, filled)
    params: dict[str, str] = dict.fromkeys(sorted({*facts.drawn} & _GRID_EXTENTS), "i32")
    masks = {
        each.bound: _MASK_CHOICES for each in spec.roles.values() if each.use == "mask" and each.bound.isidentifier()
    }
    choices: dict[str, Literal] = {**facts.drawn, **facts.few_blocks, **_few(spec), **spec.choices, **masks}
    words = []
    for each in one.args:
        word, kind = _word(each, facts)
        words.append(word)
        if kind:
            params[word] = kind
            if word in facts.drawn:
                continue
            if each.name in spec.unset:
                choices[word] = (0,)
            elif each.values:
                choices.setdefault(word, each.values[-1:] if spec.calm else each.values)  # the last one was tried
            elif each.is_bool:
                choices[word] = _BOOLEANS
            elif spec.calm and _is_real(kind):
                choices[word] = _CALM
            elif each in facts.idle and kind in NUMBERS:
                choices.setdefault(word, _SMALL)
    where, more = _conditions(facts)
    shapes = "; ".join(f"{name}: {shape}" for name, shape in spec.shapes.items())
    has_distinct = any(role.use == "ascending" for role in spec.roles.values())
    data, points = _data(one, facts), _points(one, facts)
    data |= {name: _AROUND for name in points if name not in data}
    keywords = (
        Keyword("shapes", "" if facts.is_plain else shapes, _GUESS, wraps=True),
        Keyword("where", " and ".join(where), _GUESS, wraps=True),
        Keyword("choices", {**choices, **more}),
        Keyword("indices", _indices(spec), _GUESS),
        Keyword("data", data, _DISTINCT if has_distinct else _SMALL_NUMBERS if spec.calm else ""),
        Keyword(
            "points", tuple(sorted({*itertools.chain(*(points[name] for name in points if data[name] == _AROUND))}))
        ),
    )
    return DeclaredCall(words, params, [each for each in keywords if each.value], _launch(facts))


def is_idle(parameter: Parameter, kinds: Mapping[str, str], spec: InferredSpec) -> bool:
    """Return True for an integer that no shape and no grid depends on."""
    kind = parameter.dtype or kinds[parameter.name]
    known = {*spec.names, *spec.distances, *spec.made}
    return not parameter.is_pointer and _is_integer(kind) and safe_name(parameter.name) not in known


@dataclass(frozen=True)
class _Facts:
    """The conclusions from a specification. ``given`` are the tensors with data."""

    one: Signature
    kinds: Mapping[str, str]
    spec: InferredSpec
    given: Collection[str]

    @cached_property
    def filled(self) -> Collection[str]:
        """The tensors with data, or else all tensors."""
        return self.given or set(self.spec.shapes)

    @cached_property
    def determined(self) -> frozenset[str]:
        """The names whose values follow from the shapes of tensors with data."""
        dims = (dim for each in self.filled for dim in self.spec.shapes[each].split())
        return frozenset(match[1] for dim in dims if (match := _DIM.fullmatch(dim)))

    @cached_property
    def drawn(self) -> Mapping[str, Literal]:
        """Choices for all other names: small ones if further names multiply the number of blocks."""
        names = sorted(self.spec.names - self.determined - {"threads"})
        return {name: _LARGE_CHOICES if name in _GRID_EXTENTS and self.multiplied else _DRAWN for name in names}

    @cached_property
    def multiplied(self) -> frozenset[str]:
        """The names in a grid whose axes depend on several names."""
        axes = [names for text in self.spec.grid if (names := expression(text).names)]
        return frozenset().union(*axes) if len(axes) > 1 else frozenset()

    @property
    def few_blocks(self) -> dict[str, Literal]:
        """Choices for extents of tensors that are numbers of blocks for each of a free extent."""
        is_free = not {*self.drawn}.isdisjoint(self.multiplied & _GRID_EXTENTS)
        return dict.fromkeys(
            sorted(self.multiplied & _GRID_EXTENTS & self.determined) if is_free else (), _SQUARE_CHOICES
        )

    @cached_property
    def idle(self) -> Sequence[Parameter]:
        """The integers that nothing depends on."""
        return [each for each in self.one.args if is_idle(each, self.kinds, self.spec)]

    @cached_property
    def extent(self) -> str:
        """The dim of all tensors, if there is only one."""
        dims = set(self.spec.shapes.values())
        return dims.pop() if len(dims) == 1 else ""

    @property
    def any_grid(self) -> bool:
        """True if one block is enough for a kernel that loops over its elements."""
        spec, flow = self.spec, self.one.flow
        return spec.grid == ("1",) and not spec.is_measured and flow is not None and flow.strided

    @cached_property
    def is_plain(self) -> bool:
        """True if one thread per element is enough for every rank."""
        spec = self.spec
        if self.one.triton:  # a block has more elements than threads
            return False
        per_element = spec.grid == (f"ceil({self.extent}/{math.prod(spec.block)})",)
        special = (
            self.drawn
            or self.extent in spec.choices
            or spec.where
            or spec.threads
            or spec.shared
            or spec.indices
            or spec.roles
        )
        is_flat = (self.any_grid or per_element) and len(spec.block) == 1 and self.extent.isidentifier()
        return is_flat and bool(self.given) and not special


def _few(spec: InferredSpec) -> dict[str, Literal]:
    """Return choices for names that occur twice in a shape or next to such a name, or with a large factor."""
    dims = [shape.split() for shape in spec.shapes.values()]
    twice = {dim for each in dims for dim, count in Counter(each).items() if count > 1}
    next_to = {dim for each in dims if not twice.isdisjoint(each) for dim in each if dim.isidentifier()}
    large = [match[2] for shape in spec.shapes.values() for match in _LARGE_DIM.finditer(shape)]
    large += [
        dim for shape in spec.shapes.values() if _LARGE_DIM.search(shape) for dim in shape.split()
        if dim in _GRID_EXTENTS
    ]  # fmt: skip
    return {**dict.fromkeys(sorted(twice | next_to), _SQUARE_CHOICES), **dict.fromkeys(large, _LARGE_CHOICES)}


def _word(each: Parameter, facts: _Facts) -> tuple[str, str]:
    """Return the word of an argument in ``args``, and its type if it is a parameter."""
    spec, kind, name = facts.spec, facts.kinds[each.name], safe_name(each.name)
    if name in spec.names:
        kind = each.dtype or kind
    if each.is_pointer:
        return _word_of_tensor(each), ""
    if each.is_empty:
        return _empty(each), ""
    if formula := spec.distances.get(name) or spec.made.get(name):
        return f"{name}:{each.dtype or kind}={formula}", ""
    if name in facts.drawn:
        return name, kind
    if facts.is_plain and name == facts.extent:
        return (f"numel:{kind}" if each.name == "numel" else f"{name}:{kind}=numel"), ""
    if name in spec.names:
        return f"{name}:{kind}", ""
    free = sorted(spec.names & _GRID_EXTENTS)
    if facts.idle == [each] and len(free) == 1 and _ROWS_NAME.fullmatch(name):
        return f"{name}:{kind}={free[0]}", ""
    return name, kind


def _word_of_tensor(each: Parameter) -> str:
    if each.is_rows:
        return rows_name(each.name)
    return object_name(each.name) if each.texture else each.name


def _conditions(facts: _Facts) -> tuple[tuple[str, ...], dict[str, Literal]]:
    """Return the conditions of ``where``, and choices that make distinct positions likely."""
    spec, choices = facts.spec, dict[str, Literal]()
    # Empty tensors are excluded: what is not written then is not an output.
    where = (*spec.where, *(f"{each} > 0" for each in spec.indices.values() if not each.isdecimal()))
    where += tuple(
        f"{each.bound} > 0"
        for each in spec.roles.values()
        if each.use in ("offsets", "parts", "starts", "segments") and not each.bound.isdecimal()
    )
    for name in sorted(spec.distinct):
        count, most = spec.shapes[name].replace(" ", "*"), spec.indices[name]
        where += (f"{count} <= {most}",)
        if count.isidentifier() and most not in facts.determined - {f"{name}_range"} and most != count:
            choices[most] = (count, f"{count}+1", f"2*{count}")
    return tuple(dict.fromkeys(where)), choices


def _indices(spec: InferredSpec) -> dict[str, Literal]:
    """Return how many positions, or which values, the elements of integer tensors have."""
    indices: dict[str, Literal] = dict(spec.indices)
    for name, role in spec.roles.items():
        if role.use not in ("mask", "places", "ordered"):
            indices[name] = f"{role.bound}+1" if role.bound else spec.shapes[name].replace(" ", "*")
    return indices


def _data(one: Signature, facts: _Facts) -> dict[str, Literal]:
    """Return the data streams that tensors need because of their role."""
    spec, data = facts.spec, dict[str, Literal]()
    for each in one.args:
        if spec.calm and each.is_pointer and each.name in facts.filled:
            data[each.name] = CALM_DATA if _is_real(facts.kinds[each.name]) else _SMALL_DATA[spec.calm]
    data |= dict.fromkeys(sorted(spec.small), _SMALL_DATA[spec.calm])
    marked = {each.name for each in one.args if one.flow and -1 in one.flow.wholes.get(each.key, ())}
    data |= dict.fromkeys(sorted(marked & spec.small if not spec.calm else ()), _ROLE_DATA["mask"])
    divisors = one.flow.divisors if one.flow else frozenset()
    data |= {each.name: _DIVISORS for each in one.args if each.key in divisors and each.name in facts.filled}
    factors = one.flow.factors if one.flow and not spec.calm else frozenset()
    signed = (each for each in one.args if each.key in factors and facts.kinds.get(each.name) == "i32")
    data |= {each.name: _FACTORS for each in signed if each.name in facts.filled and each.name not in data}
    data |= {name: (text,) for name, text in spec.ranges.items() if name in facts.filled}
    data |= dict.fromkeys(spec.indices, _POSITIONS) | dict.fromkeys(spec.distinct, _ROLE_DATA["order"])
    data |= {name: (text,) for name, text in spec.ranges.items() if name in spec.indices}
    parted = {each.name for each in one.args if one.flow and each.key in one.flow.parted}
    data |= {name: _ROLE_DATA[role.use] for name, role in spec.roles.items()}
    rows = {name for name, role in spec.roles.items() if role.use == "offsets"}
    bools = [each.name for each in one.args if each.is_bool and each.is_pointer and each.name in facts.filled]
    data |= dict.fromkeys(sorted(parted & rows), _ROLE_DATA["parts"]) | dict.fromkeys(bools, ("0..1",))
    outputs = {each.name for each in one.tensors} - {*facts.given}
    return {name: streams for name, streams in data.items() if name not in outputs}


def _points(one: Signature, facts: _Facts) -> dict[str, tuple[int, ...]]:
    """Return the integers, other than 0 and 1, that the kernel compares the elements of each tensor with."""
    wholes = one.flow.wholes if one.flow else {}
    found = {each.name: wholes.get(each.key, ()) for each in one.args if each.name in facts.filled}
    return {name: values for name, values in found.items() if not {*values} <= {-1, 0, 1}}


def _launch(facts: _Facts) -> list[Keyword]:
    spec = facts.spec
    grid = (
        []
        if (facts.is_plain or facts.any_grid) and not facts.one.triton
        else [Keyword("grid", ", ".join(spec.grid), _GUESS)]
    )
    text = ", ".join(_threads(facts.one, spec.block))
    block: Literal = int(text) if text.isdecimal() else text
    shared = [Keyword("shared", spec.shared, _GUESS)] if spec.shared else []
    return [*grid, Keyword("block", spec.threads or block, _PER_ELEMENT if facts.is_plain else _GUESS), *shared]


def _threads(one: Signature, block: Sequence[int]) -> list[str]:
    """Return the threads of a block along each axis. The host may have the width of a warp for a number."""
    for launch in one.launches:
        if WARP_SIZE in launch.block and len(launch.block) >= len(block):
            pairs = zip(launch.block, block, strict=False)
            return [WARP_SIZE if host == WARP_SIZE and size == WARP else str(size) for host, size in pairs]
    return [*map(str, block)]


def _host_block(one: Signature) -> Literal:
    """Return the constant block of a launch in host code, or the launch bounds up to the usual number of threads."""
    for launch in one.launches:
        sizes = [size for size in launch.block if isinstance(size, int)]
        if len(sizes) == len(launch.block):
            return sizes[0] if len(sizes) == 1 else ", ".join(map(str, sizes))
    return min(256, math.prod(one.flow.threads)) if one.flow and one.flow.threads else 256


def _empty(parameter: Parameter) -> str:
    """Return the word of a structure without fields, such as a functor."""
    return f"{safe_name(parameter.name)}:u8=0"


def _is_real(kind: str) -> bool:
    """Return True for a floating-point type, or a type variable."""
    return kind not in NUMBERS or NUMBERS[kind].is_float


def _is_integer(kind: str) -> bool:
    return kind in NUMBERS and not NUMBERS[kind].is_float
