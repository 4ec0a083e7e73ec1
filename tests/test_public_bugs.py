"""Bugs of public ports and compilers, rebuilt: every seed finds each bug without a reference, and its fix passes."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pytest

import parity
from parity.report.failures import Reproduction, failure_text

ENCODE = """
// Rounds to a type with `width` fraction bits and smallest exponent `low`. Larger numbers become the code `over`.
__device__ unsigned encode(float value, int width, int low, unsigned largest, unsigned over, unsigned nan) {
    const unsigned bits = __float_as_uint(value) & 0x7fffffff;
    if (bits > 0x7f800000) return nan;
    if (bits == 0x7f800000) return over;
    const int exponent = max(int(bits >> 23) - 127, low);
    const float unit = __uint_as_float(unsigned(exponent - width + 127) << 23);
    const unsigned code = (unsigned(exponent - low) << width) + unsigned(rintf(__uint_as_float(bits) / unit));
    return code > largest ? over : code;
}
__device__ unsigned sign(float value, int place) { return (__float_as_uint(value) >> 31) << place; }
__device__ float from_bf16(unsigned short bits) { return __uint_as_float(unsigned(bits) << 16); }
"""
CUDA, HIP = "#include <cuda_fp16.h>\n#include <cuda_bf16.h>\n#include <cuda_fp8.h>\n", "#include <hip/hip_runtime.h>\n"
KERNEL = """
extern "C" __global__ void kernel({parameters}, {out}* out, int n) {{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {{ {body} }}
}}
"""
SEARCH = """
extern "C" __global__ void kernel(const int* a, long n, int t, int* value, int* is_set) {{
    for (long repeated = 0; repeated < n; repeated++) {{
        int values[2], set[2];
        values[0] = 0;
        set[0] = 0;
        {body}
        for (long j = 0; j < 2; j++) {{
            long at = t + j;
            int found = 1;
            if (at != 0) {{
                long before = at - 1;
                if (before >= n) break;
                found = a[before];
            }}
            values[j] = found;
            set[j] = 1;
        }}
        value[t] = values[0];
        is_set[t] = set[0];
    }}
}}
"""
SEARCH_CALL = """args="a n:i64=n t:i32=n value is_set", outputs={'value': 'i32', 'is_set': 'i32'},
    shapes="a: n; value: n+1; is_set: n+1", choices={'n': (1, 2, 3, 4, 7)}, grid="1", block=1"""
STORAGE = {"f32": "float", "f16": "unsigned short", "bf16": "unsigned short", "f8_e4m3": "unsigned char",
           "u8": "unsigned char", "i32": "int", "u32": "unsigned", "i64": "long long"}  # fmt: skip


@dataclass(frozen=True)
class PublicBug:
    """A bug of a public port or compiler: the statement of the CUDA kernel, of the port, and of the fixed port.

    Attributes:
        inputs: types of the inputs ``a`` and ``b``.
        failures: classes of failure that are right.
        flags: flags of the port before its fix.
        kernel: the kernel around the statement.
        call: the fields of the declaration that describe its call.
    """

    name: str
    inputs: tuple[str, ...]
    out: str
    cuda: str
    port: str
    fixed: str
    failures: frozenset[str]
    target: str = "gfx1100"
    flags: tuple[str, ...] = ()
    kernel: str = KERNEL
    call: str = ""


BUGS = (
    PublicBug(  # FuzzX m103: a defect of clang
        "division of sign-extended numbers",
        ("i32",),
        "i64",
        "long long x = a[i]; out[i] = x / (long long)(a[i] < 0 ? -1 : 1);",
        "long long x = a[i]; out[i] = x / (long long)(a[i] < 0 ? -1 : 1);",
        "long long x = a[i]; out[i] = a[i] < 0 ? -x : x;",
        frozenset({"value"}),
    ),
    PublicBug(  # rocm-systems 10591
        "cast to e5m2 shifts by more than 63",
        ("f32",),
        "u8",
        "out[i] = __nv_cvt_float_to_fp8(a[i], __NV_SATFINITE, __NV_E5M2);",
        """const unsigned bits = __float_as_uint(a[i]), field = bits >> 23 & 255;
        const unsigned code = encode(a[i], 2, -14, 0x7b, 0x7b, 0x7f);
        const unsigned wrapped = (bits & 0x7fffff | 0x800000) >> (134 - field - 64 & 31);
        out[i] = sign(a[i], 7) * (code != 0x7f) | (field >= 46 && field <= 49 ? wrapped : code);""",
        "const unsigned code = encode(a[i], 2, -14, 0x7b, 0x7b, 0x7f); out[i] = sign(a[i], 7) * (code != 0x7f) | code;",
        frozenset({"value"}),
    ),
    PublicBug(  # rocm-systems 9556
        "sum of e4m3 does not saturate",
        ("f8_e4m3", "f8_e4m3"),
        "f8_e4m3",
        """const float x = __half2float(__half(__nv_cvt_fp8_to_halfraw(a[i], __NV_E4M3)));
        const float y = __half2float(__half(__nv_cvt_fp8_to_halfraw(b[i], __NV_E4M3)));
        out[i] = __nv_cvt_float_to_fp8(x + y, __NV_SATFINITE, __NV_E4M3);""",
        "const float s = e4m3(a[i]) + e4m3(b[i]); out[i] = sign(s, 7) | encode(s, 3, -6, 0x7e, 0x7f, 0x7f);",
        "const float s = e4m3(a[i]) + e4m3(b[i]); out[i] = sign(s, 7) | encode(s, 3, -6, 0x7e, 0x7e, 0x7f);",
        frozenset({"nan"}),
    ),
    PublicBug(  # triton 11217 and 11227
        "product of bf16 is truncated",
        ("bf16", "bf16"),
        "bf16",
        """out[i] = __bfloat16_as_ushort(__float2bfloat16_rn(
            __bfloat162float(__ushort_as_bfloat16(a[i])) * __bfloat162float(__ushort_as_bfloat16(b[i]))));""",
        """const float p = from_bf16(a[i]) * from_bf16(b[i]);
        out[i] = p != p ? 0x7fff : __float_as_uint(p) >> 16;""",
        """const float p = from_bf16(a[i]) * from_bf16(b[i]); const unsigned bits = __float_as_uint(p);
        out[i] = p != p ? 0x7fff : bits + 0x7fff + (bits >> 16 & 1) >> 16;""",
        frozenset({"value", "special"}),
    ),
    PublicBug(  # rocm-libraries 5235
        "absolute value of bf16 goes through half",
        ("bf16",),
        "bf16",
        "out[i] = a[i] & 0x7fff;",
        "out[i] = __float_as_uint(float(_Float16(fabsf(from_bf16(a[i]))))) >> 16;",
        "out[i] = a[i] & 0x7fff;",
        frozenset({"value", "infinity"}),
    ),
    PublicBug(  # rocm-libraries 11325
        "cast to half loses subnormal numbers",
        ("f32",),
        "f16",
        "out[i] = __half_as_ushort(__float2half_rn(a[i]));",
        """const unsigned code = encode(a[i], 10, -14, 0x7bff, 0x7c00, 0x7fff);
        out[i] = sign(a[i], 15) | (code < 0x400 ? 0 : code);""",
        "out[i] = sign(a[i], 15) | encode(a[i], 10, -14, 0x7bff, 0x7c00, 0x7fff);",
        frozenset({"value"}),
    ),
    PublicBug(  # rocm-libraries 11325
        "cast to half turns signalling NaN into infinity",
        ("f32",),
        "f16",
        "out[i] = __half_as_ushort(__float2half_rn(a[i]));",
        """const unsigned bits = __float_as_uint(a[i]) & 0x7fffffff;
        const unsigned code = encode(a[i], 10, -14, 0x7bff, 0x7c00, 0x7fff);
        out[i] = sign(a[i], 15) | (bits > 0x7f800000 && bits < 0x7f802000 ? 0x7c00 : code);""",
        "out[i] = sign(a[i], 15) | encode(a[i], 10, -14, 0x7bff, 0x7c00, 0x7fff);",
        frozenset({"nan"}),
    ),
    PublicBug(  # vllm 55346
        "bf16 is stored as half without a clamp",
        ("bf16",),
        "f16",
        """const float x = __bfloat162float(__ushort_as_bfloat16(a[i]));
        out[i] = __half_as_ushort(__float2half_rn(x != x ? x : fminf(fmaxf(x, -65504.0f), 65504.0f)));""",
        "const float x = from_bf16(a[i]); out[i] = sign(x, 15) | encode(x, 10, -14, 0x7bff, 0x7c00, 0x7fff);",
        "const float x = from_bf16(a[i]); out[i] = sign(x, 15) | encode(x, 10, -14, 0x7bff, 0x7bff, 0x7fff);",
        frozenset({"infinity"}),
    ),
    PublicBug(  # TheRock 7751: a defect of clang
        "unsigned remainder without optimization",
        ("u32",),
        "u32",
        "out[i] = (threadIdx.x + blockDim.x) ^ ((~2u) % (threadIdx.x + 1)) ^ a[i];",
        "out[i] = (threadIdx.x + blockDim.x) ^ ((~2u) % (threadIdx.x + 1)) ^ a[i];",
        "out[i] = (threadIdx.x + blockDim.x) ^ ((~2u) % (threadIdx.x + 1)) ^ a[i];",
        frozenset({"value"}),
        flags=("-O0",),
    ),
    PublicBug(  # legacy-rocm-build 6412: a defect of clang
        "unrolled loop with a break",
        ("i32",),
        "i32",
        "",
        "",
        "#pragma unroll 1",
        frozenset({"value"}),
        kernel=SEARCH,
        call=SEARCH_CALL,
    ),
)
SHARED = """
extern "C" __global__ void kernel({parameters}, {out}* out, int n) {{
    __shared__ unsigned base;
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (threadIdx.x == 0 && {body}) base = blockIdx.x ? b[blockIdx.x * blockDim.x - 1] : 0;
    __syncthreads();
    if (i < n) out[i] = a[i] + base;
}}
"""
KEEP = """
__device__ float keep(float* place, float value) {{
    if (*place >= value) return *place;
    *place = value;
    {body}
}}
extern "C" __global__ void kernel({parameters}, {out}* out, int n) {{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {{
        out[i] = a[i];
        keep(&out[i], b[i]);
    }}
}}
"""
FLOAT_MAX = """out[i] = a[i];
    if (!(__float_as_uint(b[i]) >> 31)) atomicMax((int*)&out[i], __float_as_int(b[i]));
    else atomicMin((unsigned*)&out[i], __float_as_uint(b[i]));"""
FURTHER = (
    PublicBug(  # tensorflow-upstream 54
        "maximum of floats as integers",
        ("f32", "f32"),
        "f32",
        "out[i] = fmaxf(a[i], b[i]);",
        "auto most = [](int x, int y) { return x > y ? x : y; }; out[i] = most(a[i], b[i]);",
        "out[i] = fmaxf(a[i], b[i]);",
        frozenset({"value"}),
    ),
    PublicBug(  # AdaptiveCpp 1666
        "atomicMin of signed numbers as unsigned ones",
        ("i64", "i64"),
        "i64",
        "out[i] = a[i]; atomicMin(&out[i], b[i]);",
        "out[i] = a[i]; atomicMin((unsigned long long*)&out[i], (unsigned long long)b[i]);",
        "out[i] = a[i]; atomicMin(&out[i], b[i]);",
        frozenset({"value"}),
    ),
    PublicBug(  # libcudacxx 279
        "atomicMax of floats as unsigned numbers",
        ("f32", "f32"),
        "f32",
        FLOAT_MAX,
        "out[i] = a[i]; atomicMax((unsigned*)&out[i], __float_as_uint(b[i]));",
        FLOAT_MAX,
        frozenset({"value"}),
    ),
    PublicBug(  # hipSZ 1
        "shared variable without a value in the first block",
        ("u32", "u32"),
        "u32",
        "true",
        "blockIdx.x > 0",
        "true",
        frozenset({"never-written read"}),
        kernel=SHARED,
    ),
    PublicBug(  # HIP 2252
        "option that flushes subnormal numbers",
        ("f32",),
        "f32",
        "out[i] = a[i] * 0.25f;",
        "out[i] = a[i] * 0.25f;",
        "out[i] = a[i] * 0.25f;",
        frozenset({"value"}),
        flags=("-fgpu-flush-denormals-to-zero",),
    ),
    PublicBug(  # legacy-rocm-build 1441
        "function without a return statement",
        ("f32", "f32"),
        "f32",
        "return value;",
        "",
        "return value;",
        frozenset({"value"}),
        kernel=KEEP,
    ),
)
"""Bugs that only thorough tests rebuild."""
E4M3 = """
__device__ float e4m3(unsigned char bits) {
    const int exponent = bits >> 3 & 15, fraction = bits & 7;
    if (exponent == 15 && fraction == 7) return __uint_as_float(0x7fc00000);
    const float size = exponent ? (8 + fraction) * __uint_as_float(exponent + 117u << 23) : fraction / 512.0f;
    return bits & 0x80 ? -size : size;
}
"""
HINTS = ("width", "FNUZ", "race", "barrier")
"""Texts of causes that none of the bugs has."""


pytestmark = pytest.mark.usefixtures("with_nvcc")


def run(folder: Path, bug: PublicBug, body: str, seed: int, flags: tuple[str, ...] = ()) -> parity.Results:
    """Write the project, run it, and return the results."""
    names = "ab"[: len(bug.inputs)]
    parameters = ", ".join(f"const {STORAGE[kind]}* {name}" for name, kind in zip(names, bug.inputs, strict=True))
    for side, head, statement in (("cuda", CUDA, bug.cuda), ("hip", HIP + ENCODE + E4M3, body)):
        (folder / side).mkdir()
        suffix = ".cu" if side == "cuda" else ".hip"
        text = head + bug.kernel.format(parameters=parameters, out=STORAGE[bug.out], body=statement)
        (folder / side / f"bug{suffix}").write_text(text)
    (folder / "pyproject.toml").write_text(
        f'[tool.parity]\nkernels = "cuda"\nhip = "hip"\ncases = "."\nhip-flags = {list(flags)!r}\n'
    )
    inputs = dict(zip(names, bug.inputs, strict=True))
    call = bug.call or f"args='{' '.join(names)} out n:i32=numel', outputs={{'out': {bug.out!r}}}, block=64"
    (folder / "bug.py").write_text(
        "from parity.op import Op\n\n"
        f"bug = Op('bug.bug', kernel='kernel', types=({bug.out!r},), inputs={inputs!r}, grid_stride=False, {call})\n"
    )
    suite = parity.find_suite(folder)
    settings = parity.Settings(seed=seed, jobs=1)
    return parity.Run.of(targets=(bug.target,), suite=suite, settings=settings).build().execute()


def failures(results: parity.Results, target: str) -> set[str]:
    return {str(kind) for column, cells in results.matrix.by_column() if column.target == target
            for cell in cells for kind in cell.failures}  # fmt: skip


CHOSEN = [*BUGS, *(pytest.param(bug, marks=pytest.mark.thorough) for bug in FURTHER)]
SEEDS = [pytest.param(seed, marks=pytest.mark.thorough if seed else ()) for seed in range(5)]


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("bug", CHOSEN, ids=lambda bug: bug.name.replace(" ", "-"))
def test_public_bug_is_found_with_class_and_without_false_hint(tmp_path: Path, bug: PublicBug, seed: int) -> None:
    results = run(tmp_path, bug, bug.port, seed, bug.flags)
    assert bug.failures & failures(results, bug.target)
    said = "\n".join(failure_text(failure, Reproduction()) for failure in results.failures)
    because = [line for line in said.splitlines() if line.strip().startswith("because")]
    assert not [line for line in because if any(hint in line for hint in HINTS)], said


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("bug", CHOSEN, ids=lambda bug: bug.name.replace(" ", "-"))
def test_fixed_port_passes(tmp_path: Path, bug: PublicBug, seed: int) -> None:
    results = run(tmp_path, bug, bug.fixed, seed)
    assert not results.failures, "\n".join(failure_text(failure, Reproduction()) for failure in results.failures)
