"""conv.cu: convolutions of signals and images, im2col, pooling, resampling."""

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from parity import reference
from parity.op import CaseView, NamedCase, Op

TYPES = ("u8", "u32", "f16", "bf16", "f32", "f64")
DATA = ("small", "normal", "mixed", "special", "bits")


def only(*types: str) -> Callable[[str], bool]:
    return lambda t: t in types


FLOATS = only("f16", "bf16", "f32", "f64")


@dataclass(frozen=True)
class Sizes:
    """Values to draw from: batches, extents and taps of each axis, input and output channels."""

    batch: tuple[int, ...]
    extents: tuple[int, ...]
    taps: tuple[int, ...]
    channels: tuple[int, ...] = (1,)
    channels_out: tuple[int, ...] = (1,)

    def choices(self, axes: str) -> dict[str, Sequence[int]]:
        """Return these values by the names of their symbols, for axes with these one-letter names."""
        extents = dict.fromkeys(axes, self.extents) | {f"{axis}_k": self.taps for axis in axes}
        steps = {"stride": (1, 2, 3), "dilation": (1, 2, 3), "padding": (0, 1, 2, 3)}
        return {"n": self.batch, "c_in": self.channels, "c_out": self.channels_out, **extents, **steps}


# Up to about 20,000 multiply-adds, with outputs of one block and of several blocks.
SIGNALS = (
    Sizes((1, 2, 3), (1, 2, 3, 4, 5, 8), (1, 2, 3, 4, 5), (1, 2, 3, 5), (1, 2, 3, 5)),
    Sizes((1, 2, 3), (1, 2, 3, 4, 5, 8), (1, 2, 3, 4, 5), (1, 2, 3, 5), (1, 2, 3, 5)),
    Sizes((1, 2), (31, 32, 33, 63, 65), (1, 2, 3), (1, 3), (1, 2, 4)),
    Sizes((1,), (257, 1023, 1025), (1, 3, 5), (1, 2)),
)
SMALL_IMAGES = (
    Sizes((1, 2), (1, 2, 3, 4, 5), (1, 2, 3), (1, 2, 3), (1, 2, 3)),
    Sizes((1, 2, 3), (1, 2, 3, 4), (1, 2, 3), (1, 2, 3), (1, 2)),
    Sizes((1,), (3, 4, 5, 7), (4, 5), (1, 2), (1, 2)),
)
IMAGES = (
    *SMALL_IMAGES,
    Sizes((1,), (33, 9, 31), (1, 2, 3)),
    Sizes((1,), (1, 2, 3), (1, 2, 3), (4, 5), (1, 4, 5)),
    Sizes((1,), (33, 9, 31), (1, 2, 3)),
)
SPREAD_IMAGES = (*SMALL_IMAGES, Sizes((1,), (9, 11, 13), (1, 2, 3)))


WINDOWS = "(l + 2*padding - dilation*(l_k - 1) - 1)//stride + 1"
SPREAD = "(l - 1)*stride - 2*padding + dilation*(l_k - 1) + out_padding + 1"
STEPS = "stride > 0 and dilation > 0 and src.numel > 0"


def extents(axes: str, formula: str) -> str:
    """Return the definitions of the output extents, from a formula for the axis ``l``."""
    names = {"l": "{0}", "l_k": "{0}_k"}
    pattern = re.sub(r"\bl(_k)?\b", lambda match: names[match[0]], formula)
    return "".join(f"; {axis}_out = {pattern.format(axis)}" for axis in axes)


def some(axes: str) -> str:
    """Return the condition that the output is not empty."""
    return "".join(f" and {axis}_out > 0" for axis in axes)


def meetings(given: CaseView) -> int:
    """Count the operations of a convolution: two for each tap on an element, none for taps in the padding."""
    (batch, _, *size), weight = given.layouts["src"].shape, given.layouts["weight"].shape
    outer, inner = (size, given.shape[2:]) if "out_padding" in given.params else (given.shape[2:], size)
    met = (
        sum(
            0 <= i * given["stride"] - given["padding"] + k * given["dilation"] < reach
            for i in range(count)
            for k in range(taps)
        )
        for count, reach, taps in zip(outer, inner, weight[2:], strict=True)
    )
    return 2 * batch * math.prod(weight[:2]) * math.prod(met)


