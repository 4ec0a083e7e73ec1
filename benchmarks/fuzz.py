"""Makes mistakes that users can type: ``python -m benchmarks.fuzz [COUNT] [SEED]``.

The mistakes are in cases, options, settings, declarations, known issues, files, nested sources, variables that
compilers read, closed standard streams, and code of case files that does not end. parity must answer each of them with
a message and an exit code, and nothing else. A mistake is a valid input in which a part was replaced, removed or
repeated, often by something that has broken a program before: numbers of 5,000 digits, digits of other scripts, NUL,
names of 300 characters, pipes and devices. Exit code: 0 if every input was answered correctly, else 1; failing inputs
are printed with their number.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import random
import resource
import signal
import subprocess
import sys
import tempfile
import traceback
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from parity.cli import main as parity
from parity.compilers import binary_listing
from parity.engine.case_records import Column
from parity.engine.known_issues import load_known_issues
from parity.errors import ParityError
from parity.runners.recording_file import RecordedCase, read_recording, write_recording
from parity.suite.loading import find_suite

COUNT = 10_000
SECONDS = 60
"""Time that one input may take; most take milliseconds."""

SLOW = 0.03
"""Share of inputs for separate processes and compilers, which take a second each."""

MEMORY = 8 << 30

NASTY = (
    "", " ", "-", "--", "-1", "0", "1", "00", "²", "٣", "𝟙", "1_0", "0x10", "1e400", "nan", "inf", "-0.0", "1.5",
    "9" * 30, "9" * 5000, "999999999999", "4294967296", "18446744073709551616", "/", ".", "..", "~", "*", "[", "]",
    "[]", "(", ")", "()", "{", "}", "{}", "{T}", "{0}", "{!r}", "%s", "%", "\\", "'", '"', ",", ":", ";", "=", "+",
    "@", "x", "x=", "~@", "\n", "\t", "\x1b[31m", "\u202e", "é", "日本", "\U0001f600", "\ufeff", "a" * 300, "a/" * 200,
    "None", "True", "lambda: 0", "f32", "u8", "f99", "T", "null-info", "launch=1x1", "threads=64", "launch=0x0",
    "unary.*", "[!", "a.b.c", "../..", "/dev/zero", "/proc/self/mem", "/nonexistent", "PIPE", "recorded=PIPE",
    "recorded=/dev/zero", "recorded=.", "x**9**9**9", "((((((((((((((((((((((((((((((((((((((((1", "1//0", "max()",
    "x.shape[9]", "x.strides", "__import__('os')", "rows*",
)  # fmt: skip

VALUES = (
    "None", "0", "-1", "3", "1e400", "float('nan')", "True", "''", "' '", "'²'", "'a b'", "'x'", "'T'", "'f99'",
    "'{T}'", "'{'", "'{x.y}'", "'" + "a" * 300 + "'", "b'x'", "'\\0'", "[]", "()", "{}", "{'x': 'T'}", "{'alpha': 3}",
    "{'x': None}", "{3: 'T'}", "('f32',)", "('f99',)", "('f32', 'f32')", "('f32,u8',)", "(3,)", "[None]", "object()",
    "lambda: 0", "lambda *a, **k: None", "lambda g: g.nothing", "lambda g: 'x'", "lambda g: 1 / 0", "print", "int",
    "np.zeros(3)", "'x: rows cols; out: rows'", "'x: rows'", "'rows % 0'", "'x: *a *b'", "'rows > 0'", "'numel'",
    "10**30", "'10**10**10'", "(1024, 1, 1)", "'ceil(numel/0)'", "'1,2,3,4'", "{'rows': ()}", "{'rows': (1,)}",
    "{'rows': ('rows',)}", "-0.0", "'-1'",
)  # fmt: skip

DECLARATION = """import numpy as np

from parity import reference
from parity.op import Op


def scaled(x, alpha, to, shape=None):
    return reference.within(0.5, np.multiply(x.astype(np.float64), alpha), to)


