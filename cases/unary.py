"""unary.cu: functions of one tensor, in place or not."""

from collections.abc import Callable
from math import inf, nan
from typing import Any

from parity import reference
from parity.op import NamedCase, Op

FLOATS = ("f16", "bf16", "f32", "f64", "f8_e4m3")
HALVES = ("f16", "bf16")

# Values at which e^x overflows, becomes subnormal or underflows to 0 in f16, f32 and f64, and values around zero.
EXP = (
    0.0,
    1e-3,
    -1e-3,
    1e-7,
    11.09,
    -9.7,
    -17.33,
    88.72,
    88.73,
    -87.34,
    -103.2,
    -103.3,
    -103.97,
    709.78,
    -708.4,
    -745.1,
)
GELU = (0.0, -0.1, 0.5, -3.0, 3.0, -5.5, 40.25, -40.25, 41.0, -41.0, -9.0, 1e-5, -1e4, 1e4, -inf, inf, nan)
TIES = (
    0.5,
    -0.5,
    1.5,
    -1.5,
    2.5,
    -2.5,
    3.5,
    0.49999997,
    -0.49999997,
    8388607.5,
    -8388608.5,
    1023.5,
    1024.5,
    127.5,
    0.99999994,
)
TURNS = (0.7853982, 1.5707964, 3.1415927, 6.2831855, 1e5, 33000.0, 1e22, -1.5707964, 1e-5, 65504.0, 3.4e38, 1.6e308)


def unary(
    name: str,
    function: Callable[..., Any],
    points: tuple[float, ...] = (),
    *,
    types: tuple[str, ...] = FLOATS,
    params: str = "",
    values: tuple[float, ...] = (),
    named: tuple[NamedCase, ...] = (),
    bench: tuple[NamedCase, ...] = (),
) -> Op:
    """Declare an op on one tensor. Its kernel is ``u`` + name; parameters precede the input."""
    assignments = "".join(f" {param}=1.5" for param in params.split())
    return Op(
        f"unary.{name}",
        kernel=f"u{name}_{{T}}",
        types=types,
        args=f"numel num_dims info {params} x out",
        inputs={"x": "T"},
        params=dict.fromkeys(params.split(), "T"),
        in_place="x",
        spelling={} if name == "copy" else {"f8_e4m3": "fp8_e4m3"},
        reference=function,
        points=points,
        values=values,
        named=(
            NamedCase("special values", f"x=110~special@0{assignments}"),
            NamedCase("every f8", f"x=256~patterns@0{assignments}", lambda t: t == "f8_e4m3"),
            *named,
        ),
        bench=bench,
    )


def at_points(
    divergence: str, title: str, points: tuple[float, ...], *types: str, items: str = ""
) -> tuple[NamedCase, ...]:
    """Return a named case about a divergence, which contains each of the op's points once, for some dtypes."""
    return (NamedCase(title, f"x={len(points)}~points@0{items}", lambda t: t in (types or FLOATS), divergence),)


TRANSPOSED = NamedCase("transposed", "x=8192|128x8192|128:1,8192|128~normal@0")
EVERY_OTHER = NamedCase("every other element", "x=8192|128x4096|64:8192|128,2~normal@0")

copy = unary(
    "copy",
    reference.copy,
    types=("u8", "u32", "i64", *FLOATS),
    named=(NamedCase("NaN payloads are compared as NaN", "x=500~bits@0", lambda t: t in FLOATS, "D21"),),
    bench=(TRANSPOSED, EVERY_OTHER),
)
neg = unary("neg", reference.neg)
abs_ = unary("abs", reference.abs)
sign = unary("sign", reference.sign)
relu = unary("relu", reference.relu)
ceil = unary("ceil", reference.ceil, (*TIES, 1.5955e-125, -1.5955e-125))
floor = unary("floor", reference.floor, (*TIES, 1.5955e-125, -1.5955e-125))
round_ = unary("round", reference.round, TIES, named=at_points("D23", "ties go away from zero", TIES))

