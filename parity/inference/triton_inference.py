"""Declares Triton kernels: values of constexpr parameters and dtypes by trial, shapes and grid from launches."""

from __future__ import annotations

import itertools
import math
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache, partial
from pathlib import Path

from parity.compilers.errors import CompileError
from parity.compilers.targets import DEFAULT_TARGETS, TRITON_TARGETS, target
from parity.errors import ParityError
from parity.inference.data_flow import Flow
from parity.inference.prober import ProbedKernel, Prober
from parity.inference.ptx_dataflow import flows
from parity.inference.signature import Parameter, Signature
from parity.inference.skeleton import Skeleton, signature_skeleton
from parity.inference.spec import RACES, UNWRITTEN, InferredSpec, KernelArgument
from parity.inference.triton_launches import kinds_of_data, launched_spec
from parity.inference.triton_source import TritonFunction, choices, dtypes, likely_strides
from parity.model.code_object import CodeObject
from parity.model.dtypes import NUMBERS
from parity.triton_kernels.compilation import Candidates, LaunchedKernel, Trial, compile_module, first_compiling
from parity.triton_kernels.kernel import Constant, Specialization, TritonKernel, as_declared, triton_type

PROBED, OTHER = TRITON_TARGETS
"""The target whose code is probed, and another one that has to compile."""
_NEWEST = max(map(target, DEFAULT_TARGETS), key=lambda each: each.isa)
"""A target with other matrix cores, into whose shared memory a launch should fit as well."""
_REAL, _PRODUCTS = ("f32", "f16", "bf16", "i32", "i8"), ("f16", "bf16", "f32", "i8")
"""Dtypes of tensors to try, and those for kernels that multiply matrices."""
_CALLED, _CALLED_PRODUCTS = ("float32", "float16"), ("float16", "float32")
"""PyTorch's names of dtypes to call host code with."""
_DESCRIPTORS = (
    "a tensor descriptor that host code makes, which a declaration cannot pass; "
    "tl.make_tensor_descriptor in the kernel works"
)
_FEW = 2
"""Whole numbers of a kernel whose launches are explained by formulas instead of taken from one launch."""
_SIZES = (32, 64, 2, 16, 128)
"""Values to try for constexpr numbers without a known value."""
_OUTSIDE, _LARGER = "out-of-bounds", 2
"""Is part of the reason if an op fails because of an access that no tensor allows; and how often to enlarge tensors."""


def triton_skeletons(
    root: Path, roots: Sequence[Path], module: str, kernels: Sequence[TritonFunction], prober: Prober
) -> Iterator[tuple[TritonFunction, Skeleton]]:
    """Yield the declaration of each kernel. ``root`` is the kernels folder, ``module`` the name of the module.

    ``roots`` are further folders that host code imports from.

    Raises:
        MissingTool: Triton is not installed.
    """
    trials = [[*_trials(each, root)] for each in kernels]
    functions = [_candidates(each, tried) for each, tried in zip(kernels, trials, strict=True)]
    found = first_compiling(root, roots, functions, [target(PROBED), target(OTHER), _NEWEST])
    for kernel, tried, result in zip(kernels, trials, found, strict=True):
        with prober.limit.step((module, kernel.name)):
            skeleton = _skeleton(root, module, kernel, tried, result, prober)
        yield kernel, skeleton


def _candidates(kernel: TritonFunction, tried: Sequence[Specialization]) -> Candidates:
    """Return what to try of a function."""
    pointers = [each.name for each in kernel.arguments if each.is_pointer]
    indices = [each.name for each in kernel.arguments if each.is_pointer and each.is_index]
    numbers = [each.name for each in kernel.arguments if each.is_whole and not each.is_pointer]
    dtypes = _CALLED_PRODUCTS if kernel.has_dot else _CALLED
    texts = {each.name: text for each in kernel.parameters for text in each.compared if isinstance(text, str)}
    roles = dict[str, Sequence[str] | Mapping[str, str]](
        pointers=pointers, indices=indices, numbers=numbers, texts=texts
    )
    return Candidates(tried, kernel.callers, roles, dtypes)


