"""cast.cu: conversions between all element types, by CUDA's rules."""

from collections.abc import Callable
from math import inf, nan

from parity import reference
from parity.op import NamedCase, Op

TARGETS = {
    "u8": "u8 u32 i64 f16 bf16 f32 f64 f8_e4m3",
    "u32": "u8 u32 i64 f16 bf16 f32 f64",
    "i32": "f8_e4m3",
    "i64": "u8 u32 i64 f32 f64",
    "f16": "u8 u32 f16 bf16 f32 f64 f8_e4m3",
    "bf16": "u8 u32 f16 bf16 f32 f64 f8_e4m3",
    "f32": "u8 u32 i64 f16 bf16 f32 f64 f8_e4m3",
    "f64": "u8 u32 i64 f16 bf16 f32 f64 f8_e4m3",
    "f8_e4m3": "u8 i32 f16 bf16 f32 f64 f8_e4m3",
}

POINTS = (
    *(nan, inf, -inf, -1.0, 300.0, 3e9, 1e20, -1e20, 255.9, 256.0, -0.5, 4294967295.0, 2.0**63, -(2.0**63), 2.0**64),
    *(-300.0, 40000.0, 2.0**31, -(2.0**31), 2.0**32, 0.5, 1.5, 255.0, -0.0, 4294967296.5, 16777217.0, 2.0**53 + 2),
    # Values at which narrower floats overflow (f16: 65520, bf16: 3.396e38, f32: 3.4028236e38) or round twice.
    *(65504.0, 65519.99609375, 65520.0, 3.3895e38, 3.3961775e38, 3.4028235677973366e38, 1e300, 1e-40, 5.9e-8, 2.98e-8),
    # Values at which f8_e4m3 saturates, rounds to a subnormal or to 0, or meets a tie, in f64 or only in f32.
    *(448.0, 463.99, 464.0, 465.0, 480.0, 240.0, 248.0, 2.0**-6, 2.0**-9, 2.0**-10, 1.5 * 2.0**-9, 1.01 * 2.0**-10),
    *(1.0625, -1.0625, 1.1875, 1.0625 + 2.0**-40, 17.0, 19.0, 0.0146, 0.0156),
    *(1.0 + 2.0**-11 + 2.0**-30, 1.0 + 2.0**-8 + 2.0**-40, 1.0 + 2.0**-24 + 2.0**-53, 2049.0, 2051.0, 257.0, 259.0),
)


ALL_POINTS = f"x={len(POINTS)}~points@0"

DIVERGENCES = (
    ("D1", "f32 to u32 out of range saturates, NaN gives 0", "f32", "u32"),
    ("D2", "NaN from f64 to u32 is 0x80000000, not 0", "f64", "u32"),
    ("D3", "f32 to i64 saturates; NaN gives the least value", "f32", "i64"),
    ("D4", "f64 to i64 saturates; NaN gives the least value", "f64", "i64"),
    ("D5", "to u8 by way of u32, keeping the low byte", "f32 f64 bf16", "u8"),
    ("D6", "f16 to u8 by way of u32, keeping the low byte", "f16", "u8"),
    ("D19", "to f8 by way of f32, saturating at 448", "u8 i32 f16 bf16 f32 f64", "f8_e4m3"),
)
"""Known divergences: id, title of the case, source and target types of the casts whose points show the divergence."""


def meets(sources: str, target: str) -> Callable[[str, str], bool]:
    return lambda s, d: s in sources.split() and d == target


def meets_none(source: str, target: str) -> bool:
    return not any(meets(sources, narrow)(source, target) for _, _, sources, narrow in DIVERGENCES)


convert = Op(
    "cast.convert",
    kernel="cast_{S}_{D}",
    types=tuple(f"{source},{target}" for source, targets in TARGETS.items() for target in targets.split()),
    args="numel num_dims info x out",
    inputs={"x": "S"},
    outputs={"out": "D"},
    reference=reference.cast,
    points=POINTS,
    named=(
        NamedCase("limits, ties and roundings", ALL_POINTS, meets_none),
        *(NamedCase(title, ALL_POINTS, meets(sources, d), name) for name, title, sources, d in DIVERGENCES),
        NamedCase("special values", "x=110~special@0"),
        NamedCase("every f8, which is e4m3 of OCP, not FNUZ", "x=256~patterns@0", lambda s, d: s == "f8_e4m3", "D19"),
        NamedCase("every f16", "x=65536~patterns@0", lambda s, d: (s, d) == ("f16", "f8_e4m3")),
    ),
)
