"""The kernels of Triton's tutorials. CUDA's results judge AMD's."""

from parity.op import Op, triton

FILE = "tutorials.py"
ROWS = {"c": (1, 5, 64, 100, 777)}

add = Op(
    "tutorials.add", triton(f"{FILE}:add", BLOCK=256), ("f32", "f16", "bf16"),
    inputs={"x": "T", "y": "T"}, shapes="x: n; y: n; out: n", where="n > 0", args="out x y n", grid="ceil(n/BLOCK)",
)  # fmt: skip

softmax = Op(
    "tutorials.softmax", triton(f"{FILE}:softmax", num_warps=(1, 4), BLOCK="bit_ceil(c)"), ("f32", "f16", "bf16"),
    inputs={"x": "T"}, shapes="x: r c; out: r c", where="r > 0 and c > 0", choices=ROWS,
    args="out x rows=r columns=c", grid="min(r, 2)",
)  # fmt: skip

matmul = Op(
    "tutorials.matmul",
    triton(f"{FILE}:matmul", ACTIVATION=("", "leaky_relu"), BM=32, BN=(16, 64), BK=32, GROUP=2, num_stages=2),
    ("f16", "bf16", "f32"),
    inputs={"a": "T", "b": "T"}, shapes="a: m k; b: k n; out: m n", where="m > 0 and n > 0 and k > 0",
    choices={"m": (1, 32, 50), "n": (1, 64, 33), "k": (1, 32, 70)},
    args="out a b m n k", grid="ceil(m/BM) * ceil(n/BN)",
)  # fmt: skip

dropout = Op(
    "tutorials.dropout", triton(f"{FILE}:dropout", BLOCK=256), ("f32",),
    inputs={"x": "T"}, params={"p": "f32", "seed": "i32"}, values=(0.25, 0.5),
    shapes="x: n; out: n", where="n > 0 and p >= 0 and p < 1", choices={"p": (0.25, 0.5), "seed": (0, 7)},
    args="out x n p seed", grid="ceil(n/BLOCK)",
)  # fmt: skip

layer_norm = Op(
    "tutorials.layer_norm", triton(f"{FILE}:layer_norm", BLOCK="bit_ceil(c)"), ("f32", "f16"),
    inputs={"x": "T", "weight": "T", "bias": "T"}, outputs={"out": "T", "mean": "f32", "rstd": "f32"},
    params={"eps": "f32"}, shapes="x: r c; weight: c; bias: c; out: r c; mean: r; rstd: r",
    where="r > 0 and c > 0", choices={**ROWS, "eps": (1e-5,)},
    args="out mean rstd x weight bias c eps", grid="r",
)  # fmt: skip

layer_norm_backward = Op(
    "tutorials.layer_norm_backward", triton(f"{FILE}:layer_norm_backward", BLOCK="bit_ceil(c)"), ("f32", "f16"),
    inputs={"dout": "T", "x": "T", "weight": "T", "mean": "f32", "rstd": "f32"},
    outputs={"dx": "T", "dw": "T", "db": "T"}, choices=ROWS, where="r > 0 and c > 0",
    shapes="dout: r c; x: r c; weight: c; mean: r; rstd: r; dx: r c; dw: r c; db: r c",
    args="dx dw db dout x weight mean rstd c", grid="r",
)  # fmt: skip

attention = Op(
    "tutorials.attention", triton(f"{FILE}:attention", CAUSAL=(False, True), D="d", BM=32, BN=32), ("f16", "bf16"),
    inputs={"q": "T", "k": "T", "v": "T"}, params={"scale": "f32"},
    shapes="q: h l d; k: h l d; v: h l d; out: h l d", where="h > 0 and l > 0",
    choices={"h": (1, 2), "l": (1, 32, 50, 70), "d": (16, 64), "scale": (0.125,)},
    args="out q k v scale length=l", grid="ceil(l/BM), h",
    data=("small", "normal", "unit"),  # a sum of products near the largest f32 overflows in one order only
)  # fmt: skip

grouped_matmul = Op(
    "tutorials.grouped_matmul", triton(f"{FILE}:grouped_matmul", GROUPS=2, PROGRAMS=3, BM=32, BN=32, BK=32), ("f16",),
    inputs={"a0": "T", "b0": "T", "a1": "T", "b1": "T"}, outputs={"out0": "T", "out1": "T"},
    shapes="a0: m k; b0: k n; out0: m n; a1: p q; b1: q r; out1: p r",
    structs={  # the addresses of each group's matrices, and their extents
        "*outs": "out0 out1", "*lefts": "a0 a1", "*rights": "b0 b1",
        "*sizes": "m:i64=m n:i64=n k:i64=k p:i64=p r:i64=r q:i64=q",
    },
    where="m > 0 and n > 0 and k > 0 and p > 0 and q > 0 and r > 0",
    choices={"m": (1, 50), "n": (33, 64), "k": (32, 70), "p": (1, 40), "q": (16, 50), "r": (1, 32)},
    args="outs lefts rights sizes", grid="PROGRAMS",
)  # fmt: skip
