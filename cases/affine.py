"""affine.cu: out = x * mul + add, with or without FMA contraction."""

from parity import reference
from parity.op import NamedCase, Op

affine = Op(
    "affine.affine",
    kernel="affine_{T}",
    types=("f16", "bf16", "f32", "f64", "f8_e4m3", "u8", "u32", "i16", "i32", "i64"),
    args="numel num_dims info x out mul add",
    inputs={"x": "T"},
    params={"mul": "T", "add": "T"},
    in_place="x",
    reference=reference.affine,
    points=(1.0, -1.0, 3.0, 1 / 3, 0.1, 255.0, 256.0, 65504.0, 1e-7, 16777217.0),
    named=(
        NamedCase(
            "x * x - 1 cancels, so fused and unfused results differ",
            "x=10~points@0 mul=0.333251953125 add=-1.0",
            lambda t: t == "f16",
            divergence="D10",
        ),
        NamedCase("x * 0.1 - 0.01 cancels", "x=10~points@0 mul=0.1 add=-0.01", lambda t: t in ("f32", "f64"), "D10"),
        NamedCase(
            "bf16 x * y + z in one or two roundings",
            "x=200~normal@0 mul=1.1015625 add=-0.5",
            lambda t: t == "bf16",
            divergence="D17",
        ),
        NamedCase(
            "f16 x * y + z in one or two roundings",
            "x=200~normal@0 mul=1.099609375 add=-0.5",
            lambda t: t == "f16",
            divergence="D18",
        ),
        NamedCase("every f8", "x=256~patterns@0 mul=1.5 add=-1.0", lambda t: t == "f8_e4m3"),
        NamedCase("every f8, with subnormal results", "x=256~patterns@0 mul=0.125 add=0.0", lambda t: t == "f8_e4m3"),
        NamedCase("products and sums wrap", "x=70~special@0 mul=127 add=100", lambda t: t[0] in "ui", divergence="D24"),
    ),
)
