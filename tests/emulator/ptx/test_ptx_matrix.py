"""Matrix instructions (``wmma``, ``mma``, ``ldmatrix``) against definitions, with sums as measured on Hopper."""

from __future__ import annotations

import re

import ml_dtypes
import numpy as np
import pytest
from ptx_runs import kernel, module, run

from parity.emulator.faults import MemoryFault, MisalignedAccess, UnsupportedFeature

NUMPY = {
    "f16": np.float16, "bf16": ml_dtypes.bfloat16, "tf32": np.float32, "f64": np.float64, "s8": np.int8, "u8": np.uint8,
    "f32": np.float32, "s32": np.int32, "e4m3": ml_dtypes.float8_e4m3fn, "e5m2": ml_dtypes.float8_e5m2,
}  # fmt: skip
#: Shape, type of the factors, type of the sums, layouts, and the registers of a, b and c (PTX ISA, "Matrix Fragments
#: for wmma").
FORMS = [
    ("m16n16k16", "f16", "f32", "row", "col", 8, 8, 8),
    ("m16n16k16", "f16", "f16", "col", "row", 8, 8, 4),
    ("m32n8k16", "f16", "f32", "row", "row", 8, 8, 8),
    ("m8n32k16", "bf16", "f32", "col", "col", 2, 8, 8),
    ("m16n16k16", "bf16", "f32", "row", "col", 4, 4, 8),
    ("m16n16k8", "tf32", "f32", "row", "col", 4, 4, 8),
    ("m16n16k16", "s8", "s32", "row", "col", 2, 2, 8),
    ("m32n8k16", "u8", "s32", "col", "row", 4, 1, 8),
    ("m8n8k4", "f64", "f64", "row", "col", 1, 1, 2),
]


def text_of(shape, factors, sums, rows, columns, a, b, c, more="", guard=""):
    """Return a kernel whose third array is c, by columns, and becomes d, by rows."""
    m, n, k = map(int, shape.replace("m", "").replace("n", " ").replace("k", " ").split())
    kind = {"f64": "f64"}.get(factors, "b32")
    whole = {"f64": "f64", "f16": "b32", "s32": "b32"}.get(sums, "f32")
    types = sums if factors == "f16" else f"{sums}.{factors}.{factors}"
    names = {"a": a, "b": b, "c": c}
    lists = {x: "{" + ", ".join(f"%{x}{x}{i}" for i in range(count)) + "}" for x, count in names.items()}
    declared = "".join(f".reg .{whole if x == 'c' else kind} %{x}{x}<{count}>;" for x, count in names.items())
    lead_a, lead_b = k if rows == "row" else m, n if columns == "row" else k
    rounding = ".rn" if factors == "f64" else ""
    body = f"""
    {declared}
    wmma.load.a.sync.aligned.{rows}.{shape}.global.{factors} {lists["a"]}, [%b0], {lead_a};
    wmma.load.b.sync.aligned.{columns}.{shape}.{factors} {lists["b"]}, [%b1], {lead_b};
    wmma.load.c.sync.aligned.col.{shape}.global.{sums} {lists["c"]}, [%b2], {m};
    {guard} wmma.mma.sync.aligned.{rows}.{columns}.{shape}.{types}.{sums}{rounding}{more}
        {lists["c"]}, {lists["a"]}, {lists["b"]}, {lists["c"]};
    bar.warp.sync -1; // d is stored over c, by rows
    wmma.store.d.sync.aligned.row.{shape}.global.{sums} [%b2], {lists["c"]}, {n};
"""
    return module(kernel(body, params=3)), (m, n, k)


def exponent(x, least):
    return np.where(x == 0, -126, np.maximum(np.frexp(x)[1] - 1, least))