def convolution(
    function: Callable[..., Any], axes: str, formula: str, sizes: tuple[Sizes, ...], bench: NamedCase, *named: NamedCase
) -> Op:
    """Declare a convolution along these axes. Op, kernel and reference function have the same name."""
    src, taps, out = (" ".join(f"{axis}{end}" for axis in axes) for end in ("", "_k", "_out"))
    spread = "out_padding" in formula
    params = ("stride", "padding", *(("out_padding",) if spread else ()), "dilation")
    weight = "c_in c_out" if spread else "c_out c_in"
    more = {"out_padding": (0, 1, 2, 3)} if spread else {}
    return Op(
        f"conv.{function.__name__}",
        kernel=function.__name__ + "_{T}",
        types=TYPES,
        args=f"src_numel=src.numel {' '.join(reversed(out.split()))} {' '.join(params)} info src weight out",
        inputs={"src": "T", "weight": "T"},
        params=dict.fromkeys(params, "u64"),
        shapes=f"src: n c_in {src}; weight: {weight} {taps}; out: n c_out {out}{extents(axes, formula)}",
        where=f"{STEPS} and weight.numel > 0{some(axes)}",
        choices=tuple({**each.choices(axes), **more} for each in sizes),
        info="src.shape src.strides weight.shape weight.strides",
        data=DATA,
        reference=function,
        named=named,
        operations=meetings,
        bench=(bench,),
    )


def case(title: str, src: str, weight: str, data: str = "small", types: Any = None, **params: int) -> NamedCase:
    """Return a named case with these layouts. By default, the stride is 1, without dilation and padding."""
    given = {"stride": 1, "padding": 0, "dilation": 1, **params}
    tensors = [text if "~" in text else f"{text}~{data}@0" for text in (src, weight)]
    items = {"src": tensors[0], "weight": tensors[1], **given}
    return NamedCase(title, " ".join(f"{name}={value}" for name, value in items.items()), types)


conv1d = convolution(
    reference.conv1d,
    "l",
    WINDOWS,
    SIGNALS,
    case("signals", "16|1x128|4x4096|33", "128|4x128|4x3", padding=1),
    case("integers show every term", "2x3x17", "4x3x5", padding=2),
    case("dilation spreads taps, not positions", "1x2x9", "2x2x3", stride=2, padding=1, dilation=3),
    case("windows hang over both edges", "1x1x2", "1x1x5", padding=3),
    case("a kernel longer than the signal", "1x2x1", "3x2x5", "mixed", padding=2),
    case("several blocks", "1x2x1030", "2x2x3", "normal", padding=1),
    case("a transposed weight", "2x3x9", "4x3x5:1,4,12", dilation=2),
    case("the second of two groups of channels", "2x2x9:36,9,1+18", "2x2x3:6,3,1+12", padding=1),
    case("products that round once", "1x1x64", "1x1x1~bits@7", "bits"),
)
conv2d = convolution(
    reference.conv2d,
    "hw",
    WINDOWS,
    IMAGES,
    case("images", "32|1x64|4x56|9x56|9", "64|4x64|4x3x3", padding=1),
    case("integers show every term", "2x3x5x7", "4x3x3x2", padding=1),
    case("taps of rows and of columns", "1x1x3x9", "1x1x2x5"),
    case("dilation with stride", "1x2x9x8", "2x2x3x2", stride=2, padding=2, dilation=3),
    case("windows hang over all edges", "1x1x1x2", "2x1x3x5", padding=3),
    case("several blocks", "2x1x20x33", "1x1x3x3", "normal", padding=1),
    case("a transposed weight", "1x3x4x4", "2x3x3x2:1,2,12,6", padding=1),
    case("the second of two groups of channels", "2x2x3x4:48,12,4,1+24", "2x2x2x2:8,4,2,1+16", padding=1),
    case(
        "a weight off the edge is not used, be it infinite",
        "1x2x3x3",
        "2x2x3x3~special@60",
        "normal",
        FLOATS,
        padding=2,
    ),
)
conv_transpose1d = convolution(
    reference.conv_transpose1d,
    "l",
    SPREAD,
    SIGNALS,
    case("signals", "16|1x128|4x2048|17", "128|4x128|4x4", stride=2, padding=1, out_padding=0),
    case("integers show every term", "2x3x9", "3x4x5", padding=2, out_padding=0),
    case("positions that no tap meets", "1x2x5", "2x2x2", stride=3, padding=1, out_padding=2),
    case("stride and dilation have a common factor", "1x2x6", "2x1x3", stride=2, padding=1, out_padding=1, dilation=2),
    case("several blocks", "2x1x301", "1x2x3", "normal", stride=3, out_padding=0),
    case("a transposed weight", "2x3x4", "3x4x2:1,3,12", stride=2, out_padding=0),
)
conv_transpose2d = convolution(
    reference.conv_transpose2d,
    "hw",
    SPREAD,
    SPREAD_IMAGES,
    case("images", "32|1x64|4x28|5x28|5", "64|4x64|4x4x4", stride=2, padding=1, out_padding=0),
    case("integers show every term", "2x3x3x4", "3x4x3x2", padding=1, out_padding=0),
    case("positions that no tap meets", "1x2x3x2", "2x2x1x2", stride=3, out_padding=2),
    case(
        "stride and dilation have a common factor", "1x2x4x3", "2x1x3x2", stride=2, padding=1, out_padding=1, dilation=2
    ),
    case("several blocks", "1x1x17x19", "1x1x3x2", "normal", stride=2, out_padding=1),
    case("a transposed weight", "1x3x3x3", "3x2x2x3:1,3,18,6", stride=2, padding=1, out_padding=0),
)


