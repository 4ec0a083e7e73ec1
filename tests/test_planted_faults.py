"""Plants faults in copies of the kernels; parity must catch them and shrink the failures to a few elements.

Runs on the emulator, and on an NVIDIA GPU if there is one (``-k gpu`` selects these tests).
"""

from __future__ import annotations

import re
import shutil
import tomllib
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from parity.build.modules import build, build_suite
from parity.build.result import Built
from parity.compare.verdict import Status
from parity.engine.case_records import Column
from parity.engine.plan import Plan, make_tasks, runner_columns
from parity.engine.worker import Worker
from parity.platform.subprocesses import processors
from parity.runners import Session, runner
from parity.suite.loading import Suite

ROOT = Path(__file__).parent.parent


@dataclass(frozen=True)
class Fault:
    """Replaces ``old`` with ``new`` in one file; the kernel must then fail in one of ``kinds``, with a small case.

    ``emulated_only`` is the reason why a GPU does not reveal the fault. ``says`` is text that the failure must contain.
    """

    name: str
    file: str
    old: str
    new: str
    kernel: str
    kinds: Sequence[str] = ("value",)
    elements: int = 1
    examples: int = 30
    target: str = "gfx1100"
    emulated_only: str = ""
    says: str = ""

    @property
    def edit(self) -> tuple[str, str, str]:
        return self.file, self.old, self.new

    @property
    def kinds_on_gpu(self) -> tuple[str, ...]:
        """Return the kinds of failure on a GPU, which does not check reads: arbitrary values, or an illegal address."""
        seen_as = ("value", "nan", "infinity", "cudaErrorIllegalAddress")
        return (*self.kinds, *(seen_as if EMULATED_KINDS & set(self.kinds) else ()))


EMULATED_KINDS = {"out-of-bounds read", "never-written read"}


def faults_of(path: Path) -> list[Fault]:
    """Return the rows of a TOML file. Keys before the first row apply to all rows."""
    of_all = tomllib.loads(path.read_text())
    rows = of_all.pop("fault")
    return [Fault(**{**of_all, **row}) for row in rows]


FILES = sorted(Path(__file__).with_name("planted_faults").glob("*.toml"))
FAULTS = [fault for path in FILES for fault in faults_of(path)]
FIRST = list({fault.file: fault for fault in reversed(FAULTS)}.values())[::3]
"""The first fault of every third edited file. Default runs plant these faults; the other faults are thorough."""


def thorough_unless(first: bool, *values: object) -> object:
    """Return test parameters, with the mark ``thorough`` unless the condition holds."""
    return pytest.param(*values, marks=() if first else pytest.mark.thorough)


MACRO = re.compile(r"^#define (\w+)\(([\w, ]*)\)((?:.*\\\n)*.*\n)", re.MULTILINE)


def uses_of_macros(text: str) -> list[tuple[str, list[str]]]:
    """Return the names and arguments of macros if a text contains nothing else."""
    found = []
    while text := text.strip():
        use = re.match(r"(\w+)\(", text)
        if not use:
            return []
        arguments, depth, end = [""], 1, use.end()
        while depth and end < len(text):
            depth += {"(": 1, ")": -1}.get(text[end], 0)
            if text[end] == "," and depth == 1:
                arguments.append("")
            elif depth:
                arguments[-1] += text[end]
            end += 1
        if depth:
            return []
        found.append((use[1], arguments))
        text = text[end:]
    return found


def without_other_kernels(kernel: str, text: str) -> str:
    """Return a source without macro uses for other kernels, which take most of the compile time."""
    macros = {
        name: (re.findall(r"\w+", names), body.replace("\\\n", "\n")) for name, names, body in MACRO.findall(text)
    }

    def expanded(text: str) -> str:
        uses = uses_of_macros(text)
        if not uses or any(name not in macros for name, _ in uses):
            return text if re.search(rf"\b{kernel}\b", text) else ""
        return "".join(expanded(body_of(*use)) for use in uses)

    def body_of(name: str, arguments: list[str]) -> str:
        names, body = macros[name]
        values = dict(zip(names, arguments, strict=True))
        return re.sub(r"\s*##\s*", "", re.sub(r"\w+", lambda word: values.get(word[0], word[0]), body))

    return re.sub(
        r"^(\w+)\(.*\)\n",
        lambda line: expanded(line[0]) if line[1] in macros else line[0],
        text,
        flags=re.MULTILINE,
    )


def built_for(folder: Path, module: str, kernel: str, edits: Sequence[tuple[str, str, str]], target: str) -> Built:
    """Return edited kernels (file, old, new) with one module built for one kernel entry."""
    shutil.copytree(ROOT / "kernels", folder)
    for file, old, new in edits:
        path = folder / file
        text = path.read_text()
        assert old in text, f"{file} no longer holds {old!r}"
        path.write_text(text.replace(old, new))
    source = folder / f"{module}.cu"
    source.write_text(without_other_kernels(kernel, source.read_text()))
    (built,) = build(folder, [module], [target])
    return built


