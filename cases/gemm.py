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


def batched(name: str) -> Op:
    """Declare products of the matrices of a batch. A library has a function for pointers, and one for a stride."""
    return Op(
        f"gemm.{name}",
        kernel=f"{name}_{{T}}",
        library=True,
        types=("f16", "bf16", "f32", "f64"),
        args="",
        inputs={"a": "T", "b": "T"},
        shapes="a: batch m k; b: batch k n; out: batch m n",
        choices={"batch": (1, 2, 3, 5), "m": SIZES, "n": SIZES, "k": (*SIZES, 64, 65)},
        grid_stride=False,
        reference=reference.batched_matmul,
        data=("small", "normal", "unit"),
        named=(
            NamedCase("integer probe", "a=3x9x65~small@0 b=3x65x7~small@0"),
            NamedCase("both transposed", "a=2x17x40:680,1,17~small@0 b=2x40x9:360,1,40~normal@0"),
            NamedCase("matrices apart", "a=3x4x16:100,16,1~small@0 b=3x16x5:96,5,1+3~normal@0"),
            NamedCase("one matrix for the whole batch", "a=3x4x16:0,16,1~small@0 b=3x16x5~normal@0"),
        ),
    )


batched_pointers = batched("batched")
batched_strides = batched("strided_batched")
