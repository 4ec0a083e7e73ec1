"""ternary.cu: where(condition, on_true, on_false)."""

from parity import reference
from parity.op import NamedCase, Op

TYPES = ("u8", "u32", "i64", "f16", "bf16", "f32", "f64")

where = Op(
    "ternary.where",
    kernel="where_{C}_{T}",
    types=(
        *(f"{c},{t}" for c in ("u8", "u32", "i64") for t in TYPES),
        *(f"{c},f8_e4m3" for c in ("u8", "u32", "i16", "i32", "i64")),
    ),
    spelling={"f8_e4m3": "fp8_e4m3"},
    args="numel num_dims info condition on_true on_false out",
    inputs={"condition": "C", "on_true": "T", "on_false": "T"},
    data=("unit", "mixed", "special", "bits"),
    null_info=False,  # the host always passes the three stride arrays
    reference=reference.where,
    named=(
        NamedCase(
            "only the low byte, or only the high word, of a condition is set",
            "condition=60~special@0 on_true=60~normal@0 on_false=60~normal@0",
        ),
    ),
)