def on_hopper(a, b, c, factors, sums):
    """Align products and c to the largest of them, truncate 25 bits below its exponent, and truncate the sum to f32.

    For f8, nvcc generates f16 products: first of the first two of every four k, then of the remaining two.
    """
    if factors in ("e4m3", "e5m2"):
        first = np.arange(a.shape[1]) % 4 < 2
        c = on_hopper(a[:, first], b[first], c, "f16", sums).astype(np.float64)
        return on_hopper(a[:, ~first], b[~first], c, "f16", sums)
    least = {"f16": -14}.get(factors, -126)
    if factors == "tf32":
        a, b = ((x.astype(np.float32).view(np.uint32) & 0xFFFFE000).view(np.float32).astype(np.float64) for x in (a, b))
    products = a[:, :, None] * b[None]
    exponents = np.where(products == 0, -300, exponent(a, least)[:, :, None] + exponent(b, least)[None])
    top = np.maximum(exponents.max(axis=1), exponent(c, -14 if sums == "f16" else -126))
    unit = np.ldexp(1.0, top - 25)
    total = (np.trunc(products / unit[:, None]) * unit[:, None]).sum(axis=1) + np.trunc(c / unit) * unit
    near = total.astype(NUMPY[sums])
    if sums == "f16":
        return near
    return np.where(np.abs(near.astype(np.float64)) > np.abs(total), np.nextafter(near, np.float32(0)), near)


@pytest.mark.parametrize("form", FORMS, ids=lambda form: ".".join(form[:5]))
@pytest.mark.parametrize("whole", [True, False], ids=["whole", "wide"])
def test_wmma_products_match_definition(form, whole, cache):
    _, factors, sums, rows, columns, *_ = form
    text, (m, n, k) = text_of(*form)
    rng = np.random.default_rng(3)

    def matrix(shape, kind):
        if kind in ("s8", "u8", "s32"):
            low, high = {"s8": (-128, 128), "u8": (0, 256), "s32": (-(2**31), 2**31)}[kind]
            return rng.integers(low, high, shape).astype(NUMPY[kind])
        numbers = rng.integers(-8, 9, shape) if whole else rng.normal(size=shape) * 2.0 ** rng.integers(-6, 7, shape)
        return numbers.astype(NUMPY[kind])

    a, b, c = matrix((m, k), factors), matrix((k, n), factors), matrix((m, n), sums)
    given = [x if by == "row" else np.ascontiguousarray(x.T) for x, by in ((a, rows), (b, columns), (c, "col"))]
    (_, _, d), _ = run(text, cache, *given)
    d = d.reshape(m, n)
    if sums == "s32":
        wanted = (a.astype(np.int64) @ b.astype(np.int64) + c).astype(np.int32)
    else:
        wide = [x.astype(np.float64) for x in (a, b, c)]
        wanted = on_hopper(*wide, factors, sums)
        if sums == "f64":
            wanted = c.astype(np.longdouble)
            for i in range(k):  # one rounding each
                wanted = (wanted + a[:, i, None].astype(np.longdouble) * b[None, i]).astype(np.float64)
    assert (d == wanted).all() if sums != "f64" or whole else np.allclose(d, wanted.astype(np.float64), rtol=1e-15)


def test_wmma_accumulator_is_uniform_constant(cache):
    """The constant is computed once for all threads and does not occupy a register."""
    text, _ = text_of(*FORMS[0])
    before, _, after = text.partition("wmma.mma.sync")
    product, _, store = after.partition(";")
    alike = product[: product.rindex("{")] + "{" + ", ".join(["%one"] * 8) + "}"
    text = f"{before}.reg .f32 %one; mov.f32 %one, 0f3F800000; wmma.mma.sync{alike};{store}"
    ones = np.ones((16, 16), np.float16)
    (_, _, d), _ = run(text, cache, ones, ones, np.zeros((16, 16), np.float32))
    assert (d == 17).all()


def test_wmma_load_of_misaligned_matrix_fails(cache):
    """An H200 ends such a kernel, too."""
    text, _ = text_of(*FORMS[0])
    text = re.sub(r"(wmma\.load\.a[^;]*)\[(%b\d)\]", r"\1[\2+6]", text)
    ones = np.ones((17, 16), np.float16)
    with pytest.raises(MisalignedAccess, match=r"wmma\.load\.a"):
        run(text, cache, ones, ones, np.zeros((16, 16), np.float32))


