"""Translation of inline PTX: translated code computes the PTX results, and unsupported instructions are reported."""

import csv
import itertools
import re
from fractions import Fraction

import numpy as np
import pytest
from execution import program

from parity.build.modules import build
from parity.emulator.amdgpu.device import AmdgpuDevice
from parity.emulator.amdgpu.kernarg import pack
from parity.porting import ptx_rules
from parity.porting.inline_ptx import translate
from parity.porting.ptx_rules import rules

X = np.array([0, 1, 0x80000000, 0xFFFFFFFF, 0x12345678, 0xDEADBEEF, 0x00FF80A5, 31], np.uint32)
MMA = "wmma.mma.sync.aligned.row.col.m16n16k16.f32.f32"


def refused(text):
    return [each.instruction for each in translate(text, lambda at: True)[1]]


@pytest.mark.parametrize(
    ("statement", "instruction"),
    [
        (
            'asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" :: "l"(p), "r"(s), "r"(n));',
            "cp.async.bulk.global.shared::cta.bulk_group",
        ),
        (f'asm("{MMA} {{%0}}, {{%1}}, {{%2}}, {{%3}};" : "=f"(d) : "r"(a));', MMA),
        ('asm("mov.u32 %0, %nsmid;" : "=r"(d));', "mov.u32"),
        ('asm("{ .reg .pred p; setp.ne.b32 p, %1, 0; @p bra DONE; mov.u32 %0, 1; DONE: }" : "=r"(d) : "r"(a));', "bra"),
        ('asm("@p mov.u32 %0, 1;" : "=r"(d));', "mov.u32"),  # p is not declared
        ('asm("{ .reg .u32 p; @p mov.u32 %0, 1; }" : "=r"(d));', "mov.u32"),  # p is not a predicate
        ('asm("{ .reg .b128 t; mov.u32 %0, 1; }" : "=r"(d));', "mov.u32"),
        ('asm("bar.sync %0, 64;" :: "r"(name));', "bar.sync"),
        ('asm("exit;");', "exit"),
        ('asm("bfe.u32 %0, %1, 8, 8;" : "=r"(d));', "bfe.u32"),  # there is no operand %1
        ('asm("and.b32 %0, %1, 3; vadd.u32.u32.u32 %0.b3, %1, 1, %0;" : "=r"(d) : "r"(a));', "vadd.u32.u32.u32"),
        ('asm("mov.b32 %0, %1;" :: "r"(a), "r"(b));', "mov.b32"),  # %0 is an input
        ('#define COPY(a, b) \\\n  asm volatile( \\\n "exit;" \\\n ::)', "exit"),
        (
            '#define READ(type, c) asm("tex.level.2d.v4." type ".s32 {%0, %1}, [%2];" : c(x), c(y) : "l"(t))',
            "tex.level.2d.v4.type.s32",
        ),
    ],
)
def test_translate_unsupported_instruction_is_reported_by_name(statement, instruction):
    text, found = translate(f"\n{statement}\nint a;", lambda at: True)
    assert [(each.instruction, each.at) for each in found] == [(instruction, 1 + statement.index("asm"))]
    assert text.count("\n") == statement.count("\n") + 2 and text.endswith("\nint a;")
    assert f"inline PTX ({instruction}) that is not translated" in text


@pytest.mark.parametrize(
    "text",
    [
        'asm volatile("" ::: "memory");',
        'asm("" : "+r"(x));',
        'asm volatile("s_waitcnt vmcnt(0)");',
        'asm("v_mov_b32 %0, %1" : "=v"(x) : "v"(y));',
        'asm volatile("pause" ::: "memory"); asm("rdtsc" : "=a"(low), "=d"(high));',
        'asm("mov %1, %0" : "=r"(x) : "r"(y));',
        'int x asm("eax"); // asm("trap;")\nconst char* s = "asm(\\"trap;\\")";',
        "asm(CODE : : );",
        'asm("trap;"',
    ],
)
def test_translate_other_assembly_is_unchanged(text):
    assert translate(text, lambda at: True) == (text, [])


