"""matmul.cu: matrix products on matrix cores, with scale, accumulation and bias, and attention."""

from typing import Any

from parity import reference
from parity.op import NamedCase, Op

TYPES = ("f16,f32", "bf16,f32", "f8_e4m3,f32", "i8,i32", "f64,f64")
TILE = 32
SCALES = {"alpha": (1, 0, 2, 3), "beta": (0, 1, 2)}
EDGES = (1, 2, 3, 5, 8, 15, 16, 17, 31, 32, 33)


def half(t: str, d: str) -> bool:
    return t == "f16"


def floats(t: str, d: str) -> bool:
    return d != "i32"


def integers(t: str, d: str) -> bool:
    return d == "i32"


def f8(t: str, d: str) -> bool:
    return t == "f8_e4m3"


def case(title: str, a: str, b: str, out: str, bias: str = "no-bias", only: Any = None, **more: Any) -> NamedCase:
    """Return a named product with the layouts and data of a, b and out; ``beta`` times out is added."""
    given = {"alpha": 1, "beta": 0, **{name: value for name, value in more.items() if name != "divergence"}}
    flags = bias if bias == "no-bias" else f"bias={bias}"
    items = f"a={a} b={b} {flags} out={out} {' '.join(f'{name}={value}' for name, value in given.items())}"
    return NamedCase(title, items, only, more.get("divergence", ""))


matmul = Op(
    "matmul.matmul",
    kernel="matmul_{T}_{D}",
    types=TYPES,
    args="k info a b bias out alpha:D beta:D",
    inputs={"a": "T", "b": "T", "bias": "D"},
    updates={"out": "D"},
    params={"alpha": "D", "beta": "D"},
    shapes="a: batch m k; b: batch k n; bias: n; out: batch m n",
    info="out.shape out.strides a.strides b.strides",
    strides={"bias": "dense"},
    optional=("bias",),
    where="out.numel > 0",
    choices=(
        {"batch": (1, 2, 3), "m": EDGES, "n": EDGES, "k": (*EDGES, 64, 65), **SCALES},
        {"batch": (1,), "m": (33, 64, 65), "n": (33, 65), "k": (1, 16, 47), **SCALES},
    ),
    grid=f"ceil(n/{TILE}), ceil(m/{TILE}), batch",
    block=128,
    grid_stride=False,
    reference=reference.scaled_matmul,
    data=("small", "normal", "unit"),
    named=(
        case(
            "integers show every term",
            "2x33x47~small@0",
            "2x47x34~small@7",
            "2x33x34~small@3",
            "34~small@5",
            alpha=2,
            beta=1,
        ),
        case("both transposed", "1x17x40:1,1,17~small@0", "1x40x33:1,1,40~small@0", "1x17x33~normal@0"),
        case(
            "rows apart, and not from the start",
            "1x16x16:1,24,1+3~normal@0",
            "1x16x16:1,1,17+5~normal@0",
            "1x16x16:1,40,1+7~normal@0",
            beta=1,
        ),
        case("one matrix for all of a batch", "3x17x16:0,16,1~small@0", "3x16x31~small@0", "3x17x31~small@0"),
        case("columns of the result", "1x33x8~small@0", "1x8x35~small@0", "1x33x35:1,1,33~small@0", beta=2),
        case("a single product each", "1x32x1~normal@0", "1x1x32~normal@0", "1x32x32~normal@0"),
        case(
            "one more than a tile each way",
            "1x33x17~normal@0",
            "1x17x33~normal@0",
            "1x33x33~normal@0",
            "33~normal@0",
            alpha=2,
            beta=2,
        ),
        case("the first matrix of a batch is not the second", "2x1x3~small@0", "2x3x1~small@0", "2x1x1~small@0"),
        case("a dot product of 1000", "1x1x1000~normal@0", "1x1000x1~normal@0", "1x1x1~normal@0"),
        case("nothing to add", "1x3x0~small@0", "1x0x2~small@0", "1x3x2~small@0", "2~small@0", beta=1),
        case(
            "what was there does not count",
            "1x12x7~small@0",
            "1x7x11~small@0",
            "1x12x11~special@0",
            beta=0,
            only=floats,
        ),
        case("NaN and infinities", "1x4x110~special@0", "1x110x3~small@0", "1x4x3~small@0", only=half),
        case("every byte at every place", "1x16x16~patterns@0", "1x16x3~small@0", "1x16x3~small@0", only=integers),
        case(
            "every f8, of OCP, where FNUZ has other values, and NaN for -0",
            "1x16x16~patterns@0",
            "1x16x3~small@0",
            "1x16x3~small@0",
            only=f8,
            divergence="D19",
        ),
        case(
            "fractional factors, one of them negative",
            "1x5x9~normal@0",
            "1x9x6~normal@0",
            "1x5x6~normal@0",
            "6~normal@0",
            alpha=0.1,
            beta=-1.3,
            only=floats,
        ),
        case(
            "the largest sums", "1x33x65~bits@0", "1x65x33~bits@7", "1x33x33~bits@0", alpha=1009, beta=-5, only=integers
        ),
        case(
            "a sum beyond i32, which wraps",
            "1x1x132000:0,0,0~bits@54",
            "1x132000x1:0,0,0~bits@631",
            "1x1x1~small@0",
            only=integers,
        ),
        case("subnormal halves", "1x4x1~5e-6..5e-5@0", "1x1x5~normal@0", "1x4x5~small@0", only=half, divergence="D25"),
    ),
    bench=(
        NamedCase(
            "4096 cubes",
            "a=1x4096|64x4096|64~unit@0 b=1x4096|64x4096|64~unit@0 no-bias out=1x4096|64x4096|64~unit@0 alpha=1 beta=0",
        ),
    ),
    operations="2*numel*k",
)