def worker_for(
    suite: Suite,
    tmp_path: Path,
    kernel: str,
    *edits: tuple[str, str, str],
    examples: int = 30,
    target: str = "gfx1100",
    gpu: tuple[Column, Session] | None = None,
) -> Worker:
    """Return a worker for one kernel entry, with edited kernels (file, old, new) if there are edits."""
    column, sessions = (gpu[0], dict([gpu])) if gpu else (runner_columns(runner("emulated"), [target])[0], {})
    selection = suite.select([kernel])
    module = selection.entries[0].op.module
    if edits or gpu:
        built = built_for(tmp_path / "kernels", module, kernel, edits, column.target)
        suite = replace(suite, kernels=tmp_path / "kernels")
    else:  # whole modules: the matrix and other tests need them too
        (built,) = build_suite(suite, [module], [column.target])
    assert built.code_object, built.error
    tasks = make_tasks(selection, [column])
    code = {(module, column): built.code_object}
    return Worker(Plan.of(suite, tasks, code, examples=examples), suite, sessions=sessions)


def test_every_fault_can_be_planted():
    """Default runs plant few faults, but the text that each replaces must be in the kernels."""
    texts = {file: (ROOT / "kernels" / file).read_text() for file in {fault.file for fault in FAULTS}}
    assert [fault.name for fault in FAULTS if fault.old not in texts[fault.file]] == []


@pytest.mark.parametrize("fault", [thorough_unless(f in FIRST, f) for f in FAULTS], ids=lambda f: f.name)
def test_planted_fault_is_caught_and_shrunk(suite, fault, tmp_path):
    worker = worker_for(suite, tmp_path, fault.kernel, fault.edit, examples=fault.examples, target=fault.target)
    (task,) = worker.plan.tasks
    records = worker.run(task)
    failures = [r for r in records if not r.verdict.passed]
    assert failures, "the fault was not caught"
    minimal = [r.minimal for r in failures if r.minimal and r.minimal.verdict.kind in fault.kinds]
    assert minimal, {r.verdict.kind for r in failures}
    assert all(fault.says in r.verdict.detail for r in minimal)
    smallest = min(minimal, key=lambda r: size_of(worker, r.case))
    assert size_of(worker, smallest.case) <= fault.elements, smallest.case
    assert smallest.launch.startswith(fault.kernel)


def size_of(worker: Worker, text: str) -> int:
    """Return the number of elements of the largest tensor that the kernel reads, or else writes."""
    tensors = [tensor for _, tensor in worker.suite.parse(text).tensors]
    return max(tensor.layout.numel for tensor in [each for each in tensors if each.data] or tensors)


PLANTED = sorted({(fault.kernel, fault.target) for fault in FAULTS})


@pytest.mark.thorough
@pytest.mark.parametrize(("kernel", "target"), PLANTED)
def test_unmodified_kernels_pass_same_cases(suite, kernel, target, tmp_path):
    worker = worker_for(suite, tmp_path, kernel, target=target)
    (task,) = worker.plan.tasks
    records = worker.run(task)
    assert len(records) >= 30
    assert [r.case for r in records if not r.verdict.passed] == []


@pytest.fixture(scope="module")
def gpu(request, suite, tmp_path_factory):
    """Build everything that the GPU tests need at once, and return a column of the runner ``cuda`` with its device."""
    cuda = runner("cuda")
    probe = cuda.probe()
    if not probe.available:
        pytest.skip(f"needs an NVIDIA GPU: {probe.reason}; {probe.install}")
    (column, *_) = runner_columns(cuda, cuda.targets())
    folder = tmp_path_factory.mktemp("gpu")
    here = (item for item in request.session.items if item.path == request.path)
    chosen = [item.callspec.params for item in here if "gpu" in item.fixturenames]
    wanted = [(p["fault"].kernel, [p["fault"].edit]) if "fault" in p else (p["kernel"], []) for p in chosen]

    def build_ahead(number: int) -> None:
        kernel, edits = wanted[number]
        module = suite.select([kernel]).entries[0].op.module
        built_for(folder / str(number), module, kernel, edits, column.target)
        shutil.rmtree(folder / str(number))

    if not hasattr(request.config, "workerinput"):  # True unless this process is one of several of pytest-xdist
        with ThreadPoolExecutor(processors()) as pool:
            list(pool.map(build_ahead, range(len(wanted))))
    return column, cuda.open(column.target)