def test_translate_single_register_in_braces_equals_bare_register():
    alone, refused = translate('asm("ld.global.cs.u8 %0, [%1 + 2];" : "=r"(x) : "l"(p));', lambda at: True)
    assert not refused
    assert translate('asm("ld.global.cs.u8 {%0}, [%1 + 2];" : "=r"(x) : "l"(p));', lambda at: True)[0] == alone


def test_translate_expands_macros_in_templates():
    text = '#if X\n#define HINT(size) ".L2::" #size "B"\n#else\n#define HINT(size)\n#endif\n#define MOVE "mov.u32"\n'
    text += (
        'asm("ld.global.nc" HINT(128) ".u32 %0, [%1];" : "=r"(x) : "l"(p)); asm(MOVE " %0, %1;" : "=r"(x) : "r"(y));'
    )
    found, refused = translate(text, lambda at: True)
    assert not refused and "asm" not in found
    again, refused = translate(text.replace("#else\n#define HINT(size)\n", ""), lambda at: True)
    assert not refused and again.splitlines()[-1] == found.splitlines()[-1]
    assert translate('asm(OTHER " %0, %1;" : "=r"(x) : "r"(y));', lambda at: True)[0].startswith("asm")


def test_translate_skips_code_that_is_not_compiled():
    text = 'asm("exit;"); asm("trap;");'
    assert translate(text, lambda at: at > 0)[0] == 'asm("exit;"); do { { __builtin_trap(); } } while (0);'


LETTERS = {"short": "h", "char": "h", "float": "f", "double": "d", "long": "l"}
VARIABLES = {"h": "unsigned short", "f": "float", "d": "double", "l": "unsigned long long", "r": "unsigned"}


def kernel_of(row, number):
    """Return a kernel that only executes the instruction of a row, with its first alternatives."""
    pattern = re.sub(r"\([^()]*\)[*?]", "", row.instruction.pattern.replace(r"\w+", "x").replace("\\", ""))
    instruction = re.sub(r"\((\.?[\w.]+)[^()]*\)", r"\1", pattern)
    operands = row.operands.pattern
    outputs, inputs, variables, before, after = [], [], [], "", ""
    for place, name in enumerate(sorted(row.types, key=lambda name: name not in row.outputs)):
        letter = next((LETTERS[word] for word in LETTERS if word in row.types[name]), "r")
        written = f"%{place}"
        if row.types[name] == "bool":
            written, number_of = f"q{place}", f"%{place}"
            before += f".reg .pred {written}; "
            before += f"setp.ne.u32 {written}, {number_of}, 0; " if name not in row.outputs else ""
            after += f" selp.u32 {number_of}, 1, 0, {written};" if name in row.outputs else ""
        if name in row.outputs:
            variables.append((VARIABLES[letter], f"out{place}"))
            outputs.append(f'"={letter}"(out{place})')
        else:
            value = f'"l"(in + {place})' if name in row.addresses else f'"{letter}"(({VARIABLES[letter]})in[{place}])'
            inputs.append(value)
        operands = re.sub(rf"\(\?P<{name}>[^)]*\)", written, operands)
    declared = " ".join(f"{kind} {name};" for kind, name in variables)
    used = " ".join(f"use({name});" for _, name in variables)
    template = f"{before}{instruction} {operands};{after}".replace("\\", "")
    statement = f'asm volatile("{template}" : {", ".join(outputs)} : {", ".join(inputs)});'
    return f'extern "C" __global__ void k{number}(const long long* in) {{ {declared} {statement} {used} }}'


def ends():
    """Return the rules for the first and the last type of each row of the table."""
    with ptx_rules.TABLE.open(encoding="utf-8") as table:
        counts = [max(1, len(row["types"].split())) for row in csv.DictReader(table)]
    starts = itertools.accumulate(counts, initial=0)
    return [rules()[at] for start, count in zip(starts, counts, strict=False) for at in {start, start + count - 1}]


