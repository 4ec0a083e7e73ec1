"""A reproducer: a folder with one case of a kernel that needs neither parity nor Python, for a report of a bug.

It has the sources of both sides as they are built, a program for each that launches exactly what the case launches,
the content of every buffer, what is right for each element, and a Makefile with the lines of both compilers. The
templates are in ``reproducer_files``.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from parity.application.columns import both_sides
from parity.application.run import Run, Settings
from parity.application.standalone import Sources, cuda_sources, hip_sources
from parity.build.modules import build_suite
from parity.compare import bit_patterns, expected_from_cuda
from parity.compare.interval import accepted_interval
from parity.compilers.targets import DEFAULT_TARGETS
from parity.engine import CaseRecord, Column
from parity.engine.cuda_oracle import CudaOracle
from parity.engine.cuda_oracle import ExecutableCode as Executed
from parity.engine.judging import CheckedCase
from parity.engine.worker import Worker
from parity.errors import ParityError, Unreferenced, UsageError
from parity.model.case import Case
from parity.model.code_object import mangled
from parity.model.dtypes import Array, DType, array_dtype
from parity.model.launch import POISON, Arithmetic, Launch, Pointer, Scalar, Struct, poisoned
from parity.op import Call, Entry
from parity.platform.files import naming_write_errors
from parity.platform.version import __version__
from parity.reference.expected import Expected
from parity.reference.sort import InOrder
from parity.report.failures import Failure, Reproduction, failure_text
from parity.report.matrix import failure_class
from parity.runners import Vendor, default_targets, runner
from parity.runners.cuda import SHARED_BYTES
from parity.suite.loading import Suite
from parity.suite.options import CUDA_SIDE

__all__ = ["Reproducer", "make_reproducer"]

TEMPLATES = Path(__file__).with_name("reproducer_files")

CUDA = {
    "header": "<cuda.h>", "error": "CUresult", "memory": "CUdeviceptr", "module": "CUmodule", "function": "CUfunction",
    "allocate": "cuMemAlloc", "upload": "cuMemcpyHtoD", "download": "cuMemcpyDtoH", "load": "cuModuleLoad",
    "find": "cuModuleGetFunction", "variable": "cuModuleGetGlobal", "launch": "cuLaunchKernel",
    "synchronize": "cuCtxSynchronize", "host": "",
}  # fmt: skip
HIP = {
    "header": "<hip/hip_runtime_api.h>", "error": "hipError_t", "memory": "hipDeviceptr_t", "module": "hipModule_t",
    "function": "hipFunction_t", "allocate": "hipMalloc", "upload": "hipMemcpyHtoD", "download": "hipMemcpyDtoH",
    "load": "hipModuleLoad", "find": "hipModuleGetFunction", "variable": "hipModuleGetGlobal",
    "launch": "hipModuleLaunchKernel", "synchronize": "hipDeviceSynchronize", "host": "(void *)",
}  # fmt: skip
"""The calls of the program of a side (CUDA's driver API, HIP's module API); ``host`` is a cast of host memory."""

ANY_VALUE, OR_NAN, SIGN_OF_ZERO = 1, 2, 4
"""The rules of an element: ``enum rule`` of ``reproduce.h``."""


@dataclass(frozen=True)
class ReproducerSide:
    """One side as it is built. ``launch`` has the symbols of its code object."""

    name: str
    target: str
    sources: Sources
    launch: Launch


@dataclass(frozen=True)
class Reproducer:
    """A reproducer of a case: its files, by their path below the folder.

    ``target`` is that of the HIP side, if there is one; ``notes`` say what it lacks, and why.
    """

    case: str
    files: Mapping[str, bytes]
    target: str = ""
    notes: tuple[str, ...] = ()

    def write(self, folder: Path) -> None:
        """Write the files; the folder must not be there, or empty.

        Raises:
            UsageError: it has something in it, or cannot be written.
        """
        with naming_write_errors(folder, "choose another folder with -o"):
            if folder.is_dir() and any(folder.iterdir()):
                raise UsageError(f"{folder} is not empty; name another folder with -o, or remove it")
            for name, content in self.files.items():
                path = folder / name
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(content)


def make_reproducer(
    suite: Suite, text: str, *, runners: Sequence[str] = (), targets: Sequence[str] = (), checked: bool = True
) -> Reproducer:
    """The reproducer of a case. It is executed once, on these runners and targets, to say what was seen where.

    ``runners`` are by default the emulator, and CUDA's side on the CPU where there is nvcc. The HIP side is for the
    first of AMD's targets that fails, or else the first; the CUDA side for the first of CUDA's.

    Raises:
        UsageError: the text is no case of the suite, or the case cannot be reproduced alone; the message says why.
        NotAvailable: no runner can work here.
    """
    case = suite.parse(text)
    entry = suite.entry(case)
    if entry.op.library:
        raise UsageError(f"{entry.op.name} has no kernel: libraries compute it, and no program can launch it")
    if entry.op.module in suite.missing:
        raise UsageError(f"there is no {suite.missing[entry.op.module]}, which has the kernel of {case}")
    call = entry.op.call(case)
    known = _referenced(entry, call)
    worker, columns, checks = _executed(suite, case, call, runners or both_sides(), targets, checked)
    sides, notes = _sides(suite, entry, call, columns, checks)
    expected, why = (known, []) if call.references else _by_cuda(entry, call, worker, checks)
    results, data = _results(call, expected, [side.name for side in sides])
    program = {
        "case": str(case),
        "launch": str(call.launch),
        "buffers": [_buffer(call, name) for name in call.buffers],
        "constants": [
            {"name": name, "symbols": mangled(name), "size": content.nbytes}
            for name, content in call.launch.constants.items()
        ],
        "results": results,
        "judged": bool(expected),
        "most": max(1, *(len(each[what]) for each in results for what in ("also", "divergences"))),
        "shared_without_asking": SHARED_BYTES,
        "poison": f"0x{POISON:02X}",
    }
    files = {f"data/{name}.bin": buffer.data.tobytes() for name, buffer in call.buffers.items()}
    files |= {f"data/constant.{name}.bin": content.tobytes() for name, content in call.launch.constants.items()}
    files |= data
    for side in sides:
        of_side = {
            "side": side.name,
            "api": CUDA if side.name == "cuda" else HIP,
            "code": f"{side.name}/kernel.{'cubin' if side.name == 'cuda' else 'hsaco'}",
            "launches": list(_launches(entry, call, side.launch)),
        }
        files |= side.sources.files
        files[f"reproduce_{side.name}.c"] = _rendered("program.c.j2", **program, **of_side)
    files["reproduce.h"] = _rendered("reproduce.h.j2", **program)
    built = {
        side.name: {"target": side.target, "main": side.sources.main, "options": _quoted(side.sources.options)}
        for side in sides
    }
    files["Makefile"] = _rendered("Makefile.j2", cuda=built.get("cuda"), hip=built.get("hip"))
    seen = {column: _record(entry, case, column, each) for column, each in checks.items()}
    source = suite.files[entry.op.module]
    files["README.md"] = _rendered(
        "README.md.j2",
        **program,
        version=__version__,
        kernel=" ".join(entry.kernels),
        source=source.name,
        hip=built.get("hip"),
        targets=" and ".join(f"{side.target}" for side in sides),
        seen=[(column.known_as, _verdict(record).replace("|", "\\|")) for column, record in seen.items()],
        failures=[
            failure_text(
                Failure((record,)),
                Reproduction.with_options({"runner": [column.spec], "target": [column.target]}),
                source.name,
            )
            for column, record in seen.items()
            if record.verdict.failed
        ],
        made_by=worker.plan.made_by,
        rules=list(_rules(expected)),
        notes=[note.partition("\n")[0].rstrip(":") for note in (*notes, *why)],  # compilers name paths of this machine
        files=list(_described(call, sides)),
    )
    hip = next((side.target for side in sides if side.name == "hip"), "")
    return Reproducer(str(case), files, hip, (*notes, *why))


def _executed(
    suite: Suite, case: Case, call: Call, runners: Sequence[str], targets: Sequence[str], checked: bool
) -> tuple[Worker, tuple[Column, ...], dict[Column, CheckedCase]]:
    """The worker that executed the case, the columns that were asked for, and what each of them has to say."""
    run = Run.of(
        str(case),
        runners=runners,
        targets=targets,
        suite=replace(suite, known=None),
        settings=Settings(checked=checked),
    )
    plan = run.build().plan
    worker = Worker(plan, suite)
    tasks = plan.tasks[0].columns if plan.tasks else ()
    columns = [column for column in tasks if worker.has(column, str(case))]
    return worker, run.columns.every, worker.on_all(suite.entry(case), columns, case, call, {})


def _sides(
    suite: Suite, entry: Entry, call: Call, columns: Sequence[Column], checks: Mapping[Column, CheckedCase]
) -> tuple[list[ReproducerSide], list[str]]:
    """The sides that can be built, CUDA first, and why another cannot."""
    amd = [column for column in columns if column.vendor == "amd" and column.runner]
    failing = [column for column in amd if column in checks and checks[column].verdict.failed]
    theirs = [column.target for column in columns if column.vendor == "cuda"]
    names = {
        "cuda": next(iter(theirs), "") or default_targets(runner(CUDA_SIDE))[0],
        "hip": next((column.target for column in (*failing, *amd)), DEFAULT_TARGETS[0]),
    }
    sides, notes = [], []
    for name, target in names.items():
        try:
            (built,) = build_suite(suite, [entry.op.module], [target])
            if built.code_object is None:
                raise built.error or UsageError("there is no code")
            found = hip_sources(suite, built) if name == "hip" else cuda_sources(suite, built, entry.kernels)
            sides.append(ReproducerSide(name, target, found, call.on(built.code_object).launch))
        except ParityError as error:
            notes.append(f"There is no {name.upper()} side: {error}")
    if not sides:
        raise UsageError("\n".join(notes))
    return sides, notes


def _referenced(entry: Entry, call: Call) -> Mapping[str, Expected]:
    """The expectation of the reference for each output; nothing without one.

    Raises:
        UsageError: a function decides what is right, and a program without parity cannot ask it.
    """
    expected = call.references() if call.references else {}
    for name, each in expected.items():
        if each.accepts and not isinstance(each.accepts, InOrder):
            raise UsageError(
                f"what is right for {name} of {entry.op.name} is told by a function of the whole result and not by "
                "values, so a program without parity cannot judge it; parity run executes this case"
            )
    return expected


def _by_cuda(
    entry: Entry, call: Call, worker: Worker, checks: Mapping[Column, CheckedCase]
) -> tuple[Mapping[str, Expected], list[str]]:
    """The expectation by the values that CUDA's side computed, none if they are not known; and notes on its origin.

    Raises:
        UsageError: an output holds blocks, whose fields have rules of their own.
    """
    cuda = next((c for c in checks if c.side == "cuda" and checks[c].outputs and not checks[c].verdict.failed), None)
    if cuda is None:
        return {}, ["The op has no reference, and no result of CUDA's is known: the programs print what they get."]
    outputs = checks[cuda].outputs
    if block := next((name for name in outputs if call.buffers[name].dtype.is_block), ""):
        raise UsageError(
            f"{entry.op.name} has no reference, and {block} holds blocks, whose fields have rules of their own that a "
            "program without parity does not know; parity run executes this case"
        )
    note = f"The op has no reference: what {cuda} computed is taken as right"
    sides = {
        column: Executed(worker.kernels(column), worker.plan.code[entry.op.module, column])
        for column in (*(c for c in checks if c.vendor == "amd"), cuda)
        if column.built
    }
    mine = next((side for column, side in sides.items() if column.vendor == "amd"), sides.get(cuda))
    unlike = {
        name: poisoned(call.buffers[name].dtype, value.size).reshape(value.shape) for name, value in outputs.items()
    }
    try:
        if mine is None:
            raise Unreferenced("nothing was executed")
        return dict(CudaOracle(call, outputs, mine, sides.get(cuda)).expected(unlike)), [
            f"{note}, but for what roundings explain (docs/tolerance-model.md of parity, section 10)."
        ]
    except Unreferenced as error:
        exact = {name: expected_from_cuda(value, Arithmetic.COMPARES, []) for name, value in outputs.items()}
        return exact, [f"{note}, bit by bit: {error}."]


def _results(
    call: Call, expected: Mapping[str, Expected], sides: Sequence[str]
) -> tuple[list[dict[str, Any]], dict[str, bytes]]:
    """Of each output what the programs have to know, and the files with what is right."""
    results: list[dict[str, Any]] = []
    files: dict[str, bytes] = {}
    for name, layout in call.outputs.items():
        buffer, each = call.buffers[name], expected.get(name)
        order = each.accepts if each and isinstance(each.accepts, InOrder) else None
        interval = each is not None and order is None and (each.bounds is not None or each.accepts is not None)
        others: dict[str, Array] = {}
        if each is not None:
            others = {f"also{n}": value for n, value in enumerate(each.alternatives, 1)} | dict(each.divergences)
            rules = sum(
                np.where(np.broadcast_to(test, each.value.shape), rule, 0)
                for test, rule in (
                    (each.unspecified, ANY_VALUE), (each.nan_allowed, OR_NAN), (each.sign_of_zero, SIGN_OF_ZERO),
                )
            )  # fmt: skip
            arrays = {"expected": each.value, "rules": np.asarray(rules, np.uint8), **others}
            if order:
                arrays["ranks"] = order.ranks
            for side in sides if interval else ():
                vendor: Vendor = "cuda" if side == "cuda" else "amd"
                arrays |= dict(zip((f"lower.{side}", f"upper.{side}"), accepted_interval(each, vendor), strict=True))
            files |= {f"data/{name}.{what}.bin": array.tobytes() for what, array in arrays.items()}
        results.append(
            {
                "name": name,
                "type": _type(buffer.dtype),
                "shape": layout.shape,
                "strides": layout.strides,
                "offset": layout.offset,
                "count": len(buffer.data),
                "known": each is not None,
                "interval": interval,
                "sorts": order is not None,
                "also": [other for other in others if other.startswith("also")],
                "divergences": list(each.divergences) if each else [],
            }
        )
    return results, files


def _type(kind: DType) -> str:
    """An element type as ``struct type`` of ``reproduce.h``."""
    family = {"float": "FLOAT", "int": "SIGNED", "uint": "UNSIGNED", "block": "BLOCK"}[kind.kind]
    largest = (
        int(bit_patterns(np.array([kind.max if kind.saturates else np.inf]).astype(kind.numpy))[0])
        if kind.is_float
        else 0
    )
    return f'{{"{kind.name}", {family}, {kind.itemsize}, {kind.precision}, {kind.emin}, 0x{largest:x}}}'


def _buffer(call: Call, name: str) -> dict[str, Any]:
    buffer = call.buffers[name]
    return {
        "name": name,
        "size": buffer.data.nbytes,
        "itemsize": buffer.dtype.itemsize,
        "count": len(buffer.data),
        "writable": buffer.writable,
        "compared": name in call.outputs,
        "about": f"{buffer.dtype} x {len(buffer.data)}",
    }


def _launches(entry: Entry, call: Call, launch: Launch) -> Iterator[dict[str, Any]]:
    """The launches one after the other, with their arguments as declarations in C."""
    sizes = {name: buffer.dtype.itemsize for name, buffer in call.buffers.items()}
    for step, each in zip(entry.op.steps, launch.sequence, strict=True):
        yield {
            "text": str(replace(each, then=())),
            "symbol": each.kernel,
            "grid": each.grid,
            "block": each.block,
            "shared": each.shared_bytes,
            "arguments": [
                f"{_declared(arg, f'argument_{n}', sizes)} /* {word.name}: {arg} */"
                for n, (word, arg) in enumerate(zip(step.arguments, each.args, strict=True), 1)
            ],
        }


def _declared(arg: Pointer | Scalar | Struct, name: str, sizes: Mapping[str, int]) -> str:
    """An argument as a variable in C, of the same bytes; a structure lies in memory as ``Struct`` says."""
    if not isinstance(arg, Struct):
        return f"{_c_type(arg)} {name} = {_value(arg, sizes)};"
    fields = " ".join(
        f"{_c_type(value)} {field}{f'[{len(value)}]' if isinstance(value, tuple) else ''};"
        for field, value in arg.fields
    )
    return f"struct {{ {fields} }} {name} = {{{', '.join(_value(value, sizes) for _, value in arg.fields)}}};"


def _c_type(value: Pointer | Scalar | tuple[Scalar, ...]) -> str:
    first = value[0] if isinstance(value, tuple) else value
    return "uint64_t" if isinstance(first, Pointer) else f"uint{8 * first.dtype.itemsize}_t"


def _value(value: Pointer | Scalar | tuple[Scalar, ...], sizes: Mapping[str, int]) -> str:
    if isinstance(value, tuple):
        return f"{{{', '.join(_value(each, sizes) for each in value)}}}"
    if isinstance(value, Pointer):
        return f"(uintptr_t)memory_{value.buffer} + {value.offset * sizes[value.buffer]}" if value.buffer else "0"
    number = int.from_bytes(value.bytes, "little")
    return f"0x{number:x}" if value.dtype.is_float or value.value < 0 else str(number)


def _record(entry: Entry, case: Case, column: Column, each: CheckedCase) -> CaseRecord:
    return CaseRecord.of(
        entry, column, str(case), each.verdict, launch=each.launch, inputs=each.inputs, printed=each.printed
    )


def _verdict(record: CaseRecord) -> str:
    """A verdict in one line: the class of a failure, and the first element that is wrong."""
    verdict = record.verdict
    words = [str(verdict.status)]
    if not verdict.passed and failure_class(record) != words[0]:
        words.append(failure_class(record))
    if verdict.passed and verdict.allowed:
        words.append(f"{np.ceil(100 * verdict.budget):.0f} % of the allowed error")
    if verdict.first:
        at = ", ".join(map(str, verdict.first.coordinates))
        words.append(
            f"{verdict.wrong} of {verdict.total} wrong, ({at}) is {verdict.first.got} for {verdict.first.expected}"
        )
    return ": ".join((words[0], ", ".join(words[1:]))) if words[1:] else words[0]


def _rules(expected: Mapping[str, Expected]) -> Iterator[str]:
    """The rules of each output in words."""
    for name, each in expected.items():
        words = ["exactly the expected value" + ", or any NaN for NaN" * array_dtype(each.value).is_float]
        if isinstance(each.accepts, InOrder):
            words = ["indices that put each row in order, whichever of equal elements comes first (`ranks`)"]
        elif each.bounds or each.accepts:
            words = ["from `lower` to `upper`, which each side has of its own: compilers document other accuracies"]
        words += [f"or a value of `{name}.also{n}.bin`" for n, _ in enumerate(each.alternatives, 1)]
        words += [
            f"or, in all elements in which it differs, `{name}.{other}.bin` (parity: docs/divergences.md, {other})"
            for other in each.divergences
        ]
        words += ["or NaN where `rules` has 2"] * bool(np.any(each.nan_allowed))
        words += ["or anything where `rules` has 1"] * bool(np.any(each.unspecified))
        words += ["the sign of a zero counts where `rules` has 4"] * bool(np.any(each.sign_of_zero))
        yield f"`{name}`: {'; '.join(words)}."


def _described(call: Call, sides: Sequence[ReproducerSide]) -> Iterator[tuple[str, str]]:
    """The files of a reproducer, and what they hold."""
    for side in sides:
        yield (
            f"{side.name}/",
            f"the source for {side.target} as it is compiled, `{side.sources.main}`, and the headers that it includes",
        )
        yield f"reproduce_{side.name}.c", "the program that loads, launches and compares"
    yield "reproduce.h", "what both programs have in common: files, and the comparison"
    for name, buffer in call.buffers.items():
        where = f"; the result, layout {call.outputs[name]}" if name in call.outputs else ""
        yield f"data/{name}.bin", f"{buffer.dtype} x {len(buffer.data)} before the launch{where}"
    for name, content in call.launch.constants.items():
        yield f"data/constant.{name}.bin", f"{content.nbytes} bytes of the variable `{name}`"
    yield "data/NAME.expected.bin, ...", "what is right for each element of a result; `reproduce.h` says how it is read"


def _quoted(options: Sequence[str]) -> str:
    """Options in a line of a Makefile."""
    return shlex.join(options).replace("$", "$$").replace("#", "\\#")


def _rendered(name: str, **content: object) -> bytes:
    from jinja2 import Environment, FileSystemLoader, StrictUndefined  # a tenth of a second

    environment = Environment(
        loader=FileSystemLoader(TEMPLATES), undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True,
        keep_trailing_newline=True,
    )  # fmt: skip
    return environment.get_template(name).render(content).encode("utf-8", "surrogateescape")
