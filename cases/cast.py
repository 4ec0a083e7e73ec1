"""cast.cu: every conversion between the element types, by CUDA's rules."""

from collections.abc import Callable
from math import inf, nan

from parity import reference
from parity.op import Named, Op

TARGETS = {
    "u8": "u8 u32 i64 f16 bf16 f32 f64",
    "u32": "u8 u32 i64 f16 bf16 f32 f64",
    "i64": "u8 u32 i64 f32 f64",
    "f16": "u8 u32 f16 bf16 f32 f64",
    "bf16": "u8 u32 f16 bf16 f32 f64",
    "f32": "u8 u32 i64 f16 bf16 f32 f64",
    "f64": "u8 u32 i64 f16 bf16 f32 f64",
}

POINTS = (
    *(nan, inf, -inf, -1.0, 300.0, 3e9, 1e20, -1e20, 255.9, 256.0, -0.5, 4294967295.0, 2.0**63, -(2.0**63), 2.0**64),
    *(-300.0, 40000.0, 2.0**31, -(2.0**31), 2.0**32, 0.5, 1.5, 255.0, -0.0, 4294967296.5, 16777217.0, 2.0**53 + 2),
    # Where a narrower float overflows (f16 at 65520, bf16 at 3.396e38, f32 at 3.4028236e38) or rounds once too often.
    *(65504.0, 65519.99609375, 65520.0, 3.3895e38, 3.3961775e38, 3.4028235677973366e38, 1e300, 1e-40, 5.9e-8, 2.98e-8),
    *(1.0 + 2.0**-11 + 2.0**-30, 1.0 + 2.0**-8 + 2.0**-40, 1.0 + 2.0**-24 + 2.0**-53, 2049.0, 2051.0, 257.0, 259.0),
)


def only(sources: str, target: str) -> Callable[[str, str], bool]:
    return lambda s, d: s in sources.split() and d == target


def divergence(title: str, sources: str, target: str) -> Named:
    return Named(title, f"x={len(POINTS)}~points@0", only(sources, target))


convert = Op(
    "cast.convert",
    kernel="cast_{S}_{D}",
    types=tuple(f"{source},{target}" for source, targets in TARGETS.items() for target in targets.split()),
    args="numel num_dims info x out",
    inputs={"x": "S"},
    output="D",
    reference=reference.cast,
    points=POINTS,
    named=(
        Named("limits, ties and roundings", f"x={len(POINTS)}~points@0"),
        Named("special values", "x=110~special@0"),
        divergence("D1: f32 to u32 out of range saturates, NaN gives 0", "f32", "u32"),
        divergence("D2: NaN from f64 to u32 is 0x80000000, not 0", "f64", "u32"),
        divergence("D3: f32 to i64 saturates; NaN gives the least value", "f32", "i64"),
        divergence("D4: f64 to i64 saturates; NaN gives the least value", "f64", "i64"),
        divergence("D5: to u8 by way of u32, keeping the low byte", "f32 f64 bf16", "u8"),
        divergence("D6: f16 to u8 by way of u32, keeping the low byte", "f16", "u8"),
    ),
)