#: Shape, types of the factors and of the sums. Where an element is: PTX ISA, "Matrix Fragments for mma.m16n8k16", ...:
#: by the group g of four threads, the place t of a thread in it, and the number i of its element.
MMA = [
    ("m16n8k16", "f16", "f32"), ("m16n8k16", "f16", "f16"), ("m16n8k8", "f16", "f32"), ("m16n8k16", "bf16", "f32"),
    ("m16n8k8", "tf32", "f32"), ("m16n8k4", "tf32", "f32"), ("m16n8k32", "s8", "s32"), ("m8n8k16", "u8", "s32"),
    ("m16n8k32", "e4m3", "f32"), ("m16n8k32", "e5m2", "f32"), ("m16n8k32", "e4m3", "f16"),
    ("m16n8k16", "e4m3", "f32"), ("m8n8k4", "f64", "f64"),
]  # fmt: skip


def place_in_a(kind, g, t, i):
    if kind in ("f16", "bf16"):
        return g + 8 * (i // 2 % 2), 2 * t + i % 2 + 8 * (i // 4)
    if kind in ("s8", "u8", "e4m3", "e5m2"):
        return g + 8 * (i // 4 % 2), 4 * t + i % 4 + 16 * (i // 8)
    return g + 8 * (i % 2), t + 4 * (i // 2)


def place_in_b(kind, g, t, i):
    if kind in ("f16", "bf16"):
        return 2 * t + i % 2 + 8 * (i // 2), g
    if kind in ("s8", "u8", "e4m3", "e5m2"):
        return 4 * t + i % 4 + 16 * (i // 4), g
    return t + 4 * i, g


def place_in_c(g, t, i):
    return g + 8 * (i // 2), 2 * t + i % 2


@pytest.mark.parametrize("form", MMA, ids=".".join)
def test_mma_products_match_definition(form, cache):
    shape, factors, sums = form
    m, n, k = map(int, shape.replace("m", "").replace("n", " ").replace("k", " ").split())
    rng = np.random.default_rng(5)

    def matrix(size, kind):
        if kind in ("s8", "u8", "s32"):
            return rng.integers(0 if kind == "u8" else -100, 100, size).astype(NUMPY[kind])
        return (rng.normal(size=size) * 2.0 ** rng.integers(-4, 5, size)).astype(NUMPY[kind])

    whole = {"a": matrix((m, k), factors), "b": matrix((k, n), factors), "c": matrix((m, n), sums)}
    places = {
        "a": lambda g, t, i: place_in_a(factors, g, t, i), "b": lambda g, t, i: place_in_b(factors, g, t, i),
        "c": place_in_c,
    }  # fmt: skip
    held = {
        name: np.array([[x[places[name](lane // 4, lane % 4, i)] for i in range(x.size // 32)] for lane in range(32)])
        for name, x in whole.items()
    }
    wide = factors == "f64"
    bits = 64 if wide else 32
    lines, lists = [], {}
    for number, (name, x) in enumerate(held.items()):
        count = x.nbytes // 32 * 8 // bits
        lists[name] = "{" + ", ".join(f"%{name}{name}{i}" for i in range(count)) + "}"
        kind = "f64" if wide else "f32" if name == "c" and sums == "f32" else "b32"
        lines.append(f".reg .{kind} %{name}{name}<{count}>; .reg .b64 %at{name};")
        lines.append(f"mad.wide.u32 %at{name}, %t, {count * bits // 8}, %b{number};")
        lines += [f"ld.global.b{bits} %{name}{name}{i}, [%at{name}+{i * bits // 8}];" for i in range(count)]
    types = f"{sums}.{factors}.{factors}.{sums}"
    lines.append(f"mma.sync.aligned.{shape}.row.col.{types} {lists['c']}, {lists['a']}, {lists['b']}, {lists['c']};")
    lines += [f"st.global.b{bits} [%atc+{i * bits // 8}], %cc{i};" for i in range(held["c"].nbytes // 32 * 8 // bits)]
    (_, _, d), _ = run(module(kernel("\n".join(lines), params=3)), cache, *held.values())
    if sums == "s32":
        wanted = whole["a"].astype(np.int64) @ whole["b"].astype(np.int64) + whole["c"]
    elif wide:
        wanted = whole["c"] + whole["a"] @ whole["b"]
    else:
        wanted = on_hopper(*(x.astype(np.float64) for x in whole.values()), factors, sums)
    there = np.array([[wanted[place_in_c(lane // 4, lane % 4, i)] for i in range(m * n // 32)] for lane in range(32)])
    assert np.allclose(d, there, rtol=1e-12, atol=1e-12) if wide else (d == there).all()


@pytest.mark.parametrize("trans", ["", ".trans"])
@pytest.mark.parametrize("count", [1, 2, 4])
def test_ldmatrix_distributes_rows_to_threads(count, trans, cache):
    """Thread l receives two elements of matrix q, from 2 (l % 4) on, of row (or column) l / 4.

    Inline assembly may have no space after the opcode.
    """
    names = ", ".join(f"%r{10 + q}" for q in range(count))
    body = f"""
    .shared .align 16 .b8 tile[512];
    mul.wide.u32 %d1, %t, 16; add.u64 %d2, %b0, %d1;
    ld.global.v4.u32 {{%r1, %r2, %r3, %r4}}, [%d2];
    mov.u32 %r5, tile; mad.lo.u32 %r6, %t, 16, %r5;
    st.shared.v4.u32 [%r6], {{%r1, %r2, %r3, %r4}};
    bar.warp.sync -1;
    ldmatrix.sync.aligned.m8n8.x{count}{trans}.shared.b16{{{names}}}, [%r6];
    mul.wide.u32 %d3, %t, {4 * count}; add.u64 %d4, %b1, %d3;
    {" ".join(f"st.global.u32 [%d4+{4 * q}], %r{10 + q};" for q in range(count))}
"""
    x = np.arange(256, dtype=np.uint16).reshape(4, 8, 8)
    (_, y), _ = run(module(kernel(body)), cache, x, np.zeros((32, count, 2), np.uint16))
    for lane in range(32):
        for q in range(count):
            matrix = x[q].T if trans else x[q]
            assert y[lane, q].tolist() == matrix[lane // 4, 2 * (lane % 4) : 2 * (lane % 4) + 2].tolist()


def test_satfinite_saturates_integer_sums(cache):
    form = FORMS[6]
    given = [np.full((16, 16), x, np.int8) for x in (127, 127)]
    for more, wanted in (("", 2**31 - 1 - 2**32 + 16 * 127 * 127), (".satfinite", 2**31 - 1)):
        text, _ = text_of(*form, more=more)
        (_, _, d), _ = run(text, cache, *given, np.full((16, 16), 2**31 - 1, np.int32))
        assert (d == wanted).all()


def test_fragment_past_buffer_end_is_fault(cache):
    text, _ = text_of(*FORMS[0])
    short = [np.zeros((16, 16), np.float16), np.zeros((15, 16), np.float16), np.zeros((16, 16), np.float32)]
    with pytest.raises(MemoryFault, match="out-of-bounds read of 2 bytes"):
        run(text, cache, *short)


def test_unsupported_matrix_instruction_is_refused(cache):
    given = [np.zeros((16, 16), np.float16)] * 2 + [np.zeros((16, 16), np.float32)]
    with pytest.raises(UnsupportedFeature, match="with a guard"):
        run(text_of(*FORMS[0], guard="@%p1")[0], cache, *given)
    with pytest.raises(UnsupportedFeature, match="matrix instructions of s4"):
        run(text_of(*FORMS[0])[0].replace(".global.f16", ".global.s4"), cache, *given)


@pytest.mark.parametrize("factors", ["bf16", "tf32"])
def test_product_with_zero_does_not_align_others(factors, cache):
    """As on an H100, where 1.2e-38 + 0 * 2^127 keeps all bits."""
    form = next(form for form in FORMS if form[1] == factors and form[3:5] == ("row", "col"))
    text, (m, n, k) = text_of(*form)
    a, b = np.zeros((m, k)), np.zeros((n, k))  # b by columns
    a[:, 0], b[:, 0], b[:, 1] = 1, 2.0**-126, 2.0**127
    kind = NUMPY[factors]
    (_, _, d), _ = run(text, cache, a.astype(kind), b.astype(kind), np.zeros((m, n), np.float32))
    assert (d == np.float32(2.0**-126)).all()