@pytest.mark.parametrize("fault", [f for f in FAULTS if not f.emulated_only], ids=lambda f: f.name)
def test_planted_fault_is_caught_on_gpu(suite, fault, gpu, tmp_path):
    worker = worker_for(suite, tmp_path, fault.kernel, fault.edit, examples=fault.examples, gpu=gpu)
    (task,) = worker.plan.tasks
    seen = set()
    # One case at a time: every launch that kills the device's process costs seconds.
    for case in worker.plan.draw(worker.suite, task):
        alone = replace(task, cases=(case,))
        (record,) = worker.run(replace(alone, shrink=False))
        if record.verdict.passed:
            continue
        seen.add(record.verdict.kind)
        if record.verdict.kind in fault.kinds_on_gpu:
            break
    else:
        pytest.fail(f"failed as {seen}" if seen else "the fault was not caught")
    if record.verdict.status is Status.FAIL:  # the device still works
        (record,) = worker.run(alone)
    if record.minimal and len(fault.kinds_on_gpu) == 1:
        assert size_of(worker, record.minimal.case) <= fault.elements, record.minimal.case


@pytest.mark.parametrize("kernel", sorted({fault.kernel for fault in FAULTS}))
def test_unmodified_kernels_pass_same_cases_on_gpu(suite, kernel, gpu, tmp_path):
    worker = worker_for(suite, tmp_path, kernel, gpu=gpu)
    (task,) = worker.plan.tasks
    assert [r.case for r in worker.run(task) if not r.verdict.passed] == []


# A port that keeps C's casts follows AMD's rules, which differ from CUDA's.
PLAIN_CASTS = (
    ("cast_f64_u32", "return x != x ? 0x80000000u : saturated_u32(x);", "return u32(x);", "D2"),
    ("cast_f32_i64", "i64 to_i64(f32 x) { return saturated_i64(x); }", "i64 to_i64(f32 x) { return i64(x); }", "D3"),
    ("cast_f64_i64", "i64 to_i64(f64 x) { return saturated_i64(x); }", "i64 to_i64(f64 x) { return i64(x); }", "D4"),
    # The compiler uses either rule for u8(x), even in one kernel: through i32 in scalar code, through u32 in vectors.
    ("cast_f32_u8", "return u8(to_u32(x));", "return u8(i32(x));", "D5"),
)


def divergences(worker: Worker) -> set[str]:
    """Return the known divergences that the cases of the worker's only task meet. All cases must pass."""
    (task,) = worker.plan.tasks
    records = worker.run(task)
    assert [r.case for r in records if not r.verdict.passed] == []
    return {d for r in records for d in r.verdict.divergences}


@pytest.mark.parametrize(("kernel", "old", "new", "divergence"), PLAIN_CASTS)
def test_plain_cast_meets_known_divergence(suite, kernel, old, new, divergence, tmp_path):
    assert divergences(worker_for(suite, tmp_path, kernel, ("convert.cuh", old, new))) == {divergence}


# The FNUZ format of gfx94x: bias 8, a single NaN encoded as -0, and a largest value of 240.
FNUZ = (
    ("120u << 23", "119u << 23"),
    ("0x1p-9f", "0x1p-10f"),
    ("16384.0f", "8192.0f"),
    ("LARGEST = 0x43e00000, SMALLEST_NORMAL = 0x3c800000", "LARGEST = 0x43700000, SMALLEST_NORMAL = 0x3c000000"),
    ("bits = NOT_A_NUMBER", "bits = 0x80"),
    ("uint8_t(sign | magnitude)", "uint8_t(magnitude ? sign | magnitude : 0)"),
    ("if (magnitude == NOT_A_NUMBER)", "if (bits == 0x80)"),
)


@pytest.mark.parametrize("kernel", ["cast_f8_e4m3_f32", "cast_f8_e4m3_u8", "cast_f32_f8_e4m3", "cast_f16_f8_e4m3"])
def test_fnuz_f8_meets_known_divergence(suite, kernel, tmp_path):
    assert "D19" in divergences(worker_for(suite, tmp_path, kernel, *(("f8.cuh", old, new) for old, new in FNUZ)))


@pytest.mark.parametrize(
    ("kernel", "tensors"),
    [thorough_unless(False, "matmul_f8_e4m3_f32", "a and b"), ("ugelu_fp8_e4m3", "x and out")],
)
def test_fnuz_f8_is_named_in_diagnosis(suite, kernel, tensors, tmp_path):
    worker = worker_for(suite, tmp_path, kernel, *(("f8.cuh", old, new) for old, new in FNUZ))
    (task,) = worker.plan.tasks
    minimal = [record.minimal for record in worker.run(task) if record.minimal]
    assert minimal
    named = re.compile(r"right if f8 is FNUZ's in (x and out|a and b|x|a|b|out), not OCP's")
    assert all(named.search(record.verdict.detail) for record in minimal)
    assert any(f"FNUZ's in {tensors}," in record.verdict.detail for record in minimal)