@pytest.mark.thorough
def test_every_row_of_ptx_table_compiles(cache, tmp_path):
    assert not refused("\n".join(kernel_of(row, number) for number, row in enumerate(rules())))
    kernels = [kernel_of(row, number) for number, row in enumerate(ends())]
    use = "template <class T> __device__ void use(T x) { *(volatile T*)4096 = x; }"
    (tmp_path / "ptx.cu").write_text("\n".join([use, *kernels]))
    (built,) = build(tmp_path, ["ptx"], ["gfx90a"], cache=cache)
    assert built.error is None, built.error
    assert len(built.entries) == len(kernels)


def signed(x):
    return x - (1 << 32) if x >> 31 else x


def bfe_s(x, start, length):
    """Extract a signed bit field, bit by bit as the PTX ISA defines it."""
    if length == 0:
        return 0
    sign = x >> min(start + length - 1, 31) & 1
    return sum((x >> start + i & 1 if i < length and start + i <= 31 else sign) << i for i in range(32))


def prmt(a, b, selector):
    source = (a | b << 32).to_bytes(8, "little")
    result = 0
    for i in range(4):
        k = selector >> 4 * i & 15
        result |= (255 * (source[k & 7] >> 7) if k & 8 else source[k & 7]) << 8 * i
    return result


def by_bytes(f, a, b):
    return sum((f(a >> i & 255, b >> i & 255) & 255) << i for i in range(0, 32, 8))


def dp4a(a, b, c):
    bytes_ = (np.array([word], np.uint32).view(np.int8).astype(int) for word in (a, b))
    return int(np.dot(*bytes_)) + c


def halves(f, x):
    """Apply ``f`` to both halves of a word in single precision and round once; a quiet NaN keeps its bits."""
    narrow = np.array([x], np.uint32).view(np.float16)
    with np.errstate(all="ignore"):
        found = f(narrow.astype(np.float32)).astype(np.float16)
    return int(np.where(np.isnan(narrow), narrow, found).view(np.uint32)[0])


def byte_of_half(x):
    """Round the low half to a saturated 8-bit integer; NaN becomes 0."""
    value = np.array([x & 0xFFFF], np.uint16).view(np.float16).astype(np.float64)
    return int(np.clip(np.rint(np.nan_to_num(value, posinf=1e9, neginf=-1e9)), -128, 127)[0]) & 0xFFFF


def half(x, place):
    """Return one half of a word as a signed 16-bit integer."""
    return ((x >> 16 * place & 0xFFFF) ^ 0x8000) - 0x8000


def clipped(f, value, kind):
    """Round a value with ``f`` to a saturated integer type. NaN becomes 0, or the minimum for 64 bits."""
    ends = np.iinfo(kind)
    if np.isnan(value):
        return ends.min if kind is np.int64 else 0
    return min(max(int(f(value)), ends.min), ends.max)


FLOATS = {
    "cvt.rni.sat.s32.f32": (np.rint, np.int32),
    "cvt.rmi.s32.f32": (np.floor, np.int32),
    "cvt.rzi.s32.f32": (np.trunc, np.int32),
    "cvt.rni.sat.u32.f32": (np.rint, np.uint32),
    "cvt.rmi.sat.u32.f32": (np.floor, np.uint32),
    "cvt.rzi.u32.f32": (np.trunc, np.uint32),
    "cvt.rni.sat.u8.f32": (np.rint, np.uint8),
    "cvt.rni.sat.u16.f32": (np.rint, np.uint16),
    "cvt.rni.sat.s16.f32": (np.rint, np.int16),
    "cvt.rni.s64.f32": (np.rint, np.int64),
}
"""Rounding function and result type of each conversion of a float."""


def float_of(x):
    """Return the float that the kernel derives from a word to test ``FLOATS``."""
    small = np.float32(signed(x)) * np.float32(0.75)
    return {0: np.float32(np.nan), 0x12345678: np.float32(3e30), 0xDEADBEEF: np.float32(-2.5)}.get(x, small)