def attention(width: int) -> Op:
    """Declare attention with heads of the given width. The kernel uses tiles of 16 queries and blocks of 64 keys."""

    def named(
        title: str, q: str, kv: str, v_recipe: str = "normal@5", causal: int = 0, scale: float = 0.125
    ) -> NamedCase:
        """Return a named case with the layouts of q and of k and v (``kv``), and the data of v (``v_recipe``)."""
        return NamedCase(
            title,
            f"q={q.format(width)} k={kv.format(width)}~normal@3 v={kv.format(width)}~{v_recipe} "
            f"scale={scale} causal={causal}",
        )

    return Op(
        f"matmul.attention_{width}",
        kernel=f"attention_{{T}}_{width}",
        types=("f16", "bf16"),
        args="n group info q k v out scale causal:u32",
        inputs={"q": "T", "k": "T", "v": "T"},
        params={"scale": "f32", "causal": "u32"},
        shapes=f"q: batch kv*group m {width}; k: batch kv n {width}; v: batch kv n {width}; "
        f"out: batch kv*group m {width}",
        info="out.shape out.strides q.strides k.strides v.strides",
        where="q.numel > 0",
        choices=(
            {
                "batch": (1, 2),
                "kv": (1, 2),
                "group": (1, 2, 3),
                "m": (1, 2, 15, 16, 17, 33),
                "n": (0, 1, 2, 16, 63, 64, 65, 130),
                "scale": (0.125, 0.08838834764831845, 1.0, 0.0),
                "causal": (0, 1),
            },
        ),
        grid="ceil(m/16), kv*group, batch",
        block=128,
        grid_stride=False,
        reference=lambda q, k, v, scale, causal: reference.attention(q, k, v, scale, bool(causal), block=64),
        data=("normal", "unit", "small"),
        named=(
            named("all keys alike: the mean of integers", "1x1x3x{}~normal@0", "1x1x70x{}", "small@5", scale=0.0),
            named("one key more than a block, and one query more than a tile", "1x1x17x{}~normal@0", "1x1x65x{}"),
            named("causal: each query has one key more", "1x2x33x{}~normal@0", "1x2x33x{}", causal=1),
            named("causal, more queries than keys", "1x1x40x{}~normal@0", "1x1x20x{}", causal=1),
            named("three heads of q have one of k and v", "2x6x5x{}~normal@0", "2x2x9x{}"),
            named("scores far apart: the largest grows along the keys", "1x1x16x{}~normal@0", "1x1x200x{}", scale=4.0),
            named("one key: its value", "1x1x2x{}~normal@0", "1x1x1x{}"),
            named("no keys: 0", "1x1x2x{}~normal@0", "1x1x0x{}"),
        ),
        bench=(
            NamedCase(
                "4 times 16 heads, 2048 queries and keys",
                " ".join(f"{name}=4|1x16|1x2048|64x{width}~normal@0" for name in "qkv") + " scale=0.125 causal=0",
            ),
        ),
        operations=f"4*batch*kv*group*m*n*{width}",
    )


attention_64, attention_128 = attention(64), attention(128)