op = Op({fields})
"""

FIELDS = {
    "name": "'mine.scaled'",
    "kernel": "'scaled_{T}'",
    "types": "('f32', 'f16')",
    "args": "'x out alpha n:i32=rows*cols'",
    "inputs": "{'x': 'T'}",
    "params": "{'alpha': 'f32'}",
    "shapes": "'x: rows cols; out: rows cols'",
    "where": "'cols % 2 == 0'",
    "grid": "'ceil(cols/64), rows'",
    "block": "64",
    "grid_stride": "False",
    "reference": "scaled",
}

MORE = (
    "outputs", "updates", "choices", "strides", "layouts", "shape", "mismatch", "shared", "launch", "then", "threads",
    "info", "null_info", "writes", "in_place", "optional", "aliased", "indices", "data", "points", "values", "named",
    "scalars", "workspace", "structs", "symbols", "spelling", "bench", "operations", "elements", "source", "library",
    "nothing",
)  # fmt: skip

SETTINGS = """[tool.parity]
kernels = "kernels"
cases = "cases"
include = ["include"]
flags = ["-DN=1", "-Iinclude"]
force-include = []
hip = "hip"
cuda-arch = 890
launches = "any"
known-issues = "known.toml"
"""

ISSUES = """[[issue]]
cases = ["mine.scaled[f32]", "mine.scaled[f32](x=2x2~mixed@0 alpha=1.5)"]
runner = "emulated"
target = "gfx1100"
toolchain = "ziglang >=0.17,<0.18"
failure = "value"
ulps = 2
reason = "it is known"
link = "https://example.org/1"
expires = 2027-06-30
"""

OPTIONS = {
    "list": ("--cases", "--dtype", "--examples", "--seed", "--kernels", "--cases-dir", "--hip", "--launches"),
    "explain": ("--elements", "--kernels", "--cases", "--hip", "--toolchain"),
    "run": (
        "--target", "--runner", "--examples", "--seed", "--launches", "-j", "--known-issues", "--kernels", "--dtype",
        "--json", "--full", "--time", "--toolchain", "--hipify",
    ),
    "record": ("-o", "--runner", "--target", "--examples", "--seed", "-j", "--time"),
    "bench": ("--runner", "--target", "--hot", "--seconds", "--save", "--baseline", "--threshold", "-j", "--json"),
    "footprint": ("--target", "--full", "--json", "--kernels"),
    "build": ("--target", "--kernels", "--signatures", "--hip"),
    "exec": ("--target", "--memory", "--fault"),
}  # fmt: skip

VARIABLES = (
    "CPATH", "C_INCLUDE_PATH", "CPLUS_INCLUDE_PATH", "CCC_OVERRIDE_OPTIONS", "CLANG_CONFIG_FILE_SYSTEM_DIR", "HIP_PATH",
    "ROCM_PATH", "CUDA_PATH", "CUDA_HOME", "NVCC_APPEND_FLAGS", "NVCC_PREPEND_FLAGS", "TMPDIR", "SOURCE_DATE_EPOCH",
    "GCC_EXEC_PREFIX", "LIBRARY_PATH", "PARITY_CACHE_LIMIT", "PARITY_TOOLCHAIN", "PARITY_HIPIFY", "PARITY_TIME_LIMIT",
    "PARITY_STUBS", "COLUMNS", "LANG", "LC_ALL", "TERM", "HOME", "PATH",
)  # fmt: skip
"""Environment variables that parity, compilers or their runtimes read."""

NESTED = (
    ("int x = ", "(", "1", ")", ";"), ("int x = ", "!", "1", "", ";"), ("void f() ", "{", "", "}", ""),
    ("", "#if 1\n", "", "#endif\n", ""), ("", "namespace a {", "", "}", ""),
    ("", "template <class T> ", "int x;", "", ""),
    ("using x = ", "A<", "int", ">", ";"), ("int x", "[1]", "", "", ";"), ("int ", "*", "x", "", ";"),
    ("// ", "/*", "", "*/", "\n"), ("", "#define x x x\n", "", "", "x\n"),
    ("", "(", "", "", ""), ("", "}", "", "", ""),
)  # fmt: skip
"""Sources of a begin, a repeated opening, a middle, a repeated closing and an end."""

ENDLESS = (
    "while True: pass", "import time; time.sleep(10**6)", "import threading; threading.Event().wait()",
    "def f(): return f()\nf()", "while True:\n    try: 1 / 0\n    except Exception: pass",
    "import os; os._exit(0)", "import atexit, os; atexit.register(os._exit, 0)", "raise GeneratorExit",
    "class E(BaseException): pass\nraise E", "import sys; sys.exit(0)",
    "import os, signal; os.kill(os.getpid(), signal.SIGKILL)", "input()", "open('PIPE').read()",
    "import os; os.kill(os.getpid(), 19)", "import signal; signal.raise_signal(19)", "import re; re.compile = None",
    "import resource; resource.setrlimit(resource.RLIMIT_AS, (1 << 26, 1 << 26))", "import json; json.loads = None",
    "import threading; threading.Thread = 0", "import pickle; pickle.loads = None", "import numpy; numpy.any = None",
    "import sys; sys.stdout.close()", "import sys; sys.stderr = None", "import os; os.close(1)", "raise MemoryError",
)  # fmt: skip
"""Code of case files that does not end, or that ends the process."""

CASES = (
    "mine.scaled[f32](x=2x2~mixed@0 alpha=1.5)",
    "mine.scaled[f16](x=4x6:6,1+3~special@17 alpha=-0.5)",
    "mine.scaled[f32](x=1x8~normal@3 alpha=2.0 launch=2x64)",
)


@dataclass(frozen=True)
class Attempt:
    """One input: what it is, and what gives it to parity; that returns an exit code, or raises what parity raises."""

    what: str
    act: Callable[[], int]


class Fuzz:
    """Inputs with mistakes, in a separate folder; the same seed gives the same inputs."""

    def __init__(self, folder: Path, seed: int) -> None:
        self.folder, self.random = folder, random.Random(seed)
        for name in ("kernels", "cases", "include", "hip"):
            (folder / name).mkdir()
        os.mkfifo(folder / "PIPE")
        self._recording = folder / "sound.zip"
        head = {
            "runner": "cuda", "vendor": "cuda", "evidence": "hardware", "device": {}, "seed": 0, "examples": 1,
            "environment": {"sources": {}},
        }  # fmt: skip
        case = RecordedCase(CASES[0], "", "mine", "scaled_f32", "sm_90", "digest", {"out": bytes(16)})
        write_recording(self._recording, head, [], [case])
        self.restore()

    def restore(self) -> None:
        """The project as it is without mistakes."""
        (self.folder / "pyproject.toml").write_text(SETTINGS)
        (self.folder / "known.toml").write_text(ISSUES)
        (self.folder / "kernels" / "mine.cu").write_text('extern "C" __global__ void scaled_f32(float* x) {}\n')
        self._declare(FIELDS)

    def _declare(self, fields: dict[str, str]) -> None:
        text = ", ".join(f"{name}={value}" for name, value in fields.items())
        (self.folder / "cases" / "mine.py").write_text(DECLARATION.replace("{fields}", text), "utf-8", "surrogatepass")

    def attempts(self) -> Iterator[Attempt]:
        """Inputs without end."""
        makers = (self._case, self._case, self._options, self._options, self._settings, self._declaration,
                  self._declaration, self._issues, self._file)  # fmt: skip
        slow = (self._nested, self._nested, self._streams, self._environment, self._endless)
        while True:
            yield self.random.choice(slow if self.random.random() < SLOW else makers)()

    def _spoilt(self, text: str) -> str:
        """The text with one to three mistakes."""
        for _ in range(self.random.randint(1, 3)):
            start = self.random.randrange(len(text) + 1)
            end = min(len(text), start + self.random.choice((0, 0, 1, 1, 2, 5, 20)))
            if self.random.random() < 0.5 and (numbers := [i for i, each in enumerate(text) if each.isdigit()]):
                start = self.random.choice(numbers)
                end = start + 1
            part = self.random.choice((self.random.choice(NASTY), text[start:end] * 2, ""))
            text = text[:start] + part + text[end:]
        return text

    def _called(self, *arguments: str) -> Attempt:
        shown = " ".join(map(repr, arguments))
        return Attempt(f"parity {shown}", lambda: parity(list(arguments)))

    def _case(self) -> Attempt:
        return self._called("explain", self._spoilt(self.random.choice(CASES)))

    def _options(self) -> Attempt:
        command = self.random.choice(list(OPTIONS))
        # A selector without matches keeps commands from compiling and executing, which other tests cover.
        arguments = ["mine.nothing"] if command in ("run", "record", "bench", "footprint", "list") else []
        arguments += [CASES[0]] * (command == "explain") + ["nothing"] * (command == "build")
        for _ in range(self.random.randint(1, 3)):
            arguments += [self.random.choice(OPTIONS[command]), self.random.choice(NASTY)][: self.random.randint(1, 2)]
        return self._called(command, *(each for each in arguments if "\0" not in each))

    def _apart(self, what: str, *arguments: str, closed: tuple[int, ...] = (), **variables: str) -> Attempt:
        """A command in another process, with closed descriptors and more environment variables."""
        command = [sys.executable, "-m", "parity", *arguments]
        path = os.pathsep.join(filter(None, sys.path))

        def act() -> int:
            done = subprocess.run(
                command, env={**os.environ, "PYTHONPATH": path, **variables}, capture_output=True, check=False,
                preexec_fn=lambda: [os.close(each) for each in closed], timeout=SECONDS,
            )  # fmt: skip
            text = (done.stdout + done.stderr).decode(errors="replace")
            sys.stderr.write(text or "closed" * bool(closed))
            return done.returncode

        return Attempt(f"{what}: parity {' '.join(arguments)}", act)

    def _streams(self) -> Attempt:
        closed = tuple(each for each in range(3) if self.random.random() < 0.5)
        command = self.random.choice(
            (["list"], ["list", "nothing"], ["explain", CASES[0]], ["explain", "no"], ["nothing"])
        )
        return self._apart(f"closed: {closed}", *command, closed=closed)

    def _environment(self) -> Attempt:
        name = self.random.choice(VARIABLES)
        value = self.random.choice([each for each in NASTY if "\0" not in each])
        return self._apart(f"{name}={value!r}", "build", "mine", "--target", "gfx1100", **{name: value})

    def _nested(self) -> Attempt:
        begin, opening, middle, closing, end = self.random.choice(NESTED)
        depth = self.random.choice((10, 300, 5000))
        text = f"{begin}{opening * depth}{middle}{closing * depth}{end}"
        kernel = 'extern "C" __global__ void scaled_f32(float* x) {}\n'
        (self.folder / "kernels" / "mine.cu").write_text(self.random.choice((text + "\n" + kernel, kernel + text)))
        return self._apart(f"{depth} times {opening!r} in {begin!r}", "build", "mine", "--target", "gfx1100")

    def _endless(self) -> Attempt:
        code = self.random.choice(ENDLESS)
        if self.random.random() < 0.5:
            body = "".join(f"\n    {line}" for line in code.splitlines())
            self._declare({**FIELDS, self.random.choice(("shape", "grid", "reference")): "endless"})
            text = (self.folder / "cases" / "mine.py").read_text()
            code = f"def endless(*a, **k):{body}\n" + text
        else:
            code = DECLARATION.partition("op =")[0] + code
        (self.folder / "cases" / "mine.py").write_text(code)
        run = ["run", "--target", "gfx1100", "-j", "1", "--examples", "1"]
        command = self.random.choice((["list"], ["list", "--cases", "--examples", "2"], run))
        return self._apart(f"cases/mine.py: {code}", *command, PARITY_TIME_LIMIT="1")

    def _settings(self) -> Attempt:
        text = self._spoilt(SETTINGS)
        for wrong in ("tool = 3", "[tool]\nparity = 3", "a = [" * 3000):
            if self.random.random() < 0.02:
                text = wrong
        content = text.encode("utf-8", "surrogatepass")
        if self.random.random() < 0.1:
            content = self._bytes(content)
        (self.folder / "pyproject.toml").write_bytes(content)
        return replace(self._called("list"), what=f"pyproject.toml {content!r}")

    def _declaration(self) -> Attempt:
        fields = dict(FIELDS)
        for _ in range(self.random.randint(1, 2)):
            name = self.random.choice((*FIELDS, *FIELDS, *MORE))
            value = fields.get(name)
            if value and value[0] == "'" and self.random.random() < 0.5:
                fields[name] = repr(self._spoilt(value[1:-1]))
            elif value and self.random.random() < 0.1:
                del fields[name]
            else:
                fields[name] = self.random.choice(VALUES)
        self._declare(fields)
        command = self.random.choice((["list"], ["list", "--cases", "--examples", "2"], ["explain", CASES[0]]))
        return replace(self._called(*command), what=f"Op({fields}), parity {command}")

    def _issues(self) -> Attempt:
        content = self._spoilt(ISSUES).encode("utf-8", "surrogatepass")
        if self.random.random() < 0.1:
            content = self._bytes(content)
        (self.folder / "known.toml").write_bytes(content)

        def act() -> int:
            known = load_known_issues(find_suite(), [Column("emulated", "gfx1100")])
            print("\n".join(known.mistakes), file=sys.stderr)
            return 2 if known.mistakes else 0

        return Attempt(f"known-issues.toml {content!r}", act)

    def _bytes(self, content: bytes) -> bytes:
        """The content with some bytes changed, cut off, or random."""
        kind = self.random.randrange(4)
        if kind == 0:
            return content[: self.random.randrange(len(content) + 1)]
        if kind == 1:
            return self.random.randbytes(self.random.randrange(200))
        changed = bytearray(content)
        for _ in range(self.random.randint(1, 8)):
            changed[self.random.randrange(len(changed))] = self.random.randrange(256)
        return bytes(changed)

    def _file(self) -> Attempt:
        kind = self.random.choice(("recording", "baseline", "record", "code object"))
        path = self.folder / "file"
        if kind == "recording":
            content = self._bytes(self._recording.read_bytes())
        elif kind == "code object":
            header = b"\x7fELF\x02\x01\x01\x40\x04".ljust(16, b"\0") + b"\x03\0\xe0\0\x01\0\0\0"
            content = header + self.random.randbytes(self.random.choice((40, 200, 2000)))
        else:
            known = {"format": "parity bench, version 1", "measurements": [{"case": CASES[0]}], "environment": {}}
            content = self._bytes(json.dumps(known).encode() + b"\n")
        path.write_bytes(content)

        def act() -> int:
            if kind == "recording":
                read_recording(path)
            elif kind == "code object":
                binary_listing.disassembled_listing(path)
            elif kind == "record":
                return parity(["run", "mine.nothing", "--runner", f"recorded={path}"])
            else:
                return parity(["bench", CASES[0], "--baseline", str(path), "--runner", "nothing"])
            return 0

        return Attempt(f"a {kind}: {content[:200]!r}", act)


def answer(attempt: Attempt) -> str:
    """The defect of parity's answer to an input, or an empty string."""
    said, told = io.StringIO(), io.StringIO()
    before = signal.signal(signal.SIGALRM, _late)
    signal.alarm(SECONDS)
    try:
        with contextlib.redirect_stdout(said), contextlib.redirect_stderr(told):
            code = attempt.act()
    except ParityError as error:
        code = error.exit_code
        told.write(str(error))
    except BaseException as error:
        return "".join(traceback.format_exception(error))
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)
    if "Traceback (most recent call last)" in told.getvalue() + said.getvalue():
        return f"a traceback, and exit code {code}:\n{told.getvalue()}{said.getvalue()}"
    if code not in (0, 1, 2, 3):
        return f"exit code {code!r}"
    if code and not told.getvalue().strip():
        return f"exit code {code} without a message"
    return ""


def _late(number: int, frame: object) -> None:
    raise TimeoutError(f"no answer within {SECONDS} s")


def fuzz(count: int, seed: int = 0) -> Iterator[tuple[int, Attempt, str]]:
    """The inputs that were answered with something else than a message and an exit code, with their numbers."""
    before, variables = Path.cwd(), dict(os.environ)
    with tempfile.TemporaryDirectory() as place:
        os.chdir(place)
        try:
            made = Fuzz(Path(place), seed)
            for number, attempt in zip(range(count), made.attempts(), strict=False):
                if problem := answer(attempt):
                    yield number, attempt, problem
                made.restore()
                os.environ.update(variables)
        finally:
            os.chdir(before)


def main(arguments: list[str]) -> int:
    """Make the inputs, and print those that were not answered as promised."""
    count, seed = (*map(int, arguments), *(COUNT, 0)[len(arguments) :])
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    wrong = 0
    for number, attempt, problem in fuzz(count, seed):
        wrong += 1
        print(f"input {number}: {attempt.what[:2000]}\n{problem}\n", flush=True)
    print(f"{count} inputs, {wrong} not answered with a message and an exit code")
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
