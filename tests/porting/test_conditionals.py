"""Conditional compilation: the branches of a source that AMD's compiler takes."""

import pytest

from parity.porting.conditionals import Conditionals, Region, macros_of

COMPILED, UNKNOWN, LEFT_OUT, CUDA_ONLY = Region


def region(condition, own=(), macros=None, before=""):
    """Return the region of the line after ``#if condition``."""
    text = f"{before}#if {condition}\nint a;\n#endif\n"
    return Conditionals(text, own, macros or {}).region(before.count("\n") + 2)


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        ("__CUDA_ARCH__ >= 800", LEFT_OUT),
        ("__CUDA_ARCH__ < 700", COMPILED),
        ("!defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 600", COMPILED),
        ("defined __CUDA_ARCH__ && (__CUDA_ARCH__ / 100 == 7)", LEFT_OUT),
        ("defined(__CUDA_ARCH__) && HAS(x, (y)) > 3", LEFT_OUT),
        ("CUDA_VERSION >= 11000 || 0", LEFT_OUT),
        ("defined(__CUDACC__)", COMPILED),
        ("!defined(__CUDACC__) && !defined(__HIPCC__)", LEFT_OUT),
        ("defined(__NVCC__)", COMPILED),
        ("defined(__NVCC__) && !defined(__HIP_PLATFORM_AMD__)", LEFT_OUT),
        ("defined(__HIP_PLATFORM_NVIDIA__)", LEFT_OUT),
        ("__cplusplus >= 201703L", COMPILED),
        ("defined(_MSC_VER)", LEFT_OUT),
        ("0x10 == 16 && 010 == 8 && 1'000u == 1000 && (1 ? 2 : 3) == 2 && -7 / 2 == -3 && ~0 < 0", COMPILED),
        ("1 + 2 * 3 == 7 && (1 << 4 | 1) == 17 && !(3 % 2 == 0)", COMPILED),
        ("USE_BF16", UNKNOWN),
        ("defined(USE_BF16) && __CUDA_ARCH__ == 0", UNKNOWN),
        ("__has_include(<cuda_fp8.h>)", UNKNOWN),
        ("__HIP_DEVICE_COMPILE__", UNKNOWN),
        ("1 / 0", UNKNOWN),
        ("1 +", UNKNOWN),
        ("09", UNKNOWN),
        ("/* a comment */ 0 // and another", LEFT_OUT),
        ("defined(__CUDA_ARCH__) \\\n && 1", LEFT_OUT),
    ],
)
def test_condition_decides_region_of_next_line(condition, expected):
    before = ""
    text = f"{before}#if {condition}\nint a;\n#endif"
    assert Conditionals(text).region(condition.count("\n") + 2) is expected


def test_condition_uses_macros_of_source():
    before = "#define MINIMUM 610\n#define OLD (__CUDA_ARCH__ < MINIMUM)\n"
    assert region("OLD", before=before) is COMPILED
    assert region("__CUDA_ARCH__ >= MINIMUM", before=before) is LEFT_OUT
    assert region("__CUDA_ARCH__ >= MINIMUM", before=f"{before}#undef MINIMUM\n") is UNKNOWN
    assert region("LOOP", before="#define LOOP LOOP + 1\n") is UNKNOWN


def test_condition_uses_macros_of_options_and_headers():
    assert region("__CUDA_ARCH__ >= 800", macros={"__CUDA_ARCH__": "890"}) is COMPILED
    assert region("__CUDA_ARCH__ >= 800", own={"__CUDA_ARCH__"}) is UNKNOWN
    assert macros_of(["-DA=2", "-O3", "-D", "B", "-DC", "-UC", "-I", "D"]) == {"A": "2", "B": "1"}


def test_macro_defined_in_undecided_branch_is_unknown():
    text = "#ifdef X\n#define N 1\n#endif\n#if N\n#endif\n"
    assert Conditionals(text).region(5) is UNKNOWN


def test_include_guard_is_compiled():
    text = "#ifndef A_H\n#define A_H\n#define N 3\n#if __CUDA_ARCH__ >= N\nint a;\n#endif\n#endif\n"
    found = Conditionals(text, own={"A_H", "N"})
    assert found.region(5) is LEFT_OUT and found.region(3) is COMPILED
    assert found.constants["N"] == "3"


def test_conditional_chain_compiles_one_branch():
    text = "#if __CUDA_ARCH__\n1\n#elif defined(__HIPCC__)\n2\n#elif X\n3\n#else\n4\n#endif\n5"
    regions = [Conditionals(text).region(line) for line in (2, 4, 6, 8, 10)]
    assert regions == [LEFT_OUT, COMPILED, CUDA_ONLY, CUDA_ONLY, COMPILED]
    undecided = Conditionals("#if X\n1\n#elif __CUDA_ARCH__\n2\n#else\n3\n#endif")
    assert [undecided.region(line) for line in (2, 4, 6)] == [UNKNOWN, LEFT_OUT, UNKNOWN]


ARCH = "__CUDA_ARCH__ is not defined for AMD"


@pytest.mark.parametrize(
    ("text", "line", "directive", "meaning"),
    [
        ("#ifdef __CUDA_ARCH__\na\nb\n#endif", 1, "#ifdef __CUDA_ARCH__", f"{ARCH}, so lines 2 to 3 are left out"),
        ("#ifndef __CUDA_ARCH__\na\n#endif", 1, "#ifndef __CUDA_ARCH__", f"{ARCH}, so line 2 is compiled"),
        ("#ifdef __CUDACC__\na\n#endif", 1, "#ifdef __CUDACC__",
         "__CUDACC__ is __HIPCC__ in HIP, so line 2 is compiled"),
        ("\n#if X\n#elif __CUDA_ARCH__\na\n#endif", 3, "#elif __CUDA_ARCH__", f"{ARCH}, so line 4 is left out"),
        ("#if __CUDA_ARCH__ >  N\na\n#endif", 1, "#if __CUDA_ARCH__ > N",
         f"{ARCH}; which branch is taken depends on N"),
        ("#if CUDA_VERSION\n#if __CUDA_ARCH__\n#endif\n#endif", 1, "#if CUDA_VERSION",
         "CUDA_VERSION is not defined for AMD, so lines 2 to 3 are left out"),
    ],
)  # fmt: skip
def test_branch_on_cuda_macro_has_explanation(text, line, directive, meaning):
    (branch,) = Conditionals(text).branches
    assert (branch.line, branch.name, branch.advice) == (line, directive, meaning)


def test_branch_of_other_macros_is_not_listed():
    assert not Conditionals("#if USE_X\n#endif\n#ifdef _WIN32\n#endif\n/*\n#ifdef __CUDA_ARCH__\n*/").branches