CASES = {
    "bfe.u32 %0, %1, 4, 8": lambda x: x >> 4 & 255,
    "bfe.u32 %0, %1, 0, 32": lambda x: x,
    "bfe.u32 %0, %1, 28, 8": lambda x: x >> 28,
    "bfe.u32 %0, %1, 40, 8": lambda x: 0,
    "bfe.s32 %0, %1, 4, 8": lambda x: bfe_s(x, 4, 8),
    "bfe.s32 %0, %1, 28, 8": lambda x: bfe_s(x, 28, 8),
    "bfe.s32 %0, %1, 0, 32": lambda x: bfe_s(x, 0, 32),
    "bfe.s32 %0, %1, 40, 3": lambda x: bfe_s(x, 40, 3),
    "bfe.s32 %0, %1, 3, 0": lambda x: 0,
    **{
        f"{{ .reg .b64 w; mov.b64 w, {{%1, %1}}; {text}; cvt.u32.u64 %0, w; }}": lambda x, f=f: f(x << 32 | x)
        for text, f in {
            "bfe.u64 w, w, 28, 8": lambda w: w >> 28 & 255,
            "bfe.u64 w, w, 64, 8": lambda w: 0,
            "bfe.s64 w, w, 56, 16": lambda w: w >> 56 | (-256 if w >> 63 else 0),
            "bfi.b64 w, w, 0x0f0f0f0f, 28, 8": lambda w: 0x0F0F0F0F & ~0xF0000000 | w << 28,
        }.items()
    },
    "bfi.b32 %0, %1, 0x0f0f0f0f, 4, 8": lambda x: 0x0F0F0F0F & ~0xFF0 | (x & 255) << 4,
    "bfi.b32 %0, %1, 255, 28, 8": lambda x: 255 | x << 28,
    "prmt.b32 %0, %1, 0x11223384, 0x5140": lambda x: prmt(x, 0x11223384, 0x5140),
    "prmt.b32 %0, %1, 0, 0xba98": lambda x: prmt(x, 0, 0xBA98),
    "lop3.b32 %0, %1, 0x0ff00ff0, 0x33cc33cc, 0x96": lambda x: x ^ 0x0FF00FF0 ^ 0x33CC33CC,
    "lop3.b32 %0, %1, 0x0ff00ff0, 0x33cc33cc, 0xca": lambda x: x & 0x0FF00FF0 | ~x & 0x33CC33CC,
    "shf.l.wrap.b32 %0, %1, 7, 4": lambda x: (7 << 32 | x) << 4 >> 32,
    "shf.r.wrap.b32 %0, %1, 7, 36": lambda x: (7 << 32 | x) >> 4,
    "shf.r.clamp.b32 %0, %1, 7, 40": lambda x: 7,
    "shl.b32 %0, %1, 33": lambda x: 0,
    "shr.s32 %0, %1, 33": lambda x: -(x >> 31),
    "{ .reg .u64 a; cvt.u64.u32 a, %1; bfe.u64 a, a, 4, 40; cvt.u32.u64 %0, a; }": lambda x: x >> 4,
    "brev.b32 %0, %1": lambda x: int(f"{x:032b}"[::-1], 2),
    "clz.b32 %0, %1": lambda x: 32 - x.bit_length(),
    "bfind.u32 %0, %1": lambda x: x.bit_length() - 1,
    "popc.b32 %0, %1": lambda x: x.bit_count(),
    "mul.hi.s32 %0, %1, 0x7654321": lambda x: signed(x) * 0x7654321 >> 32,
    "mad.lo.s32 %0, %1, 5, 3": lambda x: x * 5 + 3,
    "min.s32 %0, %1, 5": lambda x: min(signed(x), 5),
    "dp4a.s32.s32 %0, %1, 0x01ff02fe, 9": lambda x: dp4a(x, 0x01FF02FE, 9),
    "vabsdiff4.u32.u32.u32 %0, %1, 0x10809f40, 0": lambda x: by_bytes(lambda a, b: abs(a - b), x, 0x10809F40),
    "vsub4.s32.s32.s32 %0, %1, 0x10809f40, 0": lambda x: by_bytes(lambda a, b: a - b, x, 0x10809F40),
    "vadd.s32.s32.s32 %0, %1.h1, %1.h0": lambda x: half(x, 1) + half(x, 0),
    "vsub.s32.s32.s32 %0, %1.h0, 70000": lambda x: half(x, 0) - 70000,
    "vsub.s32.u32.u32 %0, %1.h0, %1.h1": lambda x: (x & 0xFFFF) - (x >> 16),
    "vadd.u32.u32.u32 %0, %1.b3, %1": lambda x: (x >> 24) + x,
    "vsub.u32.u32.u32 %0, %1.b1, %1": lambda x: (x >> 8 & 255) - x,
    "vmad.u32.u32.u32 %0, %1.b0, %1.b3, 9": lambda x: (x & 255) * (x >> 24) + 9,
    "vadd.u32.u32.u32 %0.b0, %1, 100, 0x12345678": lambda x: 0x12345600 | x + 100 & 255,
    "vsub.u32.u32.u32 %0.b0, %1, 100, 0x12345678": lambda x: 0x12345600 | x - 100 & 255,
    "vadd.u32.u32.u32 %0.h0, %1.h1, 7, 0x12345678": lambda x: 0x12340000 | (x >> 16) + 7 & 0xFFFF,
    "vadd.u32.u32.u32 %0.h1, %1, 7, 0x12345678": lambda x: 0x5678 | (x + 7 & 0xFFFF) << 16,
    "vmad.s32.u32.u32 %0, -%1.h0, %1.h1, 9": lambda x: 9 - (x & 0xFFFF) * (x >> 16),
    "vmad.s32.s32.s32 %0, %1.h0, %1.h1, 9": lambda x: half(x, 0) * half(x, 1) + 9,
    **{
        f"{{ .reg .pred p; testp.{name}.f32 p, %1; selp.u32 %0, 1, 2, p; }}": lambda x, is_so=is_so: (
            2 - is_so(np.uint32(x).view(np.float32))
        )
        for name, is_so in {
            "finite": np.isfinite,
            "infinite": np.isinf,
            "number": lambda v: not np.isnan(v),
            "notanumber": np.isnan,
            "normal": lambda v: np.isfinite(v) and abs(v) >= np.finfo(np.float32).tiny,
        }.items()
    },
    "{ .reg .pred p; testp.infinite.f32 p, 0fff800000; selp.u32 %0, %1, 2, p; }": lambda x: x,
    "vadd.u32.u32.u32.add %0, %1, 100, %1": lambda x: x + 100 + x,
    "vsub.u32.u32.u32.add %0, %1, 100, %1": lambda x: x - 100 + x,
    "vmax.s32.s32.s32.max %0, %1, 100, 31": lambda x: max(signed(x), 100),
    "vmin.s32.s32.s32.min %0, 100, 90, %1": lambda x: min(signed(x), 90),
    "vmax.s32.s32.s32.add %0, %1, 100, %1": lambda x: max(signed(x), 100) + x,
    "vmin.s32.s32.s32.add %0, %1, 100, %1": lambda x: min(signed(x), 100) + x,
    "vadd.u32.s32.s32.sat.min %0, %1, 2147483647, 0x90000000": lambda x: min(
        max(signed(x) + 0x7FFFFFFF, 0), 0x90000000
    ),
    "vadd.u32.s32.s32.sat %0.b0, %1, 10, 0x12345678": lambda x: 0x12345600 | min(max(signed(x) + 10, 0), 255),
    "vadd.u32.s32.s32.sat %0.b2, %1, 10, 0x12345678": lambda x: 0x12005678 | min(max(signed(x) + 10, 0), 255) << 16,
    "cvt.s16.u32 %0, %1": lambda x: half(x, 0),
    "{ .reg .b16 h; .reg .b8 a, b; cvt.u16.u32 h, %1; mov.b16 {a, b}, h; mov.b16 h, {b, a}; cvt.u32.u16 %0, h; }": (
        lambda x: (x & 255) << 8 | x >> 8 & 255
    ),
    "cvt.sat.u8.s32 %0, %1": lambda x: clipped(int, signed(x), np.uint8),
    "cvt.sat.s8.u32 %0, %1": lambda x: clipped(int, x, np.int8),
    "cvt.sat.u32.s32 %0, %1": lambda x: clipped(int, signed(x), np.uint32),
    "cvt.sat.s32.u32 %0, %1": lambda x: clipped(int, x, np.int32),
    "cvt.pack.sat.s8.s32.b32 %0, %1, 5, 0x1234": lambda x: 0x12340005 | (clipped(int, signed(x), np.int8) & 255) << 8,
    "slct.u32.s32 %0, 3, 4, %1": lambda x: 3 if signed(x) >= 0 else 4,
    "slct.u32.f32 %0, 3, 4, %1": lambda x: 3 if np.uint32(x).view(np.float32) >= 0 else 4,
    "set.ge.u32.s32 %0, %1, 31": lambda x: -(signed(x) >= 31),
    "set.ge.u32.u32 %0, %1, 31": lambda x: -(x >= 31),
    "set.ne.u32.b32 %0, %1, 31": lambda x: -(x != 31),
    "{ .reg .pred p, q; .reg .u64 w; cvt.u64.u32 w, %1; setp.lt.s32 p|q, %1, 31; setp.ne.or.u32 p, %1, 200, p;"
    " set.gt.and.u32.u64 %0, w, 4096, p; selp.u32 %0, 7, %0, q; }": lambda x: (
        7 if signed(x) >= 31 else -(x > 4096 and (x != 200 or signed(x) < 31))
    ),
    "tanh.approx.f16x2 %0, %1": lambda x: halves(np.tanh, x),
    "ex2.approx.ftz.f16x2 %0, %1": lambda x: halves(np.exp2, x),
}