def of_image(
    name: str, params: dict[str, str], args: str, shapes: str, where: str, choices: Any, *named: Any, **more: Any
) -> Op:
    """Declare an op on one tensor. Op, kernel and reference function have the same name; the first case is measured."""
    bench, *others = named
    return Op(
        f"conv.{name}",
        kernel=name + "_{T}",
        types=TYPES,
        args=args,
        inputs={"src": "T"},
        params=params,
        shapes=shapes,
        where=where,
        choices=choices,
        null_info=False,
        data=DATA,
        reference=getattr(reference, name),
        named=tuple(NamedCase(*each) for each in others),
        bench=(NamedCase(*bench),),
        **more,
    )


def columns(name: str, axes: str, args: str, sizes: tuple[Sizes, ...], *named: Any, **more: Any) -> Op:
    """Declare an im2col kernel."""
    src, taps, out = (" ".join(f"{axis}{end}" for axis in axes) for end in ("", "_k", "_out"))
    options = (each.choices(axes) for each in sizes)
    return of_image(
        name,
        dict.fromkeys((*taps.split(), "stride", "padding", "dilation"), "u64"),
        f"{args} {taps} stride padding dilation info src out",
        f"src: n c_in {src}; out: n {out} c_in {taps}"
        f"{extents(axes, WINDOWS)}; n_threads = n*{'*'.join(out.split())}*c_in",
        f"{STEPS}{''.join(f' and {axis}_k > 0' for axis in axes)}{some(axes)}",
        tuple({name: each for name, each in option.items() if name != "c_out"} for option in options),
        *named,
        **more,
    )


im2col1d = columns(
    "im2col1d",
    "l",
    "n_threads l_out",
    SIGNALS,
    ("signals", "src=64|1x128|4x4096|33~normal@0 l_k=3 stride=1 padding=1 dilation=1"),
    ("windows hang over both edges", "src=2x3x2~normal@0 l_k=5 stride=1 padding=3 dilation=1"),
    ("dilation with stride", "src=2x2x11~normal@0 l_k=3 stride=2 padding=1 dilation=3"),
    ("several blocks", "src=1x2x700~normal@0 l_k=2 stride=1 padding=1 dilation=1"),
    grid="ceil(n_threads/threads)",  # one thread for all taps of a position
)
im2col = columns(
    "im2col",
    "hw",
    "numel h_out w_out",
    IMAGES,
    ("images", "src=32|1x64|4x56|9x56|9~normal@0 h_k=3 w_k=3 stride=1 padding=1 dilation=1"),
    ("windows hang over all edges", "src=1x2x1x2~normal@0 h_k=3 w_k=5 stride=1 padding=3 dilation=1"),
    ("dilation with stride", "src=1x2x9x8~normal@0 h_k=3 w_k=2 stride=2 padding=2 dilation=3"),
    ("rows and columns differ", "src=2x3x4x7~normal@0 h_k=1 w_k=4 stride=1 padding=0 dilation=1"),
    ("several blocks", "src=1x1x17x18~normal@0 h_k=3 w_k=3 stride=1 padding=1 dilation=1"),
)


