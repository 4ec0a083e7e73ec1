"""Built-in cases: named cases, strided templates and edge templates for every run, and the cases to measure."""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Any

from parity.cases.conditions import allows, default_options
from parity.cases.parser import find_mismatch, parse_case
from parity.data.extents import alternatives, evaluated, limits, measure
from parity.data.layouts import in_rows
from parity.errors import UsageError
from parity.model.case import Case
from parity.model.dtypes import DType, resolve_dtype
from parity.model.launch import BLOCK, Scalar
from parity.model.layout import Layout, contiguous
from parity.ops.case_view import CaseView, view_case
from parity.ops.declaration import Declaration, NamedCase
from parity.ops.lowering import MOST_SPARSE, Call, case_rows, has_independent_rows, is_pointwise, lower
from parity.ops.row_sampling import row_axes, with_rows
from parity.platform.files import read_rows
from parity.triton_kernels.kernel import parameter_values

BENCH_BYTES = 2**28
"""Bytes of the largest tensor of the contiguous case to measure: 64 Mi elements of four bytes."""


@dataclass(frozen=True)
class StridedTemplate:
    """A row of ``strided_templates.csv``: a case for every elementwise grid-stride kernel. All tensors have one layout.

    Attributes:
        data: the stream of the inputs that accept it (default, and for other inputs: a usual stream of the op).
        aliased: layout of the second operand, for kernels whose two operands may share memory.
        narrowing: only for kernels whose result has a floating-point type that is smaller than an input's type.
        in_place: only for kernels that may read an input from the output.
        once: only for the op's first dtypes, because the case takes long.
    """

    title: str
    layout: str
    launch: str
    data: str
    aliased: str
    narrowing: bool
    in_place: bool
    once: bool


STRIDED_TEMPLATES = read_rows(Path(__file__).with_name("strided_templates.csv"), StridedTemplate)
"""Layouts and launches for the fast and slow paths of elementwise kernels."""


@dataclass(frozen=True)
class EdgeTemplate:
    """A row of ``edge_templates.csv``: other data for the inputs of a drawn case, for kernels that accept such data.

    An input accepts ``stream`` if the op declares one of ``floats``, ``integers`` or ``blocks`` for it, depending on
    the input's type.

    Attributes:
        in_rows: only for kernels that do not fit a strided template.
        gap: elements to insert between the rows of every tensor that has several rows and may have gaps.
    """

    title: str
    stream: str
    floats: tuple[str, ...]
    integers: tuple[str, ...]
    blocks: tuple[str, ...]
    in_rows: bool
    gap: int

    def accepts(self, kind: DType, streams: Collection[str]) -> bool:
        """Return whether an input of this type, with these declared streams, accepts the data."""
        wanted = self.floats if kind.is_float else self.blocks if kind.is_block else self.integers
        return not set(wanted).isdisjoint(streams)


EDGE_TEMPLATES = read_rows(Path(__file__).with_name("edge_templates.csv"), EdgeTemplate)
SPARSE_LAYOUT, SPARSE_LAUNCH = "92681x92681x2:1,1,1", "launch=67108864x32"
"""More than 2^33 elements in little memory, for launches of which only a sample of the blocks runs."""
SPARSE_OUTPUT = "92681x92683:1,92681"
"""The layout of an output that a case spells out. Its elements must not overlap."""
SPARSE_THREADS = "threads=32"
"""Threads per block of a kernel with a block per row. With more, the launch would have too many threads."""
MOST_ROW_SHAPES, FEW_ROWS = 8, 5
"""Limits for the rows to sample: shapes to try, and rows in the test for independence."""
MANY_BLOCKS = (4096, 1)
"""Blocks and threads per block of a launch with one thread per block and, usually, idle blocks."""

MAX_EDGE_ELEMENTS = 2304
"""Largest tensor of the drawn case that becomes an edge case."""

LARGE, LARGE_TITLE = 66051, "more than 65,536 elements"
"""Elements and title of a case whose indices do not fit 16 bits, as in ``strided_templates.csv``."""

MAX_LIMIT_PRODUCT = 2**13
"""Limit for the product of all extents of a case in which several names have their largest value."""

SHIFT = 29
"""Distance between the starts of two tensors' data, so that special values meet other special values."""