def test_translated_instructions_compute_ptx_results(cache, tmp_path):
    lines = [f'asm("{text};" : "=r"(y) : "r"(x)); out[{n}] = y;' for n, text in enumerate(CASES)]
    lines.append(f'asm volatile("mov.u32 %0, %%laneid;" : "=r"(y)); out[{len(CASES)}] = y;')
    lines.append(f'asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(y) : "f"(1.5f), "f"(-2.0f)); out[{len(CASES) + 1}] = y;')
    half = '"=h"(h) : "h"((unsigned short)x)'
    lines += [f'asm("cvt.rni.sat.s8.f16 %0, %1;" : {half}); out[{len(CASES) + 2}] = h;']
    start = len(lines)
    lines += [
        f'asm("{text} %0, %1;" : "=l"(w) : "f"(v)); out[{start + n}] = w ^ w >> 32;' for n, text in enumerate(FLOATS)
    ]
    end = len(lines)
    rounded = 'asm("fma.{}.f32 %0, %1, %1, %1;" : "=f"(r) : "f"(0.1f)); out[{}] = __float_as_uint(r);'
    lines += [rounded.format(way, end + n) for n, way in enumerate(("rn", "rm", "rp", "rz"))]
    lines += ['asm("rcp.approx.ftz.f64 %0, %1;" : "=d"(q) : "d"(3.0)); w = __double_as_longlong(q);']
    lines += [f"out[{end + 4}] = (unsigned)w; out[{end + 5}] = (unsigned)(w >> 32);"]
    source = (
        'extern "C" __global__ void values(const unsigned* in, unsigned* out) {\n'
        f"unsigned short h; unsigned x = in[threadIdx.x], y; out += {len(lines)} * threadIdx.x;\n"
        "long long w; float r; double q;\n"
        'float v = x == 0 ? __builtin_nanf("") : x == 0x12345678 ? 3e30f : x == 0xdeadbeef ? -2.5f : (int)x * 0.75f;\n'
        + "\n".join(lines)
        + "\n}\n"
    )
    assert not refused(source)
    (tmp_path / "values.cu").write_text(source)
    (built,) = build(tmp_path, ["values"], ["gfx1100"], cache=cache)
    assert built.error is None, built.error
    device = AmdgpuDevice(cache=cache)
    buffers = [device.allocate(X.nbytes, "in"), device.allocate(4 * X.size * len(lines), "out")]
    device.write(buffers[0], X)
    args = pack(built.code_object.kernels["values"], buffers)
    device.launch(built.code_object, "values", grid=(1, 1, 1), block=(X.size, 1, 1), args=args)
    found = device.read(buffers[1]).view(np.uint32).reshape(X.size, len(lines))
    for thread, x in enumerate(map(int, X)):
        for place, (text, f) in enumerate(CASES.items()):
            assert found[thread, place] == f(x) & 0xFFFFFFFF, f"{text} of {x:#x}"
        assert found[thread, len(CASES)] == thread
        assert found[thread, len(CASES) + 1] == 0x3E00C000
        assert found[thread, len(CASES) + 2] == byte_of_half(x)
        for place, (text, (f, kind)) in enumerate(FLOATS.items(), start):
            wanted = clipped(f, float_of(x), kind)
            assert found[thread, place] == (wanted ^ wanted >> 32) & 0xFFFFFFFF, f"{text} of {float_of(x)}"
        exact = Fraction(float(np.float32(0.1))) ** 2 + Fraction(float(np.float32(0.1)))
        nearest, down, up, to_zero = map(Fraction, map(float, found[thread, end : end + 4].copy().view(np.float32)))
        assert down == to_zero < exact < up and nearest in (down, up)
        assert found[thread, end + 4 : end + 6].tolist() == [0, 0x3FD55555]


