"""binary.cu: arithmetic and comparisons of two tensors that broadcast against each other."""

from collections.abc import Callable

from parity import reference
from parity.op import NamedCase, Op
from parity.reference import Expected

TYPES = ("f16", "bf16", "f32", "f64", "f8_e4m3", "u8", "u32", "i64")
ORDER = (0.0, -0.0, 0.0, float("nan"), 1.0, float("nan"), float("-inf"), float("inf"), -1.0)


def is_float(dtype: str) -> bool:
    return dtype[0] in "fb"


def is_integer(dtype: str) -> bool:
    return not is_float(dtype)


PAIRS = NamedCase(
    "every pair of f8 values",
    "lhs=256x256:1,0~patterns@0 rhs=256x256:0,1~patterns@0",
    lambda t: t == "f8_e4m3",
)


def binary(
    name: str,
    kernel: str,
    function: Callable[..., Expected],
    output: str = "T",
    named: tuple[NamedCase, ...] = (),
    bench: tuple[NamedCase, ...] = (),
) -> Op:
    """Declares an op on two tensors of one dtype; lhs and rhs may be the same memory."""
    return Op(
        f"binary.{name}",
        kernel=kernel + "_{T}",
        types=TYPES,
        args="numel num_dims info lhs rhs out",
        inputs={"lhs": "T", "rhs": "T"},
        outputs={"out": output},
        aliased=("lhs", "rhs"),
        reference=function,
        points=ORDER,
        named=(
            NamedCase("special values against each other", "lhs=110x3:1,0~special@0 rhs=110x3:1,7~special@0"),
            PAIRS,
            *named,
        ),
        bench=bench,
    )


WRAPS = (NamedCase("the result wraps", "lhs=70~special@0 rhs=70~special@1", is_integer, "D24"),)
D7 = (NamedCase("signed zeros and NaN on either side", "lhs=9~points@0 rhs=9~points@1", is_float, "D7"),)
D9 = (NamedCase("division by zero and MIN / -1 must not trap", "lhs=90~special@0 rhs=90~special@2", is_integer, "D9"),)
D21 = (NamedCase("a NaN counts as a NaN whatever its bits", "lhs=300~bits@0 rhs=300~bits@0", is_float, "D21"),)

BENCH = (
    NamedCase("one transposed", "lhs=8192|128x8192|128:1,8192|128~normal@0 rhs=8192|128x8192|128~normal@0"),
    NamedCase("a row for all rows", "lhs=8192|128x8192|128~normal@0 rhs=8192|128x8192|128:0,1~normal@0"),
)

add = binary("add", "badd", reference.add, named=(*WRAPS, *D21), bench=BENCH)
sub = binary("sub", "bsub", reference.sub, named=WRAPS)
mul = binary("mul", "bmul", reference.mul, named=WRAPS)
div = binary("div", "bdiv", reference.div, named=D9)
maximum = binary("maximum", "bmaximum", reference.maximum, named=D7)
minimum = binary("minimum", "bminimum", reference.minimum, named=D7)
eq = binary("eq", "eq", reference.eq, "u8")
ne = binary("ne", "ne", reference.ne, "u8")
lt = binary("lt", "lt", reference.lt, "u8")
le = binary("le", "le", reference.le, "u8")
gt = binary("gt", "gt", reference.gt, "u8")
ge = binary("ge", "ge", reference.ge, "u8")
