"""Creates reproducers: folders with one case of a kernel that need neither parity nor Python, for bug reports.

A reproducer has the sources of both sides as built, one program per side with the launches of the case, the content of
every buffer, the accepted values of each element, and a Makefile with both compiler commands. The templates are in
``reproducer_files``.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from parity.application import reproducer_expectations as expectations
from parity.application.columns import both_sides
from parity.application.run import Run, Settings
from parity.application.standalone import Sources, cuda_sources, hip_sources
from parity.build.modules import build_suite
from parity.compilers.targets import DEFAULT_TARGETS
from parity.engine.case_records import CaseRecord, Column
from parity.engine.checked_case import CheckedCase
from parity.engine.worker import Worker, make_record
from parity.errors import ParityError, UsageError
from parity.model.case import Case
from parity.model.code_object import mangled
from parity.model.launch import POISON, PRINTF, Launch, Pointer, Scalar, Struct, variable_content
from parity.op import Call, Entry
from parity.platform.files import naming_write_errors
from parity.platform.version import __version__
from parity.reference.expected import Expected
from parity.report.failures import Failure, Reproduction, failure_text
from parity.report.matrix import failure_class
from parity.runners import default_targets, runner
from parity.runners.cuda import SHARED_BYTES
from parity.suite.loading import Suite
from parity.suite.options import CUDA_SIDE, DEFAULT_RUNNER

TEMPLATES = Path(__file__).with_name("reproducer_files")


@dataclass(frozen=True)
class ReproducerSide:
    """One side of a reproducer, "cuda" or "hip". ``launch`` has the symbols of the side's code object."""

    name: str
    target: str
    sources: Sources
    launch: Launch

    @property
    def build(self) -> dict[str, Any]:
        """The values that the Makefile needs."""
        options = shlex.join(self.sources.options).replace("$", "$$").replace("#", "\\#")
        return {
            "target": self.target, "main": self.sources.main, "options": options, "given": self.sources.given
        }  # fmt: skip


@dataclass(frozen=True)
class Reproducer:
    """A reproducer of a case: its files by their path in the folder.

    ``target`` is the target of the HIP side, if there is one. ``notes`` state what is missing, and why.
    """

    case: str
    files: Mapping[str, bytes]
    target: str = ""
    notes: tuple[str, ...] = ()

    def write(self, folder: Path) -> None:
        """Write the files to an empty or new folder.

        Raises:
            UsageError: The folder is not empty, or not writable.
        """
        with naming_write_errors(folder, "choose another folder with -o"):
            if folder.is_dir() and any(folder.iterdir()):
                raise UsageError(f"{folder} is not empty; name another folder with -o, or remove it")
            for name, content in self.files.items():
                path = folder / name
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(content)


@dataclass(frozen=True)
class _Observed:
    """A case after its execution on all columns. ``checks`` holds the results; ``columns`` also lists other columns."""

    entry: Entry
    call: Call
    worker: Worker
    columns: tuple[Column, ...]
    checks: dict[Column, CheckedCase]


def make_reproducer(
    suite: Suite, text: str, *, runners: Sequence[str] = (), targets: Sequence[str] = (), checked: bool = True
) -> Reproducer:
    """Return a reproducer of a case. Executes the case once to document its results on these runners and targets.

    ``runners`` defaults to the emulator, and CUDA's side on the CPU if nvcc is installed. The HIP side is for the first
    AMD target that fails, or else for the first AMD target; the CUDA side is for the first CUDA target.

    Raises:
        UsageError: The text is not a case of the suite, or the case cannot be reproduced without parity.
        NotAvailable: No runner works here.
    """
    case = suite.parse(text)
    entry = suite.entry(case)
    if entry.op.library:
        raise UsageError(f"{entry.op.name} has no kernel: libraries compute it, and no program can launch it")
    if entry.op.module in suite.missing:
        raise UsageError(f"there is no {suite.missing[entry.op.module]}, which has the kernel of {case}")
    if entry.op.textures:
        raise UsageError(f"{entry.op.name} uses textures, which a reproducer cannot create")
    if entry.op.is_sparse(case):
        raise UsageError(f"{case} has too many elements: only emulated GPUs run a sample of its blocks")
    if PRINTF in entry.op.results:
        raise UsageError(f"{entry.op.name} compares the text that its kernel prints, which only emulated GPUs capture")
    call = entry.op.call(case)
    if held := [name for name, content in call.launch.constants.items() if isinstance(content, Struct)]:
        raise UsageError(f"the variable {held[0]} holds a structure, which a reproducer cannot fill")
    referenced = expectations.expected_by_reference(entry, call)
    observed = _execute(suite, case, call, runners or _runners(suite), targets, checked)
    sides, notes = _sides(suite, observed)
    expected, why = referenced, list[str]()
    if call.references is None:
        expected, why = expectations.expected_by_cuda(entry, call, observed.worker, observed.checks)
    outputs, data = expectations.output_tables(call, expected, [side.name for side in sides])
    program = _program(call, str(case), outputs, judged=bool(expected))
    files = {f"data/{name}.bin": buffer.data.tobytes() for name, buffer in call.buffers.items()}
    files |= {f"data/constant.{name}.bin": content for name, content in _variables(call).items()}
    files |= data
    for side in sides:
        files |= side.sources.files
        files[f"reproduce_{side.name}.c"] = render_template(
            "program.c.j2",
            **program,
            side=side.name,
            given=side.sources.given,
            code=f"{side.name}/kernel.{'cubin' if side.name == 'cuda' else 'hsaco'}",
            launches=list(_launches(entry, call, side.launch)),
        )
    if any(side.sources.given for side in sides):
        files["driver.h"] = (TEMPLATES / "driver.h").read_bytes()
    files["reproduce.h"] = render_template("reproduce.h.j2", **program)
    builds = {side.name: side.build for side in sides}
    files["Makefile"] = render_template("Makefile.j2", cuda=builds.get("cuda"), hip=builds.get("hip"))
    files["README.md"] = _readme(suite, observed, sides, program, expected, [*notes, *why])
    target = next((side.target for side in sides if side.name == "hip"), "")
    return Reproducer(str(case), files, target, (*notes, *why))