def test_translate_expands_macro_parameters_in_templates_and_constraints(cache, tmp_path):
    (tmp_path / "shift.h").write_text(
        '#define SHIFT(to, low, high, by) asm("shf.r.wrap.b32 %0, %1, %2, " #by ";" : "=r"(to) : "r"(low), "r"(high))\n'
        '#define GIVEN(to, what, from) asm(what " %0, %1;" : "=r"(to) : "r"(from))\n'
        '#if __LP64__\n# define POINTER "l"\n#else\n# define POINTER "r"\n#endif\n'
    )
    source = """#include "shift.h"
extern "C" __global__ void shift(const unsigned* in, unsigned* out) {
    unsigned x, y;
    asm volatile("ld.global.cg.u32 %0, [%1];" : "=r"(x) : POINTER(in + threadIdx.x));
    SHIFT(y, x, 7u, 4);
    out[threadIdx.x] = y;
}
__device__ unsigned given(unsigned x) {
    unsigned y;
    GIVEN(y, "brev.b32", x);
    return y;
}
extern "C" __global__ void left_out(unsigned* x) { *x = given(*x); }
"""
    one = program(tmp_path, source, "gfx1100", cache)
    assert one.run("shift", np.zeros_like(X), X, block=X.size).tolist() == [
        (7 << 32 | int(x)) >> 4 & 0xFFFFFFFF for x in X
    ]
    assert one.built.entries == ("shift",)
    assert [(each.file, each.line, each.function) for each in one.built.translation.left_out] == [
        ("program.cu", 10, "given"), ("program.cu", 13, "left_out"),
    ]  # fmt: skip
    assert "brev.b32 s" in one.built.translation.left_out[0].because


def test_unsupported_instruction_is_error_only_if_compiled(cache, tmp_path):
    asm = 'asm volatile("exit;" ::);'
    (tmp_path / "unused.cu").write_text(
        f"template <class T> __device__ void wait() {{ {asm} }}\n"
        'extern "C" __global__ void k(int* out) { *out = 1; }\n'
    )
    (tmp_path / "used.cu").write_text(f'extern "C" __global__ void k(int* out) {{\n  *out = 1;\n  {asm}\n}}\n')
    unused, used = build(tmp_path, ["unused", "used"], ["gfx1100"], cache=cache)
    assert unused.error is None and [f.name for f in unused.changes.unmapped] == ["exit"]
    (finding,) = used.error.findings
    assert (finding.file, finding.line) == (str(tmp_path / "used.cu"), 3)
    assert "inline PTX (exit) that is not translated" in finding.advice
