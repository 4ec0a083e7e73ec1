"""Prefix sums by the vendors' libraries, which frameworks use instead of kernels."""

from parity import reference
from parity.op import NamedCase, Op

prefix_sum = Op(
    "scan.sum",
    kernel="prefix_sum_{T}",
    library=True,
    types=("u32", "i64", "f32", "f64"),
    args="",
    inputs={"x": "T"},
    shapes="x: n; out: n",
    where="n > 0",
    choices={"n": (1, 2, 3, 31, 32, 33, 63, 64, 65, 255, 256, 257, 1023, 1025)},
    grid_stride=False,
    reference=reference.prefix_sum,
    data=("small", "normal", "unit", "near", "special"),
    named=(
        NamedCase("integer probe", "x=2049~small@0"),
        NamedCase("integers wrap", "x=300~bits@0", lambda t: t in ("u32", "i64")),
    ),
)