col2im1d = of_image(
    "col2im1d",
    {"stride": "u64"},
    "numel l_out l c_out l_k stride src out",
    "src: n l c_out l_k; out: n c_out l_out; l_out = (l - 1)*stride + l_k",
    "stride > 0 and src.numel > 0",
    tuple({"n": s.batch, "l": s.extents, "c_out": s.channels, "l_k": s.taps, "stride": (1, 2, 3)} for s in SIGNALS),
    ("signals", "src=64|1x2048|17x128|4x4~small@0 stride=2"),
    ("integers show every term", "src=2x7x3x5~small@0 stride=2"),
    ("gaps between the columns", "src=1x4x2x2~small@0 stride=3"),
    ("half types round at every addition, k ascending", "src=1x5x3x5~normal@0 stride=1"),
    ("several blocks", "src=1x301x2x4~normal@0 stride=2"),
    operations="src.numel",
)

POOLED = (
    Sizes((1, 2, 3), (1, 2, 3, 4, 5, 7), (1, 2, 3, 4, 5), (1, 2, 3)),
    Sizes((1, 2, 3), (1, 2, 3, 4, 5, 7), (1, 2, 3, 4, 5), (1, 2, 3)),
    Sizes((1,), (9, 33, 37), (1, 2, 3)),
)


def pool(name: str, *named: tuple[Any, ...]) -> Op:
    steps = {"w_stride": (1, 2, 3), "h_stride": (1, 2, 3)}
    return of_image(
        name,
        dict.fromkeys(("w_k", "h_k", "w_stride", "h_stride"), "u64"),
        "src_numel=src.numel w_k h_k w_stride h_stride info src out",
        "src: n c_in w h; out: n c_in w_out h_out; w_out = (w - w_k)//w_stride + 1; h_out = (h - h_k)//h_stride + 1",
        f"w_k > 0 and h_k > 0 and w_stride > 0 and h_stride > 0 and src.numel > 0{some('wh')}",
        tuple(
            {"n": s.batch, "c_in": s.channels, "w": s.extents, "h": s.extents, "w_k": s.taps, "h_k": s.taps, **steps}
            for s in POOLED
        ),
        ("images", "src=32|1x64|4x112|13x112|13~small@0 w_k=3 h_k=3 w_stride=2 h_stride=2"),
        ("w goes with axis 2, h with axis 3", "src=1x2x7x5~normal@0 w_k=3 h_k=2 w_stride=2 h_stride=1"),
        ("the rest of an axis is left out", "src=2x1x8x6~normal@0 w_k=3 h_k=4 w_stride=3 h_stride=3"),
        ("several blocks", "src=1x3x21x36~normal@0 w_k=2 h_k=2 w_stride=1 h_stride=1"),
        *named,
        operations="numel*w_k*h_k",
    )


avg_pool2d = pool(
    "avg_pool2d",
    ("integers show every term", "src=2x3x6x8~small@0 w_k=2 h_k=4 w_stride=2 h_stride=4"),
    ("sums of u8 wrap", "src=1x1x6x6~bits@0 w_k=3 h_k=3 w_stride=1 h_stride=1", only("u8")),
    ("the factor is an f32", "src=1x1x6x6~normal@0 w_k=3 h_k=1 w_stride=1 h_stride=1", only("f64")),
    ("sums above 2^24", "src=1x1x6x6~bits@0 w_k=3 h_k=3 w_stride=1 h_stride=1", only("u32")),
)
max_pool2d = pool(
    "max_pool2d",
    ("NaN beside numbers", "src=1x1x9x10~special@0 w_k=2 h_k=2 w_stride=1 h_stride=1", FLOATS, "D7"),
    ("NaN first and alone", "src=1x1x1x200~bits@0 w_k=1 h_k=1 w_stride=1 h_stride=1", only("f16", "bf16"), "D7"),
)


SIDES = ("w", "h", "w_out", "h_out")
FEW: dict[str, Any] = {"n": (1, 2), "c": (1, 2, 3), **dict.fromkeys(SIDES, (1, 2, 3, 4, 5, 7))}
RESIZED = (FEW, FEW, FEW, {"n": (1, 2), "c": (1,), **dict.fromkeys(SIDES, (9, 31, 33))})
FACTORS = (2.0, 1.0, 0.5, 3.0, 1.5, 1 / 3, 0.7, 2.3, 10.0)
RULE = {"w_scale": ("w/w_out",), "h_scale": ("h/h_out",)}  # the host's
ANOTHER = {"w_scale": FACTORS, "h_scale": FACTORS}
IMAGE = "src.numel > 0 and w_out > 0 and h_out > 0"

