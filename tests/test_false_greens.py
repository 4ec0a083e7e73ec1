"""Attempts to get exit code 0 for a kernel that is wrong, or that nothing compared with anything.

Each attempt starts from the project of ``parity init``, changes its files, and runs it. Only the controls may pass.
"""

from __future__ import annotations

import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from parity.cli import main

KERNEL, CASES, SETTINGS = "kernels/leaky_relu.cu", "cases/leaky_relu.py", "pyproject.toml"
RUN = ("run", "--target", "gfx1100", "--runner", "emulated", "-j", "1")
TWO = ("run", "--target", "gfx1100,gfx90a", "--runner", "emulated", "-j", "1")
BOTH = ("run", "--target", "gfx1100,sm_90", "--runner", "emulated", "--runner", "ptx", "-j", "1")

EXPRESSION = "x[i] > 0.0f ? x[i] : alpha * x[i]"
REFERENCE = "reference.within(0.5, np.where(wide > 0, wide, alpha * wide), to)"
DECLARED = "    reference=leaky_relu,\n"
HEAD = "import numpy as np\n"
VERDICT = "__import__('parity.compare.verdict').compare.verdict.Verdict"
PASSES = f"lambda *a, **k: {VERDICT}('pass')"
EXACT = "np.where(wide > 0, wide, alpha * wide).astype('f4')"

Edits = tuple[tuple[str, str, str], ...]


def edit(file: str, old: str, new: str) -> Edits:
    return ((file, old, new),)


def reference(text: str) -> Edits:
    """Replace the expected values by an expression."""
    return edit(CASES, REFERENCE, text)


def declared(text: str) -> Edits:
    """Add fields to the declaration of the op."""
    return edit(CASES, DECLARED, f"{DECLARED}    {text},\n")


def within(ulps: str) -> Edits:
    """Replace the error bound."""
    return reference(REFERENCE.replace("0.5", ulps))


def in_reference(text: str) -> Edits:
    """Add a statement to the start of the reference."""
    return edit(CASES, "    wide =", f"    {text}\n    wide =")


def kernel(text: str) -> Edits:
    """Replace the expression that the kernel computes."""
    return edit(KERNEL, EXPRESSION, text)


def writing_if(condition: str) -> Edits:
    """Replace the condition under which the kernel writes."""
    return edit(KERNEL, "if (i < n)", f"if ({condition})")


def at_start(text: str) -> Edits:
    """Add lines to the start of the case file."""
    return edit(CASES, HEAD, f"{HEAD}{text}\n")


def setting(text: str) -> Edits:
    return edit(SETTINGS, "[tool.parity]\n", f"[tool.parity]\n{text}\n")


def known(**changes: str) -> Edits:
    keys = {"cases": '"*"', "failure": '"value"', "ulps": "4", "reason": '"later"', "expires": "2999-01-01", **changes}
    return edit("known-issues.toml", "", "\n".join(("[[issue]]", *(f"{k} = {v}" for k, v in keys.items()), "")))


WRONG = kernel("x[i] > 0.0f ? x[i] : 1.5f * alpha * x[i]")
NO_REFERENCE = edit(CASES, DECLARED, "")


@dataclass(frozen=True)
class Attempt:
    """An attempt: its edits, the expected exit code, a text of the output, and the command."""

    edits: Edits
    code: int
    says: str = ""
    command: tuple[str, ...] = RUN
    later: Edits = ()
    """Edits after a first run; then the command runs again."""
    first: int = 0
    """The exit code of the first run. Another code than 0 asks for a first run without later edits, too."""
    alone: bool = False
    """Run in a separate process, which the case file may end."""

    @property
    def needs_nvcc(self) -> bool:
        return "ptx" in self.command