_GRID_RULE = re.compile(r"ceil\(([A-Za-z_]\w*(?:\*[A-Za-z_]\w*)*)/(\d+)\)")
"""Matches the blocks along a dim in the grid of an op: ``ceil(rows*cols/256)``."""

_SIZES = re.compile(r"(\d+)\|(\d+)")
_LAUNCH = re.compile(r"\b(launch|threads)=")


def named_cases(op: Declaration, dtypes: Sequence[str], launches: str) -> list[tuple[str, Case]]:
    """Return title and case of the strided templates and the named cases; ``launches`` is "any" or "host"."""
    types = op.bind(dtypes)
    strided = {_template_items(op, each, types): each.title for each in reversed(_strided_templates(op, dtypes))}
    templates = [NamedCase(title, items) for items, title in reversed(strided.items())]
    chosen = _matching(op, dtypes, (*templates, *op.named))
    if launches == "host":
        chosen = [each for each in chosen if not has_custom_launch(each.items)]
    return [(each.title, parse_case(op, _text(op, dtypes, each.items))) for each in chosen]


def edge_cases(op: Declaration, drawn: Sequence[Case], launches: str) -> list[tuple[str, Case]]:
    """Return title and case of the edge templates, applied to the largest drawn case within the limit.

    ``launches`` is "any" or "host". A kernel without strided templates also gets a launch of many blocks.
    """
    sized = [(max((each.span for each in case.layouts.values()), default=0), case) for case in drawn]
    small = [case for size, case in sorted(sized, key=lambda each: each[0], reverse=True) if size <= MAX_EDGE_ELEMENTS]
    if not small:
        return []
    base, found = small[0], []
    strided = bool(_strided_templates(op, base.dtypes))
    for edge in EDGE_TEMPLATES:
        if edge.in_rows and strided:
            continue
        spaced = (_with_gaps(op, each, edge.gap) for each in small)
        of = next((new for old, new in zip(small, spaced, strict=True) if new != old), None) if edge.gap else base
        case = of and _with_data(op, of, edge)
        if case and case != base and case not in drawn and not find_mismatch(op, view_case(op, case)):
            found.append((edge.title, case))
    if launches != "host":
        sparse = sparse_case(op, base)
        usual = next((each for each in op.types if "f32" in each.split(",")), op.types[0])
        large = [sparse] if sparse else sparse_rows(op, drawn, long=",".join(base.dtypes) == usual)
        found += (("more than 2^33 elements, of which a sample is computed", each) for each in large)
    case = replace(base, launch=MANY_BLOCKS, threads=None)
    if launches != "host" and op.grid_stride and not op.then and not strided and case not in drawn:
        found.append(("many blocks of one thread", case))
    found += limit_cases(op, base.dtypes, drawn) + full_block_cases(op, base.dtypes, drawn)
    return found + large_cases(op, base)


def sparse_case(op: Declaration, base: Case) -> Case | None:
    """Return a case with more than 2^33 elements; None if ``op`` is not elementwise, judged by the case ``base``."""
    layout, small = (SPARSE_OUTPUT, "3x5:1,3") if op.writes else (SPARSE_LAYOUT, "3x5x2:1,1,1")
    if not op.may_be_sampled or not _accepts_everywhere(op, Layout.parse(small), base.dtypes):
        return None
    items = _items(op, dict.fromkeys(op.tensors, layout), op.bind(base.dtypes))
    try:
        case = parse_case(op, f"{_text(op, base.dtypes, items)[:-1]} {SPARSE_LAUNCH})")
        lower(op, case)
        return case if is_pointwise(op, base) else None
    except UsageError:  # a number does not fit the type of an argument
        return None


def sparse_rows(op: Declaration, drawn: Sequence[Case], *, long: bool) -> list[Case]:
    """Return cases with more than 2^33 elements whose rows are independent: with short rows, and with ``long`` rows.

    The indices of short rows have more than 32 bits themselves. Returns no case if no drawn case leads to one.
    """
    sized = sorted(((_row_size(op, case), case) for case in drawn), key=lambda each: each[0])
    short = _with_sparse_rows(op, [(size, case) for size, case in sized if size > 1], 4)
    found = (_with_sparse_rows(op, sized[::-1], 2) if long or not short else None, short)
    return [case for case in dict.fromkeys(found) if case]