upsample_nearest2d = of_image(
    "upsample_nearest2d",
    {"w_out": "u64", "h_out": "u64", "w_scale": "f64", "h_scale": "f64"},
    "w_out h_out w_scale h_scale info src out",
    "src: n c w h; out: n c w_out h_out",
    f"{IMAGE} and 0 <= w_scale <= 4294967296 and 0 <= h_scale <= 4294967296",
    tuple({**sizes, **scales} for sizes in RESIZED for scales in (RULE, RULE, ANOTHER)),
    ("images", "src=32|1x64|4x56|9x56|9~normal@0 w_out=112|18 h_out=112|18 w_scale=0.5 h_scale=0.5"),
    (
        "w goes with axis 2, h with axis 3",
        "src=2x3x2x5~normal@0 w_out=6 h_out=5 w_scale=0.3333333333333333 h_scale=1.0",
    ),
    (
        "49 times 2 / 98 is below 1 in f64",
        "src=1x2x2x3~small@0 w_out=98 h_out=2 w_scale=0.02040816326530612 h_scale=1.5",
    ),
    ("the last position is clamped", "src=1x1x3x4~small@0 w_out=4 h_out=4 w_scale=1.0 h_scale=1.7"),
    ("several blocks", "src=1x2x9x9~normal@0 w_out=36 h_out=31 w_scale=0.25 h_scale=0.2903225806451613"),
)


def given_or_not(axis: str) -> tuple[dict[str, Any], ...]:
    not_given = {f"has_scale_{axis}": (0,), f"scale_{axis}": (0.0,)}
    return not_given, not_given, {f"has_scale_{axis}": (1,), f"scale_{axis}": FACTORS}


FACTOR_ARGS = {"has_scale_h": "u8", "scale_h": "f64", "has_scale_w": "u8", "scale_w": "f64"}
NOT_GIVEN = "has_scale_h=0 scale_h=0.0 has_scale_w=0 scale_w=0.0"
upsample_bilinear2d = of_image(
    "upsample_bilinear2d",
    {"w_out": "u64", "h_out": "u64", "align_corners": "u8", **FACTOR_ARGS},  # a bool is a byte
    "w_out h_out align_corners has_scale_h scale_h has_scale_w scale_w info src out",
    "src: n c h w; out: n c h_out w_out",
    f"{IMAGE} and align_corners < 2 and has_scale_h < 2 and has_scale_w < 2"
    " and (not has_scale_h or 1/4294967296 <= scale_h <= 4294967296)"
    " and (not has_scale_w or 1/4294967296 <= scale_w <= 4294967296)",
    tuple(
        {**sizes, "align_corners": (0, 1), **h, **w}
        for sizes in RESIZED
        for h in given_or_not("h")
        for w in given_or_not("w")
    ),
    ("images", f"src=32|1x64|4x56|9x56|9~normal@0 w_out=112|18 h_out=112|18 align_corners=0 {NOT_GIVEN}"),
    ("corners aligned", f"src=2x3x3x5~normal@0 w_out=9 h_out=7 align_corners=1 {NOT_GIVEN}"),
    ("corners not aligned", f"src=2x3x3x5~normal@0 w_out=9 h_out=7 align_corners=0 {NOT_GIVEN}"),
    ("to one element, corners aligned", f"src=1x1x4x4~normal@0 w_out=1 h_out=1 align_corners=1 {NOT_GIVEN}"),
    ("the same size copies", f"src=1x2x5x6~bits@0 w_out=6 h_out=5 align_corners=0 {NOT_GIVEN}"),
    ("twice the size", f"src=1x2x4x3~small@0 w_out=6 h_out=8 align_corners=0 {NOT_GIVEN}"),
    (
        "factors given",
        "src=1x1x4x5~normal@0 w_out=11 h_out=6 align_corners=0 has_scale_h=1 scale_h=1.5 has_scale_w=1 scale_w=2.3",
    ),
    (
        "a factor for columns only",
        "src=1x1x4x5~normal@0 w_out=11 h_out=6 align_corners=0 has_scale_h=0 scale_h=0.0 has_scale_w=1 scale_w=2.3",
    ),
    ("several blocks", f"src=1x1x9x9~normal@0 w_out=36 h_out=33 align_corners=0 {NOT_GIVEN}"),
    operations="7 * numel",  # three interpolations, not counting the weights
)