ATTEMPTS = {
    # Controls: the harness of this file lets a right kernel pass.
    "control-right-kernel": Attempt((), 0, " 0 failed"),
    "control-no-reference": Attempt(NO_REFERENCE, 0, " 0 failed", BOTH),
    "control-own-process": Attempt((), 0, " 0 failed", alone=True),
    "control-reference-in-place": Attempt(
        in_reference("wide = x.astype(np.float64); np.abs(x, out=x); x = wide"), 0, " 0 failed", TWO
    ),
    # Kernels.
    "kernel-wrong-factor": Attempt(WRONG, 1, "value"),
    "kernel-writes-nothing": Attempt(writing_if("i < n && n < 0"), 1, "unwritten"),
    "kernel-writes-zeros": Attempt(kernel("0.0f"), 1, "value"),
    "kernel-copies-input": Attempt(kernel("x[i]"), 1, "value"),
    "kernel-writes-nan": Attempt(kernel('nanf("")'), 1, "nan"),
    "kernel-misses-last-element": Attempt(writing_if("i < n - 1"), 1, "unwritten"),
    "kernel-misses-elements-beyond-16-bits": Attempt(writing_if("i < n && i < 65536"), 1, "unwritten"),
    "kernel-misses-last-element-of-full-blocks": Attempt(writing_if("i < n && (n % 512 || i < n - 1)"), 1, "unwritten"),
    **{
        f"kernel-compares-unwritten-shared-{name}": Attempt(
            edit(KERNEL, "int i =", "__shared__ float s[1024]; if (n < 0) s[threadIdx.x] = n; int i =")
            + kernel(f"s[threadIdx.x] {comparison} ? 0.0f : {EXPRESSION}"),
            1,
            "never-written read",
        )
        for name, comparison in (("large", "> 1e30f"), ("negative", "< -1e30f"), ("zero", "== 0.0f"))
    },
    "kernel-writes-to-other-block": Attempt(
        kernel(f"{EXPRESSION}; if (blockIdx.x == 0 && n > 1024) out[n - 1] = 0.0f"), 1, "data race"
    ),
    "kernel-reads-output": Attempt(kernel(f"out[i] != out[i] ? {EXPRESSION} : 0.0f"), 1, "never-written read"),
    "kernel-reads-behind-input": Attempt(
        kernel(f"{EXPRESSION}; float y = *(volatile const float*)(x + n)"), 1, "out-of-bounds read"
    ),
    "kernel-of-fewer-threads": Attempt(
        edit(KERNEL, "__global__ void", "__global__ void __launch_bounds__(32)"), 1, "launch bounds"
    ),
    "kernel-uses-shared-memory-that-no-launch-has": Attempt(
        kernel(
            f"{EXPRESSION}; extern __shared__ float s[]; s[threadIdx.x] = x[i]; out[i] = out[i] + 0 * s[threadIdx.x]"
        ),
        1,
        "out-of-bounds write",
    ),
    "kernel-uses-shared-memory-behind-end": Attempt(
        kernel(f"0; extern __shared__ float s[]; s[threadIdx.x + 1] = {EXPRESSION}; out[i] = s[threadIdx.x + 1]")
        + declared("shared='threads*4'"),
        1,
        "out-of-bounds write",
    ),
    "kernel-rounds-otherwise": Attempt(
        edit(KERNEL, "int i =", 'asm volatile("s_setreg_imm32_b32 hwreg(HW_REG_MODE, 0, 4), 5"); int i ='),
        1,
        "unknown hardware register",
    ),
    "kernel-loses-denormals": Attempt(setting('flags = ["-fgpu-flush-denormals-to-zero"]'), 1, "value"),
    "argument-too-wide": Attempt(edit(CASES, "numel:i32", "numel:i64"), 1, "has 4 bytes, not 8"),
    "arguments-exchanged": Attempt(edit(CASES, "alpha numel:i32", "numel:i32 alpha"), 1, "out-of-bounds read"),
    "output-too-narrow": Attempt(
        edit(CASES, "    params=", '    outputs={"out": "f16"},\n    params='), 1, "out-of-bounds write"
    ),
    "kernel-does-not-compile": Attempt(edit(KERNEL, "int i =", "int i = nosuch +"), 1, "compile error"),
    "kernel-renamed": Attempt(edit(KERNEL, "void leaky_relu_f32", "void other_f32"), 1, "missing kernel"),
    "kernel-right-only-in-cases-of-its-size": Attempt(writing_if("i < n && n < 64"), 1, "unwritten"),
    "kernel-right-only-for-cuda": Attempt(
        kernel(f"0.0f;\n#ifndef __HIP_PLATFORM_AMD__\n        out[i] = {EXPRESSION};\n#endif\n"), 1, "value"
    ),
    # Without a reference.
    "no-reference-and-no-cuda": Attempt(NO_REFERENCE, 3, "not judged"),
    "no-reference-nothing-writes": Attempt(NO_REFERENCE + writing_if("i < n && n < 0"), 1, "unwritten", BOTH),
    "no-reference-nothing-writes-single-case": Attempt(
        NO_REFERENCE + writing_if("i < n && n < 0"),
        1,
        "unwritten",
        (*BOTH, "leaky_relu.leaky_relu[f32](x=3~normal@0 alpha=0.5)"),
    ),
    "kernel-writes-input": Attempt(
        kernel(f"{EXPRESSION};\n        ((float*)x)[i] = 1.0f"),
        1,
        "input modified",
        (*RUN, "leaky_relu.leaky_relu[f32](x=2x3~normal@0 alpha=0.5)"),
    ),
    "no-reference-misses-elements-beyond-16-bits": Attempt(
        NO_REFERENCE + writing_if("i < n && i < 65536"), 1, "smaller cases write every element of out", BOTH
    ),
    "control-no-reference-and-square-of-elements": Attempt(
        NO_REFERENCE + kernel(f"0; for (int k = 0; k < n; k++) out[i] = max(out[i], 0.0f); out[i] = {EXPRESSION}"),
        0,
        "28 cases, 28 passed",
        BOTH,
    ),
    "no-reference-one-side-wrong": Attempt(
        NO_REFERENCE + kernel("\n#ifdef __HIP_PLATFORM_AMD__\n1.5f *\n#endif\nx[i]"), 1, "value", BOTH
    ),
    # References and tolerances.
    "tolerance-1e300": Attempt(WRONG + within("1e300"), 1, "vacuous"),
    "tolerance-2**31": Attempt(WRONG + within("2.0**31"), 1, "vacuous"),
    "tolerance-2**24": Attempt(WRONG + within("2.0**24"), 1, "vacuous"),
    "tolerance-infinite": Attempt(WRONG + within("np.inf"), 2, "a budget is 0 or more"),
    "tolerance-nan": Attempt(WRONG + within("np.nan"), 2, "a budget is 0 or more"),
    "bounds-infinite": Attempt(
        WRONG + reference("reference.Expected(x, lambda _: reference.Bounds(wide, 0.0, wide*0+np.inf, wide*0+np.inf))"),
        1,
    ),
    "bounds-negative": Attempt(
        WRONG + reference("reference.Expected(x, lambda _: reference.Bounds(wide, 0.0, wide*0-1, wide*0-1))"), 1
    ),
    "accepts-everything": Attempt(
        WRONG + reference("reference.Expected(x, accepts=lambda got: np.ones(got.shape, bool))"), 1, "vacuous"
    ),
    "accepts-returns-true": Attempt(
        WRONG + reference("reference.Expected(x, accepts=lambda got: True)"), 1, "accepts of out returned"
    ),
    "accepts-only-once": Attempt(
        WRONG
        + at_start("CALLS = []\ndef once(got): return np.full(got.shape, not CALLS.append(1) and len(CALLS) == 1)")
        + in_reference("CALLS.clear()")
        + reference("reference.Expected(x, accepts=once)"),
        1,
        "accepts of out gives two answers for the same elements",
    ),
    "accepts-in-class-of-parity": Attempt(
        WRONG
        + at_start("from parity.reference.sort import InOrder\nclass Own(InOrder): __call__ = lambda s, got: True")
        + reference("reference.Expected(x, accepts=Own(x))"),
        1,
        "accepts of out returned bool of shape ()",
    ),
    "accepts-finite": Attempt(WRONG + reference("reference.Expected(x, accepts=np.isfinite)"), 1),
    "alternatives-of-any-element": Attempt(
        kernel("x[n - 1 - i] > 0.0f ? x[n - 1 - i] : alpha * x[n - 1 - i]")
        + declared("shapes='x: n; out: n'")
        + reference(f"reference.Expected({EXACT}, alternatives={EXACT})"),
        1,
        "alternatives of type ndarray",
    ),
    "unspecified-by-numbers": Attempt(
        WRONG + reference(f"reference.Expected({EXACT}, unspecified=x)"), 2, "of type float32 instead of bool"
    ),
    "bounds-of-other-shape": Attempt(
        WRONG + reference(f"reference.Expected({EXACT}, lambda _: reference.Bounds(wide[None], 0.0, 9e9, 9e9))"),
        1,
        "whose centre has shape",
    ),
    "unspecified-everything": Attempt(WRONG + reference("reference.Expected(x, unspecified=True)"), 1, "vacuous"),
    "alternatives-of-wrong-kernel": Attempt(
        kernel("0.0f") + reference(f"reference.Expected({EXACT}, alternatives=(x * 0,))"),
        1,
    ),
    "reference-all-nan": Attempt(
        kernel('nanf("")') + reference("reference.within(0.5, wide * np.nan, to)"), 1, "vacuous"
    ),
    "nan-allowed-and-only-nan": Attempt(
        kernel('nanf("")') + reference(f"reference.Expected({EXACT}, nan_allowed=True)"),
        1,
        "vacuous",
    ),
    "reference-raises": Attempt(WRONG + in_reference("1 / 0"), 3, "ZeroDivisionError"),
    "reference-exits": Attempt(WRONG + in_reference("exit(0)"), 3, "SystemExit"),
    "reference-ends-process": Attempt(WRONG + in_reference("__import__('os')._exit(0)"), 2, alone=True),
    "reference-of-other-type": Attempt(WRONG + reference("np.asarray(x)"), 2, "it must return an Expected"),
    "reference-of-other-shape": Attempt(WRONG + reference("reference.Expected(x[:0])"), 2, "the reference gives"),
    "reference-returns-input-buffer": Attempt(WRONG + reference("reference.Expected(x)"), 1, "value"),
    "reference-of-other-types": Attempt(
        WRONG + reference('{"out": np.asarray(x)}'), 2, "mapping of out, in which out is of type ndarray"
    ),
    "reference-of-complex-numbers": Attempt(
        WRONG + reference("reference.Expected(x.astype('c16'))"), 2, "the declaration of leaky_relu.leaky_relu is wrong"
    ),
    "reference-of-a-number": Attempt(
        WRONG + reference("reference.Expected(np.float32(0))"), 2, "the declaration of leaky_relu.leaky_relu is wrong"
    ),
    "reference-of-other-output": Attempt(WRONG + reference("{'aux': reference.Expected(x)}"), 2, "a mapping of aux"),
    "alternatives-with-own-operators": Attempt(
        WRONG
        + at_start("class Equal(np.ndarray):\n    def __array_ufunc__(self, *a, **k): return np.ones(self.shape, bool)")
        + reference(f"reference.Expected({EXACT}, alternatives=({EXACT}.view(Equal),))"),
        2,
        "alternatives[0] of type Equal",
    ),
    "bounds-with-masked-arrays": Attempt(
        WRONG
        + reference(
            f"reference.Expected({EXACT}, lambda _: reference.Bounds(np.ma.masked_all(x.shape), 0, wide * 0, wide * 0))"
        ),
        1,
        "is of type MaskedArray",
    ),
    "bounds-only-once": Attempt(
        WRONG
        + at_start("CALLS = []")
        + in_reference("CALLS.clear()")
        + reference(
            f"reference.Expected({EXACT}, lambda _: CALLS.append(1) or reference.Bounds("
            "wide, 0.0, *(wide * 0 + 1e30 * (len(CALLS) == 1),) * 2))"
        ),
        1,
    ),
    "reference-of-own-class": Attempt(
        WRONG
        + at_start("from parity.reference import Expected\nclass Own(Expected): pass")
        + reference("Own(x, unspecified=True)"),
        2,
        "the reference returns one Own; it must return an Expected",
    ),
    "reference-of-array-with-own-operators": Attempt(
        WRONG
        + at_start("class Equal(np.ndarray):\n    def __array_ufunc__(self, *a, **k): return np.ones(self.shape, bool)")
        + reference("reference.Expected(x.view(Equal))"),
        2,
        "the reference gives a Equal for out",
    ),
    "reference-none": Attempt(WRONG + reference("None"), 2, "it must return an Expected"),
    # Cases.
    "cases-only-empty": Attempt(WRONG + declared("choices={'numel': (0,)}"), 2),
    "cases-where-empty": Attempt(WRONG + declared("shapes='x: n; out: n', where='n == 0'"), 3, "compared"),
    "cases-choices-empty": Attempt(WRONG + declared("shapes='x: n; out: n', choices={'n': (0,)}"), 3, "compared"),
    "cases-where-never-true": Attempt(WRONG + declared("shapes='x: n; out: n', where='n < 0'"), 2, "no drawn case"),
    "cases-compare-nothing": Attempt(
        WRONG + declared("outputs={}, workspace={'out': 'T'}"), 2, "nothing could be compared"
    ),
    "cases-exchange-tensors": Attempt(
        edit(CASES, 'inputs={"x": "T"}', 'inputs={"out": "T"}, outputs={"x": "T"}'), 1, "never-written read"
    ),
    "cases-negative-shape": Attempt(WRONG + declared("shape=lambda *a, **k: (-1,)"), 2, "leaky_relu.py:15: op"),
    "cases-where-excludes-failures": Attempt(
        writing_if("i < n && n <= 8") + declared("shapes='x: n; out: n', where='n <= 8', choices={'n': (1, 8)}"),
        0,
        "passed",
    ),
    "cases-op-without-kernel-entry": Attempt(WRONG + declared("only=lambda *types: False"), 2),
    "cases-without-threads-for-small-sizes": Attempt(
        WRONG + declared("grid='numel-9'"), 2, "'numel-9' is -8 with numel=1: a launch needs 1 or more along every dim"
    ),
    "cases-op-with-own-call": Attempt(
        WRONG + edit(CASES, "leaky_relu_op = Op(", "Op.call = lambda *_: exit(0)\nleaky_relu_op = Op("),
        2,
        "replaces parity.op.Op.call",
        alone=True,
    ),
    "cases-op-in-a-list": Attempt(WRONG + edit(CASES, "leaky_relu_op = Op(", "ops = [0][1:], Op("), 2, "declare no op"),
    "cases-op-of-own-class": Attempt(
        WRONG + edit(CASES, "import Op", "import Op as Base\n\nclass Op(Base):\n    pass"),
        2,
        "is of class Op; use Op itself",
    ),
    "cases-no-op": Attempt(WRONG + edit(CASES, "leaky_relu_op = Op(", "def later(): Op("), 2, "declare no op"),
    "cases-empty-folder": Attempt(
        setting('cases = "none"\n') + edit(SETTINGS, 'cases = "cases"\n', ""), 2, "does not exist"
    ),
    "selector-names-nothing": Attempt(WRONG, 2, "names no op", (*RUN, "nosuch")),
    "dtype-names-nothing": Attempt(WRONG, 2, "no kernel for dtype", (*RUN, "--dtype", "f64")),
    "selected-case-is-empty": Attempt(
        WRONG, 3, "nothing was compared", (*RUN, "leaky_relu.leaky_relu[f32](x=0~normal@0 alpha=0.5)")
    ),
    "failed-cases-of-run-without-failures": Attempt((), 3, "no selected case failed", (*RUN, "--failed"), later=WRONG),
    "shard-without-kernel": Attempt(WRONG, 2, "cannot be divided", (*RUN, "--shard", "2/2")),
    "target-names-nothing": Attempt(WRONG, 2, "has no name", (*RUN, "--target", ",")),
    "target-without-runner": Attempt(WRONG, 3, "cannot run", (*RUN[:1], "--target", "sm_90", "--runner", "emulated")),
    "recording-missing": Attempt(WRONG, 2, "nosuch.zip", ("run", "--runner", "recorded=nosuch.zip")),
    # Earlier runs: their objects, verdicts and reports.
    "earlier-run-then-wrong-kernel": Attempt((), 1, "value", later=WRONG),
    "earlier-run-then-wrong-header": Attempt(
        kernel(f"FACTOR * ({EXPRESSION})")
        + edit(KERNEL, "extern", '#include "factor.h"\nextern')
        + edit("kernels/factor.h", "", "#define FACTOR 1.0f"),
        1,
        "value",
        later=edit("kernels/factor.h", "1.0f", "1.5f"),
    ),
    "earlier-run-then-wrong-flags": Attempt(
        kernel(f"FACTOR * ({EXPRESSION})") + setting('flags = ["-DFACTOR=1.0f"]'),
        1,
        "value",
        later=edit(SETTINGS, "1.0f", "1.5f"),
    ),
    "flag-whose-file-may-change": Attempt(setting('flags = ["-fprofile-use=old.profdata"]'), 2, "would not notice"),
    "resume-with-wrong-kernel": Attempt((), 2, "cannot be resumed", (*RUN, "--resume"), later=WRONG),
    "resume-with-wrong-reference": Attempt(
        (), 2, "cannot be resumed", (*RUN, "--resume"), later=reference("reference.Expected(x)")
    ),
    "resume-with-wrong-module-of-cases": Attempt(
        at_start("import sys; sys.path.insert(0, 'lib')\nfrom factor import FACTOR")
        + reference(REFERENCE.replace("alpha *", "FACTOR * alpha *"))
        + edit("lib/factor.py", "", "FACTOR = 1.0"),
        2,
        "cannot be resumed",
        (*RUN, "--resume"),
        later=edit("lib/factor.py", "1.0", "1.5"),
    ),
    "resume-with-edited-record": Attempt(
        (),
        2,
        "line 2 does not match its checksum",
        (*RUN, "--resume"),
        later=edit("parity-out/record.jsonl", '"status":"pass"', '"status":"fail"'),
    ),
    "resume-of-failed-run": Attempt(WRONG, 1, "value", (*RUN, "--resume"), first=1),
    "resume-with-known-issues": Attempt(WRONG, 2, "known issues", (*RUN, "--resume"), later=known(ulps="1e9"), first=1),
    "resume-without-checksums": Attempt(
        (),
        2,
        "line 1 does not match its checksum",
        (*RUN, "--resume"),
        later=edit("parity-out/record.jsonl", '{"sha256":"', '{"sha":"'),
    ),
    "kernel-without-op-is-named": Attempt(
        edit(KERNEL, "extern", 'extern "C" __global__ void other_f32(float* out) { out[0] = 0.0f; }\nextern'),
        0,
        "other_f32",
    ),
    "kernel-without-op-strict": Attempt(
        edit(KERNEL, "extern", 'extern "C" __global__ void other_f32(float* out) { out[0] = 0.0f; }\nextern'),
        1,
        "other_f32",
        (*RUN, "--strict"),
    ),
    # Known issues.
    "known-ulps-infinite": Attempt(WRONG + known(ulps="inf"), 1, "ulps"),
    "known-ulps-1e300": Attempt(WRONG + known(ulps="1e300"), 1, "ulps"),
    "known-without-ulps": Attempt(
        WRONG
        + edit(
            "known-issues.toml", "", '[[issue]]\ncases = "*"\nfailure = "value"\nreason = "x"\nexpires = 2999-01-01\n'
        ),
        1,
        "needs 'ulps'",
    ),
    "known-vacuous": Attempt(WRONG + within("1e300") + known(failure='"vacuous"'), 1, "allow-vacuous of [tool.parity]"),
    "known-expired": Attempt(WRONG + known(ulps="1e9", expires="2020-01-01"), 1, "expired"),
    "known-missing-kernel": Attempt(
        edit(KERNEL, "void leaky_relu_f32", "void other_f32")
        + edit(
            "known-issues.toml",
            "",
            '[[issue]]\ncases = "*"\nfailure = "missing kernel"\nreason = "x"\nexpires = 2999-01-01\n',
        ),
        3,
        "nothing was run",
    ),
    "known-other-class": Attempt(WRONG + known(failure='"nan"'), 1, "value"),
    "known-stale": Attempt(known(), 1, "no longer fails"),
    "known-not-toml": Attempt(edit("known-issues.toml", "", "[[issue"), 2, "known-issues.toml"),
    # Case files that are hostile, or look like it.
    "import-exits": Attempt(at_start("exit(0)"), 2, "SystemExit"),
    "import-ends-process": Attempt(WRONG + at_start("__import__('os')._exit(0)"), 2, "leaky_relu.py:4", alone=True),
    "import-ends-process-posix": Attempt(
        WRONG + at_start("__import__('posix')._exit(0)"), 2, "nothing is proven", alone=True
    ),
    "import-replaces-process": Attempt(
        WRONG + at_start("__import__('os').execv('/bin/true', ['true'])"), 2, "nothing is proven", alone=True
    ),
    "atexit-ends-process": Attempt(
        WRONG + at_start("import atexit, os\natexit.register(os._exit, 0)"), 1, "value", alone=True
    ),
    "thread-never-ends": Attempt(
        WRONG + at_start("import threading\nthreading.Thread(target=threading.Event().wait).start()"),
        1,
        "value",
        alone=True,
    ),
    "thread-ends-process": Attempt(
        WRONG + at_start("import os, threading\nthreading.Timer(0.2, os._exit, (0,)).start()"), 1, "value", alone=True
    ),
    "import-forks": Attempt(WRONG + at_start("__import__('os').fork()"), 1, "1 kernel, 29 cases", alone=True),
    "reference-forks": Attempt(WRONG + in_reference("__import__('os').fork()"), 1, "value", alone=True),
    "import-adds-exit-code": Attempt(
        at_start("from parity.errors import UsageError\nUsageError.exit_code = 0\n1 / 0"),
        2,
        "ZeroDivisionError",
        alone=True,
    ),
    "import-replaces-getpid": Attempt(WRONG + at_start("__import__('os').getpid = lambda: 1"), 1, "value", alone=True),
    "import-lowers-recursion-limit": Attempt(
        at_start("__import__('sys').setrecursionlimit(50)"),
        2,
        "cases/leaky_relu.py replaces the recursion limit by 50",
        alone=True,
    ),
    "import-ignores-ends-of-compilers": Attempt(
        edit(KERNEL, "int i =", "int i = nosuch +")
        + at_start("import signal\nsignal.signal(signal.SIGCHLD, signal.SIG_IGN)"),
        1,
        "use of undeclared identifier 'nosuch'",
        alone=True,
    ),
    "import-lowers-memory": Attempt(
        at_start("import resource\nresource.setrlimit(resource.RLIMIT_AS, (1 << 26, 1 << 26))"),
        2,
        "leaky_relu.py:5: a case file must not lower limits of the process",
        alone=True,
    ),
    "import-stops-process": Attempt(
        at_start("import os\nos.kill(os.getpid(), 19)"), 2, "leaky_relu.py:5: a case file must not stop", alone=True
    ),
    "import-stops-itself": Attempt(WRONG + at_start("import signal\nsignal.raise_signal(19)"), 1, "value", alone=True),
    "reference-stops-process": Attempt(
        in_reference("import os; os.kill(os.getpid(), 19)"), 2, "must not stop processes", alone=True
    ),
    "reference-stops-itself": Attempt(
        WRONG + in_reference("import signal; signal.raise_signal(19)"), 1, "value", alone=True
    ),
    "import-raises": Attempt(at_start("1 / 0"), 2, "ZeroDivisionError"),
    "import-raises-generator-exit": Attempt(at_start("raise GeneratorExit"), 2, "leaky_relu.py:4: GeneratorExit"),
    "import-raises-own-exception": Attempt(
        at_start("class Stop(BaseException): pass\nraise Stop('now')"), 2, "leaky_relu.py:5: Stop: now"
    ),
    "reference-raises-generator-exit": Attempt(in_reference("raise GeneratorExit"), 3, "raised GeneratorExit"),
    **{
        f"patches-{what}": Attempt(WRONG + at_start(text), 2, f"replaces {named}", alone=True)
        for what, text, named in (
            (
                "comparison",
                f"import parity.compare.comparison as c\nc.compare = {PASSES}",
                "parity.compare.comparison.c",
            ),
            ("judging", f"import parity.engine.judging as j\nj.compare = {PASSES}", "parity.engine.judging.compare"),
            (
                "code-of-function",
                f"import parity.engine.judging as j\nj.judge.__code__ = ({PASSES}).__code__",
                "parity.",
            ),
            ("property", f"{VERDICT}.failed = property(lambda self: False)", "parity.compare.verdict.Verdict.failed"),
            (
                "outcome",
                "import parity.cli.shared.outputs as o\no.outcome = lambda *a, **k: o.Outcome(0)",
                "parity.cli.shared.outputs.outcome",
            ),
            (
                "enum",
                "from parity.compare.verdict import Status\nStatus._member_map_['FAIL'] = Status.PASS",
                "parity.compare.verdict.Status.FAIL",
            ),
            (
                "exit-code",
                "from parity.errors import *\nParityError.exit_code = 0",
                "parity.errors.ParityError.exit_code",
            ),
            ("numpy", "np.asarray = lambda *a, **k: np.array(*a, **k)", "numpy.asarray"),
            (
                "new-method",
                f"{VERDICT}.__getattribute__ = lambda *a: object.__getattribute__(*a)",
                "parity.compare.verdict.Verdict.__getattribute__",
            ),
            (
                "hidden-builtin",
                "import parity.engine.judging as j\nj.any = lambda _: False",
                "parity.engine.judging.any",
            ),
            (
                "constant",
                "import parity.engine.sensitivity as s\ns.MISTAKES = {}",
                "parity.engine.sensitivity.MISTAKES",
            ),
            (
                "table",
                "import parity.engine.judging as j\nj._STATUS['value'] = 3",
                "parity.engine.judging._STATUS.value",
            ),
            ("builtin", "import builtins\nbuiltins.all = lambda _: True", "builtins.all"),
            ("isinstance", "import builtins\nbuiltins.isinstance = lambda *_: False", "builtins.isinstance"),
            ("len", "import builtins\nbuiltins.len = lambda _: 3", "builtins.len"),
        )
    },
    **{
        f"patches-{what}": Attempt(WRONG + at_start(text), 2, f"a case file replaces {what}", alone=True)
        for what, text in (
            ("re.compile", "import re\nre.compile = lambda *a, **k: None"),
            ("pickle.loads", "import pickle\npickle.loads = lambda *a, **k: None"),
            ("threading.Thread", "import threading\nthreading.Thread = None"),
        )
    },
    "patches-table-so-that-comparison-fails": Attempt(
        at_start("import parity.compare.comparison as c\nc.MISTAKES = ()"),
        2,
        "a case file replaces parity.compare.comparison.MISTAKES",
        alone=True,
    ),
    "changes-suite-of-worker": Attempt(
        WRONG
        + within("1e300")
        + in_reference(
            "from parity.engine import worker; object.__setattr__(worker.current().suite, 'allow_vacuous', ('*',))"
        ),
        2,
        "replaces Suite.allow_vacuous",
        alone=True,
    ),
    "changes-known-issues-of-worker": Attempt(
        WRONG
        + in_reference("from parity.engine import worker; object.__setattr__(worker.current().plan, 'known', None)"),
        2,
        "replaces Plan.known",
        alone=True,
    ),
    "patches-in-reference": Attempt(
        WRONG + in_reference(f"import parity.engine.judging as j; j.compare = {PASSES}"),
        2,
        "replaces parity.engine.judging.compare",
        alone=True,
    ),
    # Settings and environment.
    "setting-allow-vacuous-unknown": Attempt(setting('allow-vacuous = ["nosuch"]'), 2, "allow-vacuous has 'nosuch'"),
    "setting-allow-vacuous-other-op": Attempt(setting('allow-vacuus = ["leaky_relu.leaky_relu"]'), 2, "allow-vacuus"),
    "setting-allow-vacuous": Attempt(
        setting('allow-vacuous = ["leaky_relu.leaky_relu"]') + within("1e300"),
        0,
        "vacuous",
    ),
}