def _runners(suite: Suite) -> Sequence[str]:
    """Return the usual runners: a capture has CUDA's results."""
    return [DEFAULT_RUNNER] if suite.capture else both_sides()


def _program(call: Call, case: str, outputs: list[dict[str, Any]], *, judged: bool) -> dict[str, Any]:
    """Return the template values that both programs and the README share."""
    return {
        "case": case,
        "launch": str(call.launch),
        "buffers": call.buffers,
        "outputs": call.outputs,
        "constants": [
            {"name": name, "symbols": mangled(name), "size": len(content), "of": call.launch.results.get(name, "")}
            for name, content in _variables(call).items()
        ],
        "links": [
            {"name": name, "at": at, "value": _value(pointer, _sizes(call))}
            for name, buffer in call.buffers.items()
            for at, pointer in buffer.pointers
        ],
        "results": outputs,
        "judged": judged,
        "most": max(1, *(len(each[what]) for each in outputs for what in ("also", "divergences"))),
        "shared_without_asking": SHARED_BYTES,
        "poison": f"0x{POISON:02X}",
    }


def _readme(
    suite: Suite,
    observed: _Observed,
    sides: Sequence[ReproducerSide],
    program: Mapping[str, Any],
    expected: Mapping[str, Expected],
    notes: Sequence[str],
) -> bytes:
    entry = observed.entry
    records = {column: make_record(entry, column, each) for column, each in observed.checks.items()}
    source = suite.files[entry.op.module]
    return render_template(
        "README.md.j2",
        **program,
        version=__version__,
        kernel=" ".join(entry.kernels),
        source=source.name,
        given=any(side.sources.given for side in sides),
        hip=next((side.build for side in sides if side.name == "hip"), None),
        targets=" and ".join(side.target for side in sides),
        seen=[(column.known_as, _verdict(record).replace("|", "\\|")) for column, record in records.items()],
        failures=[_failure(column, record) for column, record in records.items() if record.verdict.failed],
        made_by=observed.worker.plan.made_by,
        rules=list(expectations.rule_texts(expected)),
        notes=[note.partition("\n")[0].rstrip(":") for note in notes],  # later lines name paths of this machine
        files=list(_file_descriptions(observed.call, sides)),
    )


def _failure(column: Column, record: CaseRecord) -> str:
    reproduction = Reproduction.with_options({"runner": [column.spec], "target": [column.target]})
    return failure_text(Failure((record,)), reproduction)


def _execute(
    suite: Suite, case: Case, call: Call, runners: Sequence[str], targets: Sequence[str], checked: bool
) -> _Observed:
    own, settings = replace(suite, known=None), Settings(checked=checked)
    run = Run.of(str(case), runners=runners, targets=targets, suite=own, settings=settings)
    plan = run.build().plan
    worker, entry = Worker(plan, suite), suite.entry(case)
    candidates = plan.tasks[0].columns if plan.tasks else ()
    columns = [column for column in candidates if worker.has(column, str(case))]
    checks = worker.on_all(entry, columns, case, call, {})
    return _Observed(entry, call, worker, run.columns.every, checks)