recip = unary("recip", reference.recip, (3.0, 2.9387e-39, 1e-45, 1.7e38, 3.4e38, 5e-324, 6e-8, 65504.0))
sqr = unary("sqr", reference.sqr, (1e-20, 1e-23, 1.8446743e19, 1.84467441e19, 255.9, 256.0, 1e-160, 1.34e154))
sqrt = unary(
    "sqrt",
    reference.sqrt,
    (2.0, 1e-45, 1e-40, 5e-324, 6e-8, -0.0, -1.0),
    named=(NamedCase("subnormals and ties", "x=300~bits@0", lambda t: t in HALVES, "D18"),),
)
exp = unary(
    "exp",
    reference.exp,
    EXP,
    named=(
        *at_points("D14", "subnormal results, which ocml gives up below -103.28", EXP, "f32"),
        NamedCase("subnormal arguments", "x=2000~bits@0", lambda t: t == "f32", "D13"),
    ),
    bench=(TRANSPOSED,),
)
LOG = (1.0, 0.5, 2.0, 0.9999999, 1.0000001, 1e-40, 1e-45, 5e-324, 6e-8, 10.0, 0.0, -1.0, inf)
log = unary("log", reference.log, LOG, named=at_points("D13", "subnormal arguments", LOG))
sin = unary("sin", reference.sin, TURNS)
cos = unary("cos", reference.cos, TURNS)
TANH = (0.0, 1e-4, 0.01, 0.55, 0.625, 1.0, 4.0, 9.0, 9.1, 19.1, 22.0, -0.3)
tanh = unary("tanh", reference.tanh, TANH, named=at_points("D22", "accuracy of tanh", TANH))
ERF = (0.0, 1e-4, 0.84, 1.0, 1.25, 2.0, 3.9, 4.1, 5.9, 6.1, 10.0, -14.0, -27.0, -38.5)
erf = unary("erf", reference.erf, ERF, named=at_points("D22", "accuracy of erf", ERF))
normcdf = unary("normcdf", reference.normcdf, tuple(1.4142135623730951 * p for p in (*ERF, *(-p for p in ERF))))
POW = (0.0, -0.0, 1.0, -1.0, 2.0, -2.0, 0.5, 10.0, 1e-3, 0.9999999, 1.0000001, inf, -inf, nan, 1e-40, 255.0)
powf = unary(
    "powf",
    reference.powf,
    POW,
    params="exponent",
    values=(0.5, 2.0, -2.0, 3.0, 1 / 3, 100.0, -0.5, 1e30, 16777217.0),
    named=tuple(
        named
        for exponent in ("0.0", "1.0", "-1.0", "2.0", "3.0", "0.5", "-0.5", "inf", "-inf", "nan", "2.5")
        for named in at_points("D22", f"C's rules for x ^ {exponent}", POW, items=f" exponent={exponent}")
    ),
)
elu = unary(
    "elu",
    reference.elu,
    EXP,
    params="alpha",
    values=(1.5, 0.1),
    named=at_points("D18", "e^x - 1 loses what rounds away", (*EXP,), *HALVES, items=" alpha=1.0"),
)
silu = unary(
    "silu",
    reference.silu,
    (*EXP, *(-p for p in EXP), -90.0, -100.0, -12.0, -inf),
    named=(NamedCase("e^-x overflows before the quotient does", "x=34~points@0", lambda t: t in HALVES, "D18"),),
)
sigmoid = unary("sigmoid", reference.sigmoid, (*EXP, *(-p for p in EXP), -90.0, -100.0, -12.0, -inf))
gelu = unary(
    "gelu",
    reference.gelu,
    GELU,
    named=(
        *at_points("D18", "x^3 overflows in f16", GELU, *HALVES),
        *at_points("D22", "accuracy of tanh", GELU, "f32", "f64"),
    ),
)
gelu_erf = unary("gelu_erf", reference.gelu_erf, GELU)