def _trials(kernel: TritonFunction, root: Path) -> Iterator[Specialization]:
    """Yield specializations to try, the most likely first."""
    seen = set[str]()
    reals = _PRODUCTS if kernel.has_dot else _REAL
    for wholes, size, real, flags in itertools.product((False, True), _SIZES, reals, (False, True)):
        types = dtypes(kernel, real)
        for integers in (True, False):
            kinds = [
                real if each.is_pointer and each.is_index and not integers else types[each.name]
                for each in kernel.arguments
            ]
            one = Specialization(
                f"{kernel.name}_{real}",
                kernel.path.relative_to(root).as_posix(),
                kernel.name,
                tuple(
                    f"*{triton_type(kind)}" if each.is_pointer else triton_type(kind)
                    for each, kind in zip(kernel.arguments, kinds, strict=True)
                ),
                tuple(i for i, each in enumerate(kernel.arguments) if each.is_pointer),
                choices(kernel, real, flags=flags, size=size, wholes=wholes),
                {},
            )
            if one.text not in seen:
                seen.add(one.text)
                yield one


def _skeleton(
    root: Path, module: str, kernel: TritonFunction, tried: Sequence[Specialization], result: Trial, prober: Prober
) -> Skeleton:
    """Return the declaration of one kernel."""
    if kernel.descriptors:
        return Skeleton("", kernel.name, omitted=f"{', '.join(kernel.descriptors)}: {_DESCRIPTORS}")
    if result.chosen < 0 or result.targets < 2:
        where = PROBED if result.chosen < 0 else OTHER
        return Skeleton("", kernel.name, omitted=f"no trial compiles for {where}: {result.error}")
    one, tuned = tried[result.chosen], result.configurations
    one = replace(one, constants={**one.constants, **result.constants}, options=result.options)
    if not result.launches:
        return _declared_skeleton(module, kernel, prober, one, _compiler(root, module, one), tuned=tuned)
    launch, *larger = result.launches
    found, *others = (
        partial(_declared_skeleton, module, kernel, prober, launch.kernel, compiled, launch, data=data, tuned=tuned)
        for compiled in [_compiler(root, module, launch.kernel)]
        for data in kinds_of_data(launch)
    )
    skeleton = found()
    if larger:
        again = [
            partial(_declared_skeleton, module, kernel, prober, each.kernel, compiled, each, tuned=tuned)
            for each in larger
            for compiled in [_compiler(root, module, each.kernel)]
        ]
        # Larger tensors come first, because larger launches have to be compiled.
        skeleton = _enlarged(skeleton, _LARGER + 1, lambda last: _with_launches(last, again))
    for other in reversed(others):
        skeleton = _with_other(skeleton, other, _OUTSIDE, RACES, UNWRITTEN)
    return skeleton


def _with_launches(one: Skeleton, larger: Sequence[Callable[..., Skeleton]]) -> Skeleton:
    """Return a declaration that is replaced by the declaration of a larger launch if accesses are out of bounds."""
    for each in reversed(larger):
        one = _with_other(one, each, _OUTSIDE)
    return one


def _with_other(one: Skeleton, other: Callable[..., Skeleton], *reasons: str) -> Skeleton:
    """Return a declaration that is replaced by another one, also with larger tensors, if it fails for these reasons."""

    def again(reason: str) -> Skeleton | None:
        if any(each in reason for each in reasons):
            found = other(single=True)
            if not (found.question or found.omitted):
                return _enlarged(found, _LARGER, lambda _: one)
        return one.again(reason)

    return replace(one, again=again)


def _enlarged(one: Skeleton, times: int, then: Callable[[Skeleton], Skeleton]) -> Skeleton:
    """Return a declaration that is tried with larger tensors, at most some ``times``.

    ``then`` returns the declaration whose next attempts follow, for the last one with larger tensors.
    """

    def again(reason: str) -> Skeleton | None:
        larger = one.again(reason) if times and _OUTSIDE in reason else None
        return _enlarged(larger, times - 1, then) if larger else then(one).again(reason)

    return replace(one, again=again)


