"""conv.cu: convolutions of signals and images, columns, pools, resampling."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from parity import reference
from parity.generate import Draw, pick
from parity.generate.layouts import layout
from parity.launch import Grid, elementwise
from parity.layout import contiguous
from parity.op import Layouts, Named, Op, Params, Shape

TYPES = ("u8", "u32", "f16", "bf16", "f32", "f64")
DATA = ("small", "normal", "mixed", "special", "bits")
STRIDED = ("contiguous", "contiguous", "transposed", "sliced", "broadcast", "any")

Drawn = Callable[[Draw, Sequence[str]], dict[str, Any]]
Scalars = dict[str, Callable[[Layouts, Params, Shape], tuple[str, int]]]


def positive(layouts: Layouts, params: Params, *names: str) -> str:
    """What is empty, or 0 among the named parameters."""
    for name, each in layouts.items():
        if each.numel == 0:
            return f"{name}={each} is empty"
    return next((f"{name}=0 has to be 1 or more" for name in names if params[name] < 1), "")


def of_rank(layouts: Layouts, rank: int) -> str:
    return next((f"{n}={each} has to be of rank {rank}" for n, each in layouts.items() if len(each.shape) != rank), "")


def extents(**axes: int) -> Scalars:
    """Arguments that are extents of the output, by axis."""
    return {name: lambda layouts, params, shape, axis=axis: ("u64", shape[axis]) for name, axis in axes.items()}


def numel(layouts: Layouts, params: Params, shape: Shape) -> tuple[str, int]:
    return "u64", layouts["src"].numel


def only(*types: str) -> Callable[[str], bool]:
    return lambda t: t in types


FLOATS = only("f16", "bf16", "f32", "f64")


@dataclass(frozen=True)
class Sizes:
    """Options to draw from: batches, channels in and out, extents and taps of every axis."""

    batch: tuple[int, ...] = (1,)
    channels: tuple[int, ...] = (1,)
    channels_out: tuple[int, ...] = (1,)
    extents: tuple[int, ...] = (1,)
    taps: tuple[int, ...] = (1,)


SIGNALS = (
    Sizes((1, 2, 3), (1, 2, 3, 5), (1, 2, 3, 5), (1, 2, 3, 4, 5, 8), (1, 2, 3, 4, 5)),
    Sizes((1, 2, 3), (1, 2, 3, 5), (1, 2, 3, 5), (1, 2, 3, 4, 5, 8), (1, 2, 3, 4, 5)),
    Sizes((1, 2), (1, 3), (1, 2, 4), (31, 32, 33, 63, 65), (1, 2, 3)),
    Sizes((1,), (1, 2), (1,), (257, 1023, 1025), (1, 3, 5)),
)
IMAGES = (
    Sizes((1, 2), (1, 2, 3), (1, 2, 3), (1, 2, 3, 4, 5), (1, 2, 3)),
    Sizes((1, 2, 3), (1, 2, 3), (1, 2), (1, 2, 3, 4), (1, 2, 3)),
    Sizes((1,), (4, 5), (1, 4, 5), (1, 2, 3), (1, 2, 3)),
    Sizes((1,), (1, 2), (1, 2), (3, 4, 5, 7), (4, 5)),
    Sizes((1,), (1,), (1,), (9, 31, 33), (1, 2, 3)),
)
SPREAD_IMAGES = (*IMAGES[:2], IMAGES[3], Sizes((1,), (1,), (1,), (9, 11, 13), (1, 2, 3)))


@dataclass(frozen=True)
class Convolution:
    """The sizes of a convolution, or of its adjoint (``transposed``), along ``rank`` axes."""

    rank: int
    transposed: bool
    sizes: tuple[Sizes, ...]

    def extent(self, size: int, taps: int, params: Params) -> int:
        """Positions of the output along one axis."""
        stride, padding, reach = (int(params[n]) for n in ("stride", "padding", "dilation"))
        reach *= taps - 1
        if self.transposed:
            return (size - 1) * stride - 2 * padding + reach + int(params["out_padding"]) + 1
        return (size + 2 * padding - reach - 1) // stride + 1

    def layouts(self, draw: Draw, names: Sequence[str]) -> dict[str, Any]:
        params = {name: pick(draw, (1, 2, 3)) for name in ("stride", "dilation")}
        params |= {name: pick(draw, (0, 1, 2, 3)) for name in ("padding", "out_padding")}
        sizes = pick(draw, self.sizes)
        batch, channels_in, channels_out = (
            pick(draw, options) for options in (sizes.batch, sizes.channels, sizes.channels_out)
        )
        taps = [pick(draw, sizes.taps) for _ in range(self.rank)]
        extents = [pick(draw, sizes.extents) for _ in range(self.rank)]
        for axis, count in enumerate(taps):
            while self.extent(extents[axis], count, params) < 1:
                extents[axis] += 1
        channels = (channels_in, channels_out) if self.transposed else (channels_out, channels_in)
        return {
            "src": layout(draw, (batch, channels_in, *extents), STRIDED),
            "weight": layout(draw, (*channels, *taps), STRIDED),
            **params,
        }

    def fits(self, layouts: Layouts, params: Params) -> str:
        if complaint := of_rank(layouts, 2 + self.rank) or positive(layouts, params, "stride", "dilation"):
            return complaint
        src, weight = layouts["src"].shape, layouts["weight"].shape
        expected = weight[0 if self.transposed else 1]
        if src[1] != expected:
            return f"src has {src[1]} channels and weight is for {expected}"
        return f"the output would have shape {shape}" if min(shape := self.shape(layouts, params)) < 1 else ""

    def shape(self, layouts: Layouts, params: Params) -> Shape:
        src, weight = layouts["src"].shape, layouts["weight"].shape
        sizes = (self.extent(size, taps, params) for size, taps in zip(src[2:], weight[2:], strict=True))
        return src[0], weight[1 if self.transposed else 0], *sizes

    def info(self, layouts: Layouts, params: Params) -> list[int]:
        return [n for name in ("src", "weight") for n in (*layouts[name].shape, *layouts[name].strides)]


def convolution(
    name: str, function: Callable[..., Any], how: Convolution, args: str, scalars: Scalars, named: tuple[Named, ...]
) -> Op:
    words = ("stride", "padding", *(("out_padding",) if how.transposed else ()), "dilation")
    return Op(
        f"conv.{name}",
        kernel=name + "_{T}",
        types=TYPES,
        args=f"src_numel {args} {' '.join(words)} info src weight out",
        inputs={"src": "T", "weight": "T"},
        params=dict.fromkeys(words, "u64"),
        layouts=how.layouts,
        shape=how.shape,
        fits=how.fits,
        info=how.info,
        data=DATA,
        reference=function,
        scalars={"src_numel": numel, **scalars},
        named=named,
    )


conv1d = convolution(
    "conv1d",
    reference.conv1d,
    Convolution(1, False, SIGNALS),
    "l_out",
    extents(l_out=2),
    (
        Named("integers show every term", "src=2x3x17~small@0 weight=4x3x5~small@0 stride=1 padding=2 dilation=1"),
        Named("dilation spreads the taps only", "src=1x2x9~small@0 weight=2x2x3~small@0 stride=2 padding=1 dilation=3"),
        Named("windows hang over both edges", "src=1x1x2~small@0 weight=1x1x5~small@0 stride=1 padding=3 dilation=1"),
        Named(
            "a kernel longer than the signal", "src=1x2x1~mixed@0 weight=3x2x5~mixed@0 stride=1 padding=2 dilation=1"
        ),
        Named("several blocks", "src=1x2x1030~normal@0 weight=2x2x3~normal@0 stride=1 padding=1 dilation=1"),
        Named("a transposed weight", "src=2x3x9~small@0 weight=4x3x5:1,4,12~small@0 stride=1 padding=0 dilation=2"),
        Named(
            "the second of two groups of channels",
            "src=2x2x9:36,9,1+18~small@0 weight=2x2x3:6,3,1+12~small@0 stride=1 padding=1 dilation=1",
        ),
        Named("a product that rounds", "src=1x1x64~bits@0 weight=1x1x1~bits@7 stride=1 padding=0 dilation=1"),
    ),
)
conv2d = convolution(
    "conv2d",
    reference.conv2d,
    Convolution(2, False, IMAGES),
    "w_out h_out",
    extents(w_out=3, h_out=2),
    (
        Named(
            "integers show every term",
            "src=2x3x5x7~small@0 weight=4x3x3x2~small@0 stride=1 padding=1 dilation=1",
        ),
        Named("taps of rows and columns", "src=1x1x3x9~small@0 weight=1x1x2x5~small@0 stride=1 padding=0 dilation=1"),
        Named("dilation with stride", "src=1x2x9x8~small@0 weight=2x2x3x2~small@0 stride=2 padding=2 dilation=3"),
        Named(
            "windows hang over all edges", "src=1x1x1x2~small@0 weight=2x1x3x5~small@0 stride=1 padding=3 dilation=1"
        ),
        Named("several blocks", "src=2x1x20x33~normal@0 weight=1x1x3x3~normal@0 stride=1 padding=1 dilation=1"),
        Named(
            "a transposed weight",
            "src=1x3x4x4~small@0 weight=2x3x3x2:1,2,12,6~small@0 stride=1 padding=1 dilation=1",
        ),
        Named(
            "the second of two groups of channels",
            "src=2x2x3x4:48,12,4,1+24~small@0 weight=2x2x2x2:8,4,2,1+16~small@0 stride=1 padding=1 dilation=1",
        ),
        Named(
            "a weight off the edge is not used, be it infinite",
            "src=1x2x3x3~normal@0 weight=2x2x3x3~special@60 stride=1 padding=2 dilation=1",
            FLOATS,
        ),
    ),
)
conv_transpose1d = convolution(
    "conv_transpose1d",
    reference.conv_transpose1d,
    Convolution(1, True, SIGNALS),
    "l_out",
    extents(l_out=2),
    (
        Named(
            "integers show every term",
            "src=2x3x9~small@0 weight=3x4x5~small@0 stride=1 padding=2 out_padding=0 dilation=1",
        ),
        Named(
            "only every third position meets a tap",
            "src=1x2x5~small@0 weight=2x2x2~small@0 stride=3 padding=1 out_padding=2 dilation=1",
        ),
        Named(
            "stride and dilation have a common factor",
            "src=1x2x6~small@0 weight=2x1x3~small@0 stride=2 padding=1 out_padding=1 dilation=2",
        ),
        Named(
            "several blocks", "src=2x1x301~normal@0 weight=1x2x3~normal@0 stride=3 padding=0 out_padding=0 dilation=1"
        ),
        Named(
            "a transposed weight",
            "src=2x3x4~small@0 weight=3x4x2:1,3,12~small@0 stride=2 padding=0 out_padding=0 dilation=1",
        ),
    ),
)
conv_transpose2d = convolution(
    "conv_transpose2d",
    reference.conv_transpose2d,
    Convolution(2, True, SPREAD_IMAGES),
    "w_out h_out",
    extents(w_out=3, h_out=2),
    (
        Named(
            "integers show every term",
            "src=2x3x3x4~small@0 weight=3x4x3x2~small@0 stride=1 padding=1 out_padding=0 dilation=1",
        ),
        Named(
            "most positions meet no tap",
            "src=1x2x3x2~small@0 weight=2x2x1x2~small@0 stride=3 padding=0 out_padding=2 dilation=1",
        ),
        Named(
            "stride and dilation have a common factor",
            "src=1x2x4x3~small@0 weight=2x1x3x2~small@0 stride=2 padding=1 out_padding=1 dilation=2",
        ),
        Named(
            "several blocks",
            "src=1x1x17x19~normal@0 weight=1x1x3x2~normal@0 stride=2 padding=0 out_padding=1 dilation=1",
        ),
        Named(
            "a transposed weight",
            "src=1x3x3x3~small@0 weight=3x2x2x3:1,3,18,6~small@0 stride=2 padding=1 out_padding=0 dilation=1",
        ),
    ),
)


@dataclass(frozen=True)
class Columns:
    """The sizes of what a convolution along ``taps`` (names of parameters) sees."""

    taps: tuple[str, ...]
    sizes: tuple[Sizes, ...]

    @property
    def _convolution(self) -> Convolution:
        return Convolution(len(self.taps), False, self.sizes)

    def layouts(self, draw: Draw, names: Sequence[str]) -> dict[str, Any]:
        drawn = self._convolution.layouts(draw, names)
        return {**drawn, **dict(zip(self.taps, drawn["weight"].shape[2:], strict=True))}

    def fits(self, layouts: Layouts, params: Params) -> str:
        complaint = positive(layouts, params, *self.taps, "stride", "dilation")
        if complaint := complaint or of_rank(layouts, 2 + len(self.taps)):
            return complaint
        return f"the output would have shape {shape}" if min(shape := self.shape(layouts, params)) < 1 else ""

    def shape(self, layouts: Layouts, params: Params) -> Shape:
        batch, channels, *sizes = layouts["src"].shape
        taps = [int(params[name]) for name in self.taps]
        out = (self._convolution.extent(size, count, params) for size, count in zip(sizes, taps, strict=True))
        return batch, *out, channels, *taps


def per_signal_position(layouts: Layouts, params: Params, shape: Shape, threads: int | None) -> Grid:
    """One thread for all taps of an output position and channel."""
    return elementwise(math.prod(shape[:-1]), threads)


im2col1d = Op(
    "conv.im2col1d",
    kernel="im2col1d_{T}",
    types=TYPES,
    args="n_threads l_out l_k stride padding dilation info src out",
    inputs={"src": "T"},
    params=dict.fromkeys(("l_k", "stride", "padding", "dilation"), "u64"),
    layouts=Columns(("l_k",), SIGNALS).layouts,
    shape=Columns(("l_k",), SIGNALS).shape,
    fits=Columns(("l_k",), SIGNALS).fits,
    launch=per_signal_position,
    null_info=False,
    data=DATA,
    reference=reference.im2col1d,
    scalars={"n_threads": lambda layouts, params, shape: ("u64", math.prod(shape[:-1])), **extents(l_out=1)},
    named=(
        Named("windows hang over both edges", "src=2x3x2~normal@0 l_k=5 stride=1 padding=3 dilation=1"),
        Named("dilation with stride", "src=2x2x11~normal@0 l_k=3 stride=2 padding=1 dilation=3"),
        Named("several blocks", "src=1x2x700~normal@0 l_k=2 stride=1 padding=1 dilation=1"),
    ),
)
im2col = Op(
    "conv.im2col",
    kernel="im2col_{T}",
    types=TYPES,
    args="numel h_out w_out h_k w_k stride padding dilation info src out",
    inputs={"src": "T"},
    params=dict.fromkeys(("h_k", "w_k", "stride", "padding", "dilation"), "u64"),
    layouts=Columns(("h_k", "w_k"), IMAGES).layouts,
    shape=Columns(("h_k", "w_k"), IMAGES).shape,
    fits=Columns(("h_k", "w_k"), IMAGES).fits,
    null_info=False,
    data=DATA,
    reference=reference.im2col,
    scalars=extents(h_out=1, w_out=2),
    named=(
        Named("windows hang over all edges", "src=1x2x1x2~normal@0 h_k=3 w_k=5 stride=1 padding=3 dilation=1"),
        Named("dilation with stride", "src=1x2x9x8~normal@0 h_k=3 w_k=2 stride=2 padding=2 dilation=3"),
        Named("rows and columns differ", "src=2x3x4x7~normal@0 h_k=1 w_k=4 stride=1 padding=0 dilation=1"),
        Named("several blocks", "src=1x1x17x18~normal@0 h_k=3 w_k=3 stride=1 padding=1 dilation=1"),
    ),
)


def columns_of_signals(draw: Draw, names: Sequence[str]) -> dict[str, Any]:
    sizes = pick(draw, SIGNALS)
    shape = tuple(pick(draw, options) for options in (sizes.batch, sizes.extents, sizes.channels, sizes.taps))
    return {"src": contiguous(shape, pick(draw, (0, 1, 3))), "stride": pick(draw, (1, 2, 3))}


def columns_fit(layouts: Layouts, params: Params) -> str:
    complaint = of_rank(layouts, 4) or positive(layouts, params, "stride")
    return complaint or ("" if layouts["src"].is_contiguous else "src has to be contiguous")


def added_columns(layouts: Layouts, params: Params) -> Shape:
    batch, length, channels, taps = layouts["src"].shape
    return batch, channels, (length - 1) * int(params["stride"]) + taps


def of_src(axis: int) -> Callable[[Layouts, Params, Shape], tuple[str, int]]:
    return lambda layouts, params, shape: ("u64", layouts["src"].shape[axis])


col2im1d = Op(
    "conv.col2im1d",
    kernel="col2im1d_{T}",
    types=TYPES,
    args="numel l_out l_in c_out k_size stride src out",
    inputs={"src": "T"},
    params={"stride": "u64"},
    layouts=columns_of_signals,
    shape=added_columns,
    fits=columns_fit,
    data=DATA,
    reference=reference.col2im1d,
    scalars={**extents(l_out=2), "l_in": of_src(1), "c_out": of_src(2), "k_size": of_src(3)},
    named=(
        Named("integers show every term", "src=2x7x3x5~small@0 stride=2"),
        Named("gaps between the columns", "src=1x4x2x2~small@0 stride=3"),
        Named("half types round at every addition, k ascending", "src=1x5x3x5~normal@0 stride=1"),
        Named("several blocks", "src=1x301x2x4~normal@0 stride=2"),
    ),
)


POOLED = (
    Sizes((1, 2, 3), (1, 2, 3), extents=(1, 2, 3, 4, 5, 7), taps=(1, 2, 3, 4, 5)),
    Sizes((1, 2, 3), (1, 2, 3), extents=(1, 2, 3, 4, 5, 7), taps=(1, 2, 3, 4, 5)),
    Sizes((1,), (1,), extents=(9, 33, 37), taps=(1, 2, 3)),
)
WINDOWS = (("w_k", "w_stride"), ("h_k", "h_stride"))


def pool_layouts(draw: Draw, names: Sequence[str]) -> dict[str, Any]:
    sizes = pick(draw, POOLED)
    params = {name: pick(draw, sizes.taps) for name, _ in WINDOWS} | {s: pick(draw, (1, 2, 3)) for _, s in WINDOWS}
    extents = (max(pick(draw, sizes.extents), params[name]) for name, _ in WINDOWS)
    shape = (pick(draw, sizes.batch), pick(draw, sizes.channels), *extents)
    return {"src": layout(draw, shape, STRIDED), **params}


def pool_fits(layouts: Layouts, params: Params) -> str:
    if complaint := of_rank(layouts, 4) or positive(layouts, params, *(name for pair in WINDOWS for name in pair)):
        return complaint
    sizes = layouts["src"].shape[2:]
    small = (f"{k}={params[k]} is beyond {n}" for n, (k, _) in zip(sizes, WINDOWS, strict=True) if params[k] > n)
    return next(small, "")


def pool_shape(layouts: Layouts, params: Params) -> Shape:
    batch, channels, *sizes = layouts["src"].shape
    counts = ((n - int(params[k])) // int(params[s]) + 1 for n, (k, s) in zip(sizes, WINDOWS, strict=True))
    return batch, channels, *counts


def pool(name: str, function: Callable[..., Any], *named: Named) -> Op:
    return Op(
        f"conv.{name}",
        kernel=name + "_{T}",
        types=TYPES,
        args="src_numel w_k h_k w_stride h_stride info src out",
        inputs={"src": "T"},
        params=dict.fromkeys(("w_k", "h_k", "w_stride", "h_stride"), "u64"),
        layouts=pool_layouts,
        shape=pool_shape,
        fits=pool_fits,
        null_info=False,
        data=DATA,
        reference=function,
        scalars={"src_numel": numel},
        named=(
            Named("w goes with axis 2, h with axis 3", "src=1x2x7x5~normal@0 w_k=3 h_k=2 w_stride=2 h_stride=1"),
            Named("the rest of an axis is left out", "src=2x1x8x6~normal@0 w_k=3 h_k=4 w_stride=3 h_stride=3"),
            Named("several blocks", "src=1x3x21x36~normal@0 w_k=2 h_k=2 w_stride=1 h_stride=1"),
            *named,
        ),
    )


avg_pool2d = pool(
    "avg_pool2d",
    reference.avg_pool2d,
    Named("integers show every term", "src=2x3x6x8~small@0 w_k=2 h_k=4 w_stride=2 h_stride=4"),
    Named("sums of u8 wrap", "src=1x1x6x6~bits@0 w_k=3 h_k=3 w_stride=1 h_stride=1", only("u8")),
    Named("the factor is an f32", "src=1x1x6x6~normal@0 w_k=3 h_k=1 w_stride=1 h_stride=1", only("f64")),
    Named("sums above 2^24", "src=1x1x6x6~bits@0 w_k=3 h_k=3 w_stride=1 h_stride=1", only("u32")),
)
max_pool2d = pool(
    "max_pool2d",
    reference.max_pool2d,
    Named("D7: NaN beside numbers", "src=1x1x9x10~special@0 w_k=2 h_k=2 w_stride=1 h_stride=1", FLOATS),
    Named("D7: NaN first and alone", "src=1x1x1x200~bits@0 w_k=1 h_k=1 w_stride=1 h_stride=1", only("f16", "bf16")),
    Named("all below zero", "src=1x1x2x20~points@0 w_k=2 h_k=3 w_stride=1 h_stride=2", FLOATS),
)


def resampled(layouts: Layouts, params: Params) -> tuple[Shape, int, int]:
    return layouts["src"].shape[:2], int(params["w_out"]), int(params["h_out"])


def resized(draw: Draw) -> dict[str, Any]:
    small = pick(draw, (True, True, True, False))
    options = (1, 2, 3, 4, 5, 7) if small else (9, 31, 33)
    names = ("w_out", "h_out")
    shape = (pick(draw, (1, 2)), pick(draw, (1, 2, 3)) if small else 1, *(pick(draw, options) for _ in names))
    return {"src": layout(draw, shape, STRIDED), **{name: pick(draw, options) for name in names}}


FACTORS = (2.0, 1.0, 0.5, 3.0, 1.5, 1 / 3, 0.7, 2.3, 10.0)


def nearest_layouts(draw: Draw, names: Sequence[str]) -> dict[str, Any]:
    drawn = resized(draw)
    sizes = drawn["src"].shape[2:]
    scales = [n / drawn[out] for n, out in zip(sizes, ("w_out", "h_out"), strict=True)]
    if pick(draw, (False, False, True)):  # not the host's rule
        scales = [pick(draw, FACTORS) for _ in scales]
    return {**drawn, "w_scale": scales[0], "h_scale": scales[1]}


def nearest_fits(layouts: Layouts, params: Params) -> str:
    if complaint := of_rank(layouts, 4) or positive(layouts, params, "w_out", "h_out"):
        return complaint
    bad = (n for n in ("w_scale", "h_scale") if not 0 <= params[n] <= 2.0**32)
    return next((f"{name}={params[name]} has to lie between 0 and 2^32" for name in bad), "")


def nearest_shape(layouts: Layouts, params: Params) -> Shape:
    return *layouts["src"].shape[:2], int(params["w_out"]), int(params["h_out"])


upsample_nearest2d = Op(
    "conv.upsample_nearest2d",
    kernel="upsample_nearest2d_{T}",
    types=TYPES,
    args="w_out h_out w_scale h_scale info src out",
    inputs={"src": "T"},
    params={"w_out": "u64", "h_out": "u64", "w_scale": "f64", "h_scale": "f64"},
    layouts=nearest_layouts,
    shape=nearest_shape,
    fits=nearest_fits,
    null_info=False,
    data=DATA,
    reference=reference.upsample_nearest2d,
    named=(
        Named(
            "w goes with axis 2, h with axis 3",
            "src=2x3x2x5~normal@0 w_out=6 h_out=5 w_scale=0.3333333333333333 h_scale=1.0",
        ),
        Named(
            "49 times 2 / 98 is below 1 in f64",
            "src=1x2x2x3~small@0 w_out=98 h_out=2 w_scale=0.02040816326530612 h_scale=1.5",
        ),
        Named("the last position is clamped", "src=1x1x3x4~small@0 w_out=4 h_out=4 w_scale=1.0 h_scale=1.7"),
        Named("several blocks", "src=1x2x9x9~normal@0 w_out=36 h_out=31 w_scale=0.25 h_scale=0.2903225806451613"),
    ),
)


def bilinear_layouts(draw: Draw, names: Sequence[str]) -> dict[str, Any]:
    drawn = resized(draw) | {"align_corners": pick(draw, (0, 1))}
    for axis in ("h", "w"):
        given = pick(draw, (0, 0, 1))
        drawn |= {f"has_scale_{axis}": given, f"scale_{axis}": pick(draw, FACTORS) if given else 0.0}
    return drawn


def bilinear_fits(layouts: Layouts, params: Params) -> str:
    if complaint := of_rank(layouts, 4) or positive(layouts, params, "w_out", "h_out"):
        return complaint
    for name in ("align_corners", "has_scale_h", "has_scale_w"):
        if params[name] not in (0, 1):
            return f"{name}={params[name]} has to be 0 or 1"
    for axis in ("h", "w"):
        if params[f"has_scale_{axis}"] and not 2.0**-32 <= params[f"scale_{axis}"] <= 2.0**32:
            return f"scale_{axis}={params[f'scale_{axis}']} has to lie between 2^-32 and 2^32"
    return ""


def bilinear_shape(layouts: Layouts, params: Params) -> Shape:
    return *layouts["src"].shape[:2], int(params["h_out"]), int(params["w_out"])


NOT_GIVEN = "has_scale_h=0 scale_h=0.0 has_scale_w=0 scale_w=0.0"
upsample_bilinear2d = Op(
    "conv.upsample_bilinear2d",
    kernel="upsample_bilinear2d_{T}",
    types=TYPES,
    args="w_out h_out align_corners has_scale_h scale_h has_scale_w scale_w info src out",
    inputs={"src": "T"},
    params={
        "w_out": "u64",
        "h_out": "u64",
        "align_corners": "u8",
        "has_scale_h": "u8",
        "scale_h": "f64",
        "has_scale_w": "u8",
        "scale_w": "f64",
    },
    layouts=bilinear_layouts,
    shape=bilinear_shape,
    fits=bilinear_fits,
    null_info=False,
    data=DATA,
    reference=reference.upsample_bilinear2d,
    named=(
        Named("corners aligned", f"src=2x3x3x5~normal@0 w_out=9 h_out=7 align_corners=1 {NOT_GIVEN}"),
        Named("corners not aligned", f"src=2x3x3x5~normal@0 w_out=9 h_out=7 align_corners=0 {NOT_GIVEN}"),
        Named("one row, corners aligned", f"src=1x1x4x4~normal@0 w_out=1 h_out=1 align_corners=1 {NOT_GIVEN}"),
        Named("the same size copies", f"src=1x2x5x6~bits@0 w_out=6 h_out=5 align_corners=0 {NOT_GIVEN}"),
        Named("twice the size", f"src=1x2x4x3~small@0 w_out=6 h_out=8 align_corners=0 {NOT_GIVEN}"),
        Named(
            "factors given",
            "src=1x1x4x5~normal@0 w_out=11 h_out=6 align_corners=0 has_scale_h=1 scale_h=1.5 has_scale_w=1 scale_w=2.3",
        ),
        Named(
            "a factor for columns only",
            "src=1x1x4x5~normal@0 w_out=11 h_out=6 align_corners=0 has_scale_h=0 scale_h=0.0 has_scale_w=1 scale_w=2.3",
        ),
        Named("several blocks", f"src=1x1x9x9~normal@0 w_out=36 h_out=33 align_corners=0 {NOT_GIVEN}"),
    ),
)
