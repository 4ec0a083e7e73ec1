"""Matrix multiplication by the vendors' libraries, which frameworks use instead of kernels."""

from parity import reference
from parity.op import NamedCase, Op

SIZES = (1, 2, 3, 5, 8, 16, 17, 31, 32, 33)

matmul = Op(
    "gemm.matmul",
    kernel="matmul_{T}",
    library=True,
    types=("f16", "bf16", "f32", "f64"),
    args="",
    inputs={"a": "T", "b": "T"},
    shapes="a: m k; b: k n; out: m n",
    strides={"a": "matrix", "b": "matrix"},
    choices={"m": (*SIZES, 0), "n": (*SIZES, 0), "k": (*SIZES, 64, 65, 129, 0)},
    grid_stride=False,
    reference=reference.matmul,
    # Without subnormals, because some GPUs flush them in matrix units (MI200: half types).
    data=("small", "normal", "unit"),
    named=(
        NamedCase("integer probe", "a=33x65~small@0 b=65x31~small@0"),
        NamedCase("both transposed", "a=17x40:1,17~small@0 b=40x9:1,40~normal@0"),
        NamedCase("rows apart", "a=16x16:24,1~small@0 b=16x16:1,17+3~normal@0"),
        NamedCase("a dot product of 1000", "a=1x1000~normal@0 b=1000x1~normal@0"),
        NamedCase("nothing to add", "a=3x0~small@0 b=0x2~small@0"),
        NamedCase("NaN and infinities", "a=4x110~special@0 b=110x3~small@0"),
    ),
)