def _compiler(root: Path, module: str, one: Specialization) -> Callable[[], CodeObject]:
    """Return what compiles a specialization, when it is called for the first time."""

    @cache
    def compiled() -> CodeObject:
        with tempfile.TemporaryDirectory(prefix="parity-triton-") as folder:
            return compile_module(module, root, [one], target(PROBED), Path(folder)).code

    return compiled


def _declared_skeleton(
    module: str,
    kernel: TritonFunction,
    prober: Prober,
    one: Specialization,
    compiled: Callable[[], CodeObject],
    launch: LaunchedKernel | None = None,
    *,
    single: bool = False,
    data: str = "drawn",
    tuned: int = 0,
) -> Skeleton:
    """Return the declaration of a specialization. ``single``: with the numbers of one launch.

    ``tuned`` is the number of configurations of the function.
    """
    try:
        code = compiled()
    except (CompileError, ParityError) as error:
        return Skeleton("", kernel.name, omitted=f"it does not compile for {PROBED}: {_reason(error)}")
    given: dict[str, Constant | str] = {key: as_declared(value) for key, value in one.constants.items()}
    declared = TritonKernel(one.file, kernel.name, {**one.options, **given})
    signature = replace(_signature(kernel, one, code, prober, declared, launch, data), configurations=tuned)
    return signature_skeleton(f"{module}.{kernel.name.strip('_')}", signature, single=single)


def _reason(error: Exception) -> str:
    """The error of a compiler in one line."""
    text = error.log if isinstance(error, CompileError) else str(error)
    return text.strip().partition("\n")[0]


def _signature(
    kernel: TritonFunction,
    one: Specialization,
    code: CodeObject,
    prober: Prober,
    declared: TritonKernel,
    launch: LaunchedKernel | None,
    data: str,
) -> Signature:
    """Return the signature of a compiled kernel, with what its PTX shows."""
    flow = replace(
        flows(code.listing)[one.symbol], dynamic=False, fixed=True
    )  # the compiled kernel states its shared memory
    args = []
    roles = {each.name: each for each in kernel.parameters}
    names = [each.name for each in launch.arguments] if launch else [each.name for each in kernel.arguments]
    for i, (name, kind) in enumerate(zip(names, one.signature, strict=True)):
        each = replace(roles[name], is_pointer=kind.startswith("*"))
        dtype = next(name for name in NUMBERS if _is_type(name, kind.removeprefix("*")))
        use = flow.uses.get((i, 0))
        if each.is_pointer:
            written, read = bool(use and use.writes), use is None or use.is_input
            args.append(Parameter(each.name, dtype, 8, True, written, read, key=(i, 0)))
        else:
            args.append(Parameter(each.name, dtype, NUMBERS[dtype].itemsize, False, key=(i, 0)))
    limits = tuple(sorted({v for v in one.constants.values() if type(v) is int and v > 2}, reverse=True))

    def probe(args: Sequence[KernelArgument], flow: Flow | None, single: bool) -> InferredSpec | str:
        assert flow
        probed = ProbedKernel(
            code,
            one.symbol,
            args,
            flow,
            () if launch else kernel.launches,
            limits,
            likely_strides([each.name for each in kernel.arguments]),
        )
        if launch:
            few = sum(each.is_whole for each in args) <= _FEW and not single
            found = prober.probe(probed) if few else ""
            is_general = isinstance(found, InferredSpec) and not found.is_measured
            return found if is_general else launched_spec(launch, prober, probed, data)
        return prober.measure(probed) or "no single launch shows it" if single else prober.probe(probed)

    shown = f"{kernel.name}({', '.join(names)})"
    return Signature(
        kernel.name, (), tuple(args), shown, flow, probe, math.prod(flow.threads) > 0, launches=kernel.launches,
        triton=declared,
    )  # fmt: skip


def _is_type(name: str, kind: str) -> bool:
    try:
        return triton_type(name) == kind
    except ParityError:
        return False