@pytest.fixture
def project(tmp_path, monkeypatch):
    assert main(["init", str(tmp_path / "mine")]) == 0
    monkeypatch.chdir(tmp_path / "mine")
    return tmp_path / "mine"


QUICK = {
    *("control-right-kernel", "control-no-reference", "kernel-wrong-factor", "no-reference-nothing-writes"),
    *("tolerance-1e300", "accepts-everything", "reference-all-nan", "nan-allowed-and-only-nan", "known-ulps-infinite"),
    *(
        "control-reference-in-place",
        "kernel-writes-input",
        "import-ends-process",
        "import-lowers-memory",
        "import-stops-itself",
        "reference-stops-itself",
        "patches-re.compile",
        "atexit-ends-process",
        "patches-judging",
        "import-raises-generator-exit",
    ),
}
"""Attempts that default runs include."""


def apply(edits):
    for file, old, new in edits:
        path = Path(file)
        path.parent.mkdir(exist_ok=True)
        text = path.read_text() if path.exists() else ""
        assert old in text, (file, old)
        path.write_text(text.replace(old, new, 1))


@pytest.mark.parametrize(
    "attempt",
    [
        pytest.param(attempt, id=name, marks=() if name in QUICK else pytest.mark.thorough)
        for name, attempt in ATTEMPTS.items()
    ],
)
def test_run_of_wrong_project_does_not_pass(attempt, project, capfd, request):
    if attempt.needs_nvcc:
        request.getfixturevalue("with_nvcc")
    apply(attempt.edits)
    if attempt.later or attempt.first:
        assert main([*RUN]) == attempt.first
    apply(attempt.later)
    capfd.readouterr()
    if attempt.alone:
        code = subprocess.run([sys.executable, "-m", "parity", *attempt.command], timeout=300).returncode
    else:
        code = main([*attempt.command])
    out = "\n".join(capfd.readouterr())
    assert (code, attempt.says in " ".join(out.split())) == (attempt.code, True), out
    assert "Traceback" not in out