def _sides(suite: Suite, observed: _Observed) -> tuple[list[ReproducerSide], list[str]]:
    """Return the sides that build, CUDA first, and notes about the others.

    Raises:
        UsageError: Neither side builds.
    """
    entry, checks = observed.entry, observed.checks
    amd = [column for column in observed.columns if column.vendor == "amd" and column.runner]
    failing = [column for column in amd if column in checks and checks[column].verdict.failed]
    cuda = [column.target for column in observed.columns if column.vendor == "cuda"]
    names = {
        "cuda": next(iter(cuda), "") or default_targets(runner(CUDA_SIDE))[0],
        "hip": next((column.target for column in (*failing, *amd)), DEFAULT_TARGETS[0]),
    }
    sides, notes = [], []
    for name, target in names.items():
        try:
            (built,) = build_suite(suite, [entry.op.module], [target])
            if built.code_object is None:
                raise built.error or UsageError("there is no code")
            found = hip_sources(suite, built) if name == "hip" else cuda_sources(suite, built, entry.kernels)
            sides.append(ReproducerSide(name, target, found, observed.call.on(built.code_object).launch))
        except ParityError as error:
            notes.append(f"There is no {name.upper()} side: {error}")
    if not sides:
        raise UsageError("\n".join(notes))
    return sides, notes


def _verdict(record: CaseRecord) -> str:
    """Return a verdict in one line: the class of a failure, and the first wrong element."""
    verdict = record.verdict
    words = [str(verdict.status)]
    if not verdict.passed and failure_class(record) != words[0]:
        words.append(failure_class(record))
    if verdict.passed and verdict.allowed:
        words.append(f"{np.ceil(100 * verdict.budget):.0f} % of the allowed error")
    if verdict.first:
        at, first = ", ".join(map(str, verdict.first.coordinates)), verdict.first
        words.append(f"{verdict.wrong} of {verdict.total} wrong, ({at}) is {first.got} for {first.expected}")
    return ": ".join((words[0], ", ".join(words[1:]))) if words[1:] else words[0]


def _file_descriptions(call: Call, sides: Sequence[ReproducerSide]) -> Iterator[tuple[str, str]]:
    for side in sides:
        what = f"the source for {side.target} as compiled, `{side.sources.main}`, and the headers that it includes"
        if side.sources.given:
            what = f"the code for {side.target}, its listing, and the file that it was compiled from"
        yield f"{side.name}/", what
        yield f"reproduce_{side.name}.c", "the program that loads, launches and compares"
    yield "reproduce.h", "code that both programs share: reading files, and comparing results"
    for name, buffer in call.buffers.items():
        where = f"; the result, layout {call.outputs[name]}" if name in call.outputs else ""
        yield f"data/{name}.bin", f"{buffer.dtype} x {len(buffer.data)} before the launch{where}"
    for name, content in _variables(call).items():
        yield f"data/constant.{name}.bin", f"{len(content)} bytes of the variable `{name}`"
    yield "data/NAME.expected.bin, ...", "the accepted values of each element of a result, as `reproduce.h` reads them"


def _variables(call: Call) -> dict[str, bytes]:
    """Return the content of each variable that a program fills."""
    return {name: variable_content(content).tobytes() for name, content in call.launch.constants.items()}


def render_template(name: str, **content: object) -> bytes:
    """Render a template of ``reproducer_files``."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined  # importing it takes a tenth of a second

    environment = Environment(
        loader=FileSystemLoader(TEMPLATES), undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True,
        keep_trailing_newline=True,
    )  # fmt: skip
    return environment.get_template(name).render(content).encode("utf-8", "surrogateescape")


def _launches(entry: Entry, call: Call, launch: Launch) -> Iterator[tuple[str, Launch, list[str]]]:
    """Yield the text of each launch, the launch, and its arguments as C declarations."""
    sizes = _sizes(call)
    for step, each in zip(entry.op.steps, launch.sequence, strict=True):
        # Triton adds pointers to scratch memory, which are null.
        names = [*(word.name for word in step.arguments), *("scratch" for _ in each.args[len(step.arguments) :])]
        arguments = enumerate(zip(names, each.args, strict=True), 1)
        declared = [f"{_declaration(a, f'argument_{n}', sizes)} /* {name}: {a} */" for n, (name, a) in arguments]
        yield str(replace(each, then=())), each, declared


def _sizes(call: Call) -> dict[str, int]:
    """Return the bytes of an element of each buffer."""
    return {name: buffer.dtype.itemsize for name, buffer in call.buffers.items()}


def _declaration(arg: Pointer | Scalar | Struct, name: str, sizes: Mapping[str, int]) -> str:
    """Return an argument as a C variable with the same bytes. Structs have the layout that ``Struct`` documents."""
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