def _with_sparse_rows(op: Declaration, sized: Sequence[tuple[int, Case]], multiple: int) -> Case | None:
    """Return a case with the rows of the first suitable case, and ``multiple`` times 2^32 elements."""
    launch = SPARSE_LAUNCH if op.grid_stride else SPARSE_THREADS * bool(op.threads)
    for size, base in sized[:MOST_ROW_SHAPES]:
        if not size:
            break
        axes = row_axes(op, base) or {}
        wanted = min(multiple * 2**32, MOST_SPARSE - size) // size + 1
        for count, strides in _spread_rows(op, base, axes, size, wanted):
            try:
                case = _with_usual_data(op, with_rows(base, axes, count, strides))
                case = parse_case(op, f"{str(case)[:-1]} {launch})")
                if not (_takes_large_numbers(lower(op, case)) or op.large_rows):
                    return None
                if has_independent_rows(op, with_rows(case, axes, FEW_ROWS)):
                    return case
            except UsageError:  # a condition, strides that the kernel does not accept, or a number that is too large
                continue
    return None


def _takes_large_numbers(call: Call) -> bool:
    """Return whether a launch passes an integer of 64 bits. Kernels without one usually index with 32 bits."""
    numbers = (each for launch in call.launch.sequence for each in launch.args if isinstance(each, Scalar))
    return "info" in call.buffers or any(each.dtype.name in ("i64", "u64") for each in numbers)


def _spread_rows(
    op: Declaration, base: Case, axes: Mapping[str, int], size: int, count: int
) -> Iterator[tuple[int, Mapping[str, int]]]:
    """Yield numbers of rows, and strides of the inputs' rows: with gaps, without, overlapping, and fewer rows.

    ``size`` is the number of elements of an output's row, and ``count`` the wanted number of rows. Gaps come first:
    without them, a row that is read from and written to a wrong place has the right values.
    """
    sizes = {name: base.layouts[name].numel // case_rows(op, base) for name in axes if name in base.layouts}
    inputs = {name: size for name, size in sizes.items() if not axes[name] and name not in op.compared}
    for strides in ({name: size + 1 for name, size in inputs.items()}, {}, dict.fromkeys(inputs, 1)):
        fitting = min(count, MOST_SPARSE // max([size, *({**sizes, **strides}.values())]))
        if fitting * size > 2**33 and (fitting > 2**32 or count <= 2**32):
            yield fitting, strides
    yield MOST_SPARSE // max([size, *sizes.values()]), {}


def _row_size(op: Declaration, case: Case) -> int:
    """Return the elements of a row of the output, or, with a block per row, of the tensors; 0 without rows."""
    axes, (rows, *rest) = row_axes(op, case), view_case(op, case).shape or (0,)
    if axes is None or not rows:
        return 0
    inputs = [] if op.grid_stride else [layout.numel // rows for name, layout in case.layouts.items() if name in axes]
    return max([math.prod(rest), *inputs])


def _with_usual_data(op: Declaration, case: Case) -> Case:
    """Return the case with the usual data of every input: numbers rather than special values."""
    types, tensors = op.bind(case.dtypes), dict(case.tensors)
    for name in op.filled:
        streams = op.available_streams(name, types)
        tensors[name] = replace(tensors[name], data="normal" if "normal" in streams else streams[0], start=0)
    return case.with_tensors(tensors)


def limit_cases(op: Declaration, dtypes: Sequence[str], drawn: Sequence[Case]) -> list[tuple[str, Case]]:
    """Return title and case of the smallest and largest values that the op allows, unless a drawn case has them.

    Limits follow from ``choices`` and from conditions on a single name. A case combines limits
    if their product stays small.
    """
    if op.layouts or not op.shapes:
        return []
    seen = {pair for case in drawn for pair in view_case(op, case).scope.names.items()}
    wanted = [pair for pair in _limits(op) if pair not in seen]
    found: list[tuple[str, Case]] = []
    while wanted:
        name, value = wanted.pop(0)
        for others in (wanted, ()):
            case = _case_with(op, dtypes, name, value, others)
            if case and case not in drawn:
                names = view_case(op, case).scope.names
                found.append((f"a limit of {name}", case))
                wanted = [pair for pair in wanted if names.get(pair[0]) != pair[1]]
                break
    return found


def full_block_cases(op: Declaration, dtypes: Sequence[str], drawn: Sequence[Case]) -> list[tuple[str, Case]]:
    """Return title and case in which the last block is full, for each rule of the grid such as ``ceil(rows*cols/256)``.

    The threads of a block may also share an innermost dim that the grid does not divide. Rules for which a drawn case
    has full blocks are left out. Strided templates cover kernels with a grid-stride loop.
    """
    if op.grid_stride or op.launch or op.layouts:
        return []
    block = op.block if isinstance(op.block, int) else 0
    rules = [(product.split("*"), int(threads)) for product, threads in _GRID_RULE.findall(str(op.grid))]
    if not op.grid:
        rules = [(["numel"], block or BLOCK)]
    if op.shapes and block:
        along = {name for names, _ in rules for name in names}
        rules += [([name], block) for name in _innermost(op) if name not in along]
    found: dict[Case, str] = {}
    for names, threads in rules:
        has_full_blocks = partial(_has_full_blocks, op, names, threads)
        if not any(map(has_full_blocks, (*drawn, *found))):
            tried = filter(None, _with_size(op, dtypes, names, threads))
            if case := next(filter(has_full_blocks, tried), None):
                found[case] = "whole blocks" if names == ["numel"] else f"whole blocks along {'*'.join(names)}"
    return [(title, case) for case, title in found.items()]


def large_cases(op: Declaration, base: Case) -> list[tuple[str, Case]]:
    """Return title and case of more elements than 16 bits count, if ``op`` is elementwise.

    The reference shows that. Without one, the launch has to have a thread per element, and the engine leaves the case
    out if its time may grow with the square of the elements. The case is only for the op's first dtypes, because it
    takes long. Strided templates cover kernels with a grid-stride loop.
    """
    if op.grid_stride or op.writes or not op.may_be_elementwise:
        return []
    if ",".join(base.dtypes) != op.types[0] or not _accepts_everywhere(op, contiguous((LARGE,)), base.dtypes):
        return []
    items = _items(op, dict.fromkeys(op.tensors, str(LARGE)), op.bind(base.dtypes))
    case = parse_case(op, _text(op, base.dtypes, items))
    is_elementwise = is_pointwise(op, base) if op.reference else _has_thread_per_element(op)
    return [(LARGE_TITLE, case)] if is_elementwise else []


def _has_thread_per_element(op: Declaration) -> bool:
    rule = _GRID_RULE.fullmatch(str(op.grid))
    return not (op.launch or op.workspace or op.library) and (not op.grid or bool(rule and rule[1] == "numel"))


def _has_full_blocks(op: Declaration, names: Sequence[str], threads: int, case: Case) -> bool:
    """Whether the product of the names is a positive multiple of the threads of a block."""
    values = view_case(op, case).output_scope.names
    size = math.prod(values.get(name, 0) for name in names)
    return bool(size > 0 and size % threads == 0)


def _innermost(op: Declaration) -> Iterator[str]:
    """Yield the names that are the innermost dim of a tensor."""
    last = (str(dims[-1]) for dims in op.parsed_shapes.tensors.values() if dims)
    yield from dict.fromkeys(name for name in last if name in op.parsed_shapes.free)


def _with_size(op: Declaration, dtypes: Sequence[str], names: Sequence[str], size: int) -> Iterator[Case | None]:
    """Yield cases in which one of the names, or of all names for ``numel``, is twice ``size``, or ``size``."""
    if not op.shapes:
        if _accepts_everywhere(op, contiguous((2 * size,)), dtypes):
            items = _items(op, dict.fromkeys(op.tensors, str(2 * size)), op.bind(dtypes))
            yield parse_case(op, _text(op, dtypes, items))
        return
    for name in reversed(op.parsed_shapes.free):
        if name in names or names == ["numel"]:
            yield from (_case_with(op, dtypes, name, count * size, ()) for count in (2, 1))


def _limits(op: Declaration) -> list[tuple[str, int]]:
    """The smallest positive and the largest value of every name that has numeric choices or a condition."""
    options: dict[str, list[int]] = {}
    for name, values in (pair for each in alternatives(op.choices) for pair in each.items()):
        options.setdefault(name, []).extend(n for n in values if isinstance(n, int) and n > 0)
    for name in op.parsed_shapes.free:
        if name not in options and op.conditions_on(name) and name not in op.parsed_shapes.many:
            options[name] = [n for n in limits(partial(allows, op, name)) if n]
    return [(name, n) for name, of in options.items() if of for n in dict.fromkeys((max(of), min(of)))]


def _case_with(
    op: Declaration, dtypes: Sequence[str], name: str, value: int, others: Sequence[tuple[str, int]]
) -> Case | None:
    """A case in which a name has a value; None if the op refuses it.

    ``others`` are wanted values of further names, which the case has where ``MAX_LIMIT_PRODUCT`` and the choices allow.
    The remaining names have their first choice or default value.
    """
    given = [each for each in alternatives(op.choices) or [{}] if value in each.get(name, (value,))]
    if not given:
        return None
    chosen = {each: options[0] for each, options in given[0].items()}
    for each in op.parsed_shapes.free:
        chosen.setdefault(each, default_options(op, each, "few")[0])
    chosen[name] = value
    for other, wish in others:
        product = math.prod(measure(n) for k, n in chosen.items() if k != other and isinstance(n, int))
        if other != name and wish in given[0].get(other, (wish,)) and product * wish <= MAX_LIMIT_PRODUCT:
            chosen[other] = wish
    types = op.bind(dtypes)
    try:
        scope = evaluated(chosen, op.parsed_shapes)
        layouts = {each: str(contiguous(op.parsed_shapes.shape(each, scope))) for each in op.tensors}
        return parse_case(op, _text(op, dtypes, _items(op, layouts, types, params=scope.names)))
    except UsageError:
        return None


def _with_data(op: Declaration, case: Case, edge: EdgeTemplate) -> Case:
    """Return the case with the edge's data in every input that accepts them."""
    types, tensors = op.bind(case.dtypes), dict(case.tensors)
    for number, name in enumerate(name for name in op.filled if name in tensors and name not in op.indices):
        if edge.accepts(resolve_dtype(op.tensors[name], types), op.available_streams(name, types)):
            tensors[name] = replace(tensors[name], data=edge.stream, start=SHIFT * number)
    if op.aliased and "aliased" in case.flags:
        tensors[op.aliased[1]] = tensors[op.aliased[0]]
    return case.with_tensors(tensors)


def _with_gaps(op: Declaration, case: Case, gap: int) -> Case:
    """Return the case with gaps between the rows of every tensor that has several rows and may have gaps.

    These tensors start at an aligned address, because kernels take their fast path for vectors there.
    """
    tensors = dict(case.tensors)
    for name, tensor in case.tensors:
        of = tensor.layout
        if of.shape and of.shape[-1] < of.numel and 0 not in of.strides:
            spaced = in_rows(of.shape, of.shape[-1] + gap, 0)
            if not op.accepted_strides(name).complaint(spaced):
                tensors[name] = replace(tensor, layout=spaced)
    return case.with_tensors(tensors)


def has_custom_launch(text: str) -> bool:
    """Return whether the text of a case, or of its items, replaces the launch rule of the op."""
    return _LAUNCH.search(text) is not None


def covered_divergences(op: Declaration, dtypes: Sequence[str]) -> dict[str, str]:
    """Map the text of each named case that covers a known CUDA/AMD divergence to the divergence's id."""
    named = _matching(op, dtypes, (each for each in op.named if each.divergence))
    return {str(parse_case(op, _text(op, dtypes, each.items))): each.divergence for each in named}


def bench_cases(op: Declaration, dtypes: Sequence[str], small: bool) -> list[tuple[str, Case]]:
    """Return title and case of everything to measure; ``small`` selects the sizes for emulators."""
    chosen = _matching(op, dtypes, (*_contiguous(op, dtypes), *op.bench))
    items = [(each.title, _SIZES.sub(r"\2" if small else r"\1", each.items)) for each in chosen]
    return [(title, parse_case(op, _text(op, dtypes, each))) for title, each in items]


def _matching(op: Declaration, dtypes: Sequence[str], cases: Iterable[NamedCase]) -> list[NamedCase]:
    """The cases that apply to these dtypes."""
    return [n for n in cases if n.only is None or op.origin.call(f"only of {n.title!r}", n.only, *dtypes)]


def _text(op: Declaration, dtypes: Sequence[str], items: str) -> str:
    return f"{op.name}[{','.join(dtypes)}]({items})"


def _contiguous(op: Declaration, dtypes: Sequence[str]) -> Sequence[NamedCase]:
    types = op.bind(dtypes)
    count = BENCH_BYTES // max(resolve_dtype(kind, types).itemsize for kind in op.kinds.values())
    if not _accepts_everywhere(op, contiguous((count,)), dtypes):
        return ()
    flags = " null-info" * ("null-info" in op.flags)
    return (NamedCase("contiguous", _items(op, dict.fromkeys(op.tensors, f"{count}|16384"), types) + flags),)


def _accepts_everywhere(op: Declaration, layout: Layout, dtypes: Sequence[str]) -> bool:
    """Whether all tensors, including outputs, may have this layout."""
    if op.mismatch or op.shape:
        return False
    types = op.bind(dtypes)
    params = {name: _usual(op, name, types) for name in op.params}
    view = CaseView(op, dict.fromkeys(op.tensors, layout), params, types)
    if find_mismatch(op, view) or any(each != layout.shape for each in view.shapes.values()):
        return False
    return not any(op.accepted_strides(name).complaint(layout) for name in op.tensors)


def _strided_templates(op: Declaration, dtypes: Sequence[str]) -> list[StridedTemplate]:
    """The strided templates that fit an op."""
    if not op.grid_stride or op.then:
        return []
    types = op.bind(dtypes)
    return [
        each
        for each in STRIDED_TEMPLATES
        if (not each.aliased or op.aliased)
        and (not each.in_place or op.in_place)
        and (not each.once or ",".join(dtypes) == op.types[0])
        and (not each.narrowing or _narrows(op, types))
        and _accepts_everywhere(op, Layout.parse(each.layout), dtypes)
    ]


def _template_items(op: Declaration, template: StridedTemplate, types: Mapping[str, DType]) -> str:
    """The items of a strided template's case. Aliased operands have the data of the first operand."""
    items = _items(op, dict.fromkeys(op.tensors, template.layout), types, template.data)
    if template.aliased and op.aliased:
        first, second = op.aliased
        data = items.partition(f"{first}={template.layout}")[2].split()[0]
        items = re.sub(rf"(?<!\S){second}=\S+", f"{second}={template.aliased}{data}", items) + " aliased"
    return " ".join(filter(None, (items, "in-place" * template.in_place, template.launch)))


def _items(
    op: Declaration,
    layouts: Mapping[str, str],
    types: Mapping[str, DType],
    data: str = "",
    params: Mapping[str, Any] = MappingProxyType({}),
) -> str:
    """The items of a case with these layouts and parameters, and the data of a stream for tensors that accept it."""
    found = {}
    for number, name in enumerate(op.filled):
        streams = op.available_streams(name, types)
        usual = "normal" if "normal" in streams else streams[0]
        found[name] = f"~{data}@{SHIFT * number}" if data and _accepts(op, name, types, data) else f"~{usual}@0"
    items = [f"{name}={layouts[name]}{found.get(name, '')}" for name in op.tensors]
    items += [f"{n}={params.get(n, _usual(op, n, types))}" for n in op.params]
    return " ".join(items)


def _narrows(op: Declaration, types: Mapping[str, DType]) -> bool:
    results = [resolve_dtype(op.kinds[name], types) for name in op.compared]
    largest = max((resolve_dtype(op.kinds[name], types).itemsize for name in op.filled), default=0)
    return any(each.is_float and each.itemsize < largest for each in results)


def _accepts(op: Declaration, name: str, types: Mapping[str, DType], data: str) -> bool:
    """Whether an input accepts a stream: the op declares the stream, or an edge template with it accepts the input."""
    kind, streams = resolve_dtype(op.tensors[name], types), op.available_streams(name, types)
    return data in streams or any(edge.stream == data and edge.accepts(kind, streams) for edge in EDGE_TEMPLATES)


def _usual(op: Declaration, param: str, types: Mapping[str, DType]) -> float | int:
    if op.triton_kernel and param in op.tuned:
        return parameter_values(op.triton_kernel.choices[param])[0]
    return 1.5 if resolve_dtype(op.params[param], types).is_float else 3
