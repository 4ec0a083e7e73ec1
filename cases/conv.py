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

Scalar = Callable[[Layouts, Params, Shape], tuple[str, int]]

TYPES = ("u8", "u32", "f16", "bf16", "f32", "f64")
DATA = ("small", "normal", "mixed", "special", "bits")
STRIDED = ("contiguous", "contiguous", "transposed", "sliced", "broadcast", "any")


def positive(layouts: Layouts, params: Params, *names: str) -> str:
    """What is empty, or 0 among the named parameters."""
    for name, each in layouts.items():
        if each.numel == 0:
            return f"{name}={each} is empty"
    return next((f"{name}=0 has to be 1 or more" for name in names if params[name] < 1), "")


def of_rank(layouts: Layouts, rank: int) -> str:
    return next((f"{n}={each} has to be of rank {rank}" for n, each in layouts.items() if len(each.shape) != rank), "")


def not_empty(shape: Shape) -> str:
    return "" if min(shape) >= 1 else f"the output would have shape {shape}"


def extents(**axes: int) -> dict[str, Scalar]:
    """Arguments that are extents of the output, by axis."""
    return {name: lambda layouts, params, shape, axis=axis: ("u64", shape[axis]) for name, axis in axes.items()}


def of_src(axis: int) -> Scalar:
    return lambda layouts, params, shape: ("u64", layouts["src"].shape[axis])


def src_numel(layouts: Layouts, params: Params, shape: Shape) -> tuple[str, int]:
    return "u64", layouts["src"].numel


def only(*types: str) -> Callable[[str], bool]:
    return lambda t: t in types


FLOATS = only("f16", "bf16", "f32", "f64")


@dataclass(frozen=True)
class Sizes:
    """Options to draw from: batches, extents and taps of every axis, channels in and out."""

    batch: tuple[int, ...]
    extents: tuple[int, ...]
    taps: tuple[int, ...]
    channels: tuple[int, ...] = (1,)
    channels_out: tuple[int, ...] = (1,)


# Up to about 20000 multiply-adds, and outputs of one block and of several.
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
    Sizes((1,), (1, 2, 3), (1, 2, 3), (4, 5), (1, 4, 5)),
    Sizes((1,), (9, 31, 33), (1, 2, 3)),
)
SPREAD_IMAGES = (*SMALL_IMAGES, Sizes((1,), (9, 11, 13), (1, 2, 3)))


@dataclass(frozen=True)
class Convolution:
    """The sizes of a convolution, or of its adjoint (``transposed``), along ``rank`` axes."""

    rank: int
    transposed: bool
    sizes: tuple[Sizes, ...]

    def extent(self, size: int, taps: int, params: Params) -> int:
        """Positions of the output along one axis."""
        stride, padding, reach = int(params["stride"]), int(params["padding"]), int(params["dilation"]) * (taps - 1)
        if self.transposed:
            return (size - 1) * stride - 2 * padding + reach + int(params["out_padding"]) + 1
        return (size + 2 * padding - reach - 1) // stride + 1

    def layouts(self, draw: Draw, names: Sequence[str]) -> dict[str, Any]:
        params = {name: pick(draw, (1, 2, 3)) for name in ("stride", "dilation")}
        params |= {name: pick(draw, (0, 1, 2, 3)) for name in ("padding", "out_padding")}
        sizes = pick(draw, self.sizes)
        batch, c_in, c_out = (pick(draw, options) for options in (sizes.batch, sizes.channels, sizes.channels_out))
        taps = [pick(draw, sizes.taps) for _ in range(self.rank)]
        extents = [pick(draw, sizes.extents) for _ in range(self.rank)]
        for axis, count in enumerate(taps):
            while self.extent(extents[axis], count, params) < 1:
                extents[axis] += 1
        channels = (c_in, c_out) if self.transposed else (c_out, c_in)
        return {
            "src": layout(draw, (batch, c_in, *extents), STRIDED),
            "weight": layout(draw, (*channels, *taps), STRIDED),
            **params,
        }

    def fits(self, layouts: Layouts, params: Params) -> str:
        if complaint := of_rank(layouts, 2 + self.rank) or positive(layouts, params, "stride", "dilation"):
            return complaint
        channels, wanted = layouts["src"].shape[1], layouts["weight"].shape[0 if self.transposed else 1]
        if channels != wanted:
            return f"src has {channels} channels, and weight is for {wanted}"
        return not_empty(self.shape(layouts, params))

    def shape(self, layouts: Layouts, params: Params) -> Shape:
        src, weight = layouts["src"].shape, layouts["weight"].shape
        sizes = (self.extent(size, taps, params) for size, taps in zip(src[2:], weight[2:], strict=True))
        return src[0], weight[1 if self.transposed else 0], *sizes

    def info(self, layouts: Layouts, params: Params) -> list[int]:
        return [n for name in ("src", "weight") for n in (*layouts[name].shape, *layouts[name].strides)]

    def operations(self, layouts: Layouts, params: Params, shape: Shape) -> int:
        """Two for each tap that meets an element, and not the padding around it."""
        src, weight = layouts["src"].shape, layouts["weight"].shape
        channels = math.prod(weight[:2])
        outer, inner = (src, shape) if self.transposed else (shape, src)
        meetings = (
            sum(
                0 <= i * int(params["stride"]) - int(params["padding"]) + k * int(params["dilation"]) < reach
                for i in range(count)
                for k in range(taps)
            )
            for count, reach, taps in zip(outer[2:], inner[2:], weight[2:], strict=True)
        )
        return 2 * src[0] * channels * math.prod(meetings)

    def op(self, function: Callable[..., Any], extent_args: dict[str, Scalar], bench: Named, *named: Named) -> Op:
        """The op of that reference function; its kernel has the same name."""
        params = ("stride", "padding", *(("out_padding",) if self.transposed else ()), "dilation")
        return Op(
            f"conv.{function.__name__}",
            kernel=function.__name__ + "_{T}",
            types=TYPES,
            args=" ".join(("src_numel", *extent_args, *params, "info src weight out")),
            inputs={"src": "T", "weight": "T"},
            params=dict.fromkeys(params, "u64"),
            layouts=self.layouts,
            shape=self.shape,
            fits=self.fits,
            info=self.info,
            data=DATA,
            reference=function,
            scalars={"src_numel": src_numel, **extent_args},
            named=named,
            operations=self.operations,
            bench=(bench,),
        )


def case(title: str, src: str, weight: str, data: str = "small", types: Any = None, **params: int) -> Named:
    """A named convolution of these layouts, by default with stride 1, without dilation and padding."""
    given = {"stride": 1, "padding": 0, "dilation": 1, **params}
    tensors = [text if "~" in text else f"{text}~{data}@0" for text in (src, weight)]
    items = {"src": tensors[0], "weight": tensors[1], **given}
    return Named(title, " ".join(f"{name}={value}" for name, value in items.items()), types)


conv1d = Convolution(1, False, SIGNALS).op(
    reference.conv1d,
    extents(l_out=2),
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
conv2d = Convolution(2, False, IMAGES).op(
    reference.conv2d,
    extents(w_out=3, h_out=2),
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
conv_transpose1d = Convolution(1, True, SIGNALS).op(
    reference.conv_transpose1d,
    extents(l_out=2),
    case("signals", "16|1x128|4x2048|17", "128|4x128|4x4", stride=2, padding=1, out_padding=0),
    case("integers show every term", "2x3x9", "3x4x5", padding=2, out_padding=0),
    case("positions that no tap meets", "1x2x5", "2x2x2", stride=3, padding=1, out_padding=2),
    case("stride and dilation have a common factor", "1x2x6", "2x1x3", stride=2, padding=1, out_padding=1, dilation=2),
    case("several blocks", "2x1x301", "1x2x3", "normal", stride=3, out_padding=0),
    case("a transposed weight", "2x3x4", "3x4x2:1,3,12", stride=2, out_padding=0),
)
conv_transpose2d = Convolution(2, True, SPREAD_IMAGES).op(
    reference.conv_transpose2d,
    extents(w_out=3, h_out=2),
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
    name: str,
    params: dict[str, str],
    args: str,
    layouts: Callable[[Draw, Sequence[str]], dict[str, Any]],
    shape: Callable[[Layouts, Params], Shape],
    fits: Callable[[Layouts, Params], str],
    bench: tuple[str, str],
    *named: tuple[Any, ...],
    **more: Any,
) -> Op:
    """An op of one tensor, called like its kernel and its reference function."""
    return Op(
        f"conv.{name}",
        kernel=name + "_{T}",
        types=TYPES,
        args=args,
        inputs={"src": "T"},
        params=params,
        layouts=layouts,
        shape=shape,
        fits=fits,
        null_info=False,
        data=DATA,
        reference=getattr(reference, name),
        named=tuple(Named(*each) for each in named),
        bench=(Named(*bench),),
        **more,
    )


@dataclass(frozen=True)
class Columns:
    """What a convolution sees; ``taps`` are the parameters that say how many along each axis."""

    taps: tuple[str, ...]
    sizes: tuple[Sizes, ...]

    @property
    def params(self) -> dict[str, str]:
        return dict.fromkeys((*self.taps, "stride", "padding", "dilation"), "u64")

    @property
    def convolution(self) -> Convolution:
        return Convolution(len(self.taps), False, self.sizes)

    def layouts(self, draw: Draw, names: Sequence[str]) -> dict[str, Any]:
        drawn = self.convolution.layouts(draw, names)
        return {**drawn, **dict(zip(self.taps, drawn["weight"].shape[2:], strict=True))}

    def fits(self, layouts: Layouts, params: Params) -> str:
        complaint = of_rank(layouts, 2 + len(self.taps)) or positive(layouts, params, *self.taps, "stride", "dilation")
        return complaint or not_empty(self.shape(layouts, params))

    def shape(self, layouts: Layouts, params: Params) -> Shape:
        batch, channels, *sizes = layouts["src"].shape
        taps = [int(params[name]) for name in self.taps]
        out = (self.convolution.extent(size, count, params) for size, count in zip(sizes, taps, strict=True))
        return batch, *out, channels, *taps


def columns_of_all_taps(layouts: Layouts, params: Params, shape: Shape, threads: int | None) -> Grid:
    return elementwise(math.prod(shape[:-1]), threads)


of_signals, of_images = Columns(("l_k",), SIGNALS), Columns(("h_k", "w_k"), IMAGES)
im2col1d = of_image(
    "im2col1d",
    of_signals.params,
    "n_threads l_out l_k stride padding dilation info src out",
    of_signals.layouts,
    of_signals.shape,
    of_signals.fits,
    ("signals", "src=64|1x128|4x4096|33~normal@0 l_k=3 stride=1 padding=1 dilation=1"),
    ("windows hang over both edges", "src=2x3x2~normal@0 l_k=5 stride=1 padding=3 dilation=1"),
    ("dilation with stride", "src=2x2x11~normal@0 l_k=3 stride=2 padding=1 dilation=3"),
    ("several blocks", "src=1x2x700~normal@0 l_k=2 stride=1 padding=1 dilation=1"),
    launch=columns_of_all_taps,
    scalars={"n_threads": lambda layouts, params, shape: ("u64", math.prod(shape[:-1])), **extents(l_out=1)},
)
im2col = of_image(
    "im2col",
    of_images.params,
    "numel h_out w_out h_k w_k stride padding dilation info src out",
    of_images.layouts,
    of_images.shape,
    of_images.fits,
    ("images", "src=32|1x64|4x56|9x56|9~normal@0 h_k=3 w_k=3 stride=1 padding=1 dilation=1"),
    ("windows hang over all edges", "src=1x2x1x2~normal@0 h_k=3 w_k=5 stride=1 padding=3 dilation=1"),
    ("dilation with stride", "src=1x2x9x8~normal@0 h_k=3 w_k=2 stride=2 padding=2 dilation=3"),
    ("rows and columns differ", "src=2x3x4x7~normal@0 h_k=1 w_k=4 stride=1 padding=0 dilation=1"),
    ("several blocks", "src=1x1x17x18~normal@0 h_k=3 w_k=3 stride=1 padding=1 dilation=1"),
    scalars=extents(h_out=1, w_out=2),
)


def columns_of_signals(draw: Draw, names: Sequence[str]) -> dict[str, Any]:
    sizes = pick(draw, SIGNALS)
    shape = tuple(pick(draw, options) for options in (sizes.batch, sizes.extents, sizes.channels, sizes.taps))
    return {"src": contiguous(shape, pick(draw, (0, 1, 3))), "stride": pick(draw, (1, 2, 3))}


def added_columns(layouts: Layouts, params: Params) -> Shape:
    batch, length, channels, taps = layouts["src"].shape
    return batch, channels, (length - 1) * int(params["stride"]) + taps


def columns_fit(layouts: Layouts, params: Params) -> str:
    complaint = of_rank(layouts, 4) or positive(layouts, params, "stride")
    return complaint or ("" if layouts["src"].is_contiguous else "src has to be contiguous")


col2im1d = of_image(
    "col2im1d",
    {"stride": "u64"},
    "numel l_out l_in c_out k_size stride src out",
    columns_of_signals,
    added_columns,
    columns_fit,
    ("signals", "src=64|1x2048|17x128|4x4~small@0 stride=2"),
    ("integers show every term", "src=2x7x3x5~small@0 stride=2"),
    ("gaps between the columns", "src=1x4x2x2~small@0 stride=3"),
    ("half types round at every addition, k ascending", "src=1x5x3x5~normal@0 stride=1"),
    ("several blocks", "src=1x301x2x4~normal@0 stride=2"),
    operations=lambda layouts, params, shape: layouts["src"].numel,
    scalars={**extents(l_out=2), "l_in": of_src(1), "c_out": of_src(2), "k_size": of_src(3)},
)

# Of the axes 2 and 3: the size of the windows and the distance between them.
WINDOWS = (("w_k", "w_stride"), ("h_k", "h_stride"))
POOLED = (
    Sizes((1, 2, 3), (1, 2, 3, 4, 5, 7), (1, 2, 3, 4, 5), (1, 2, 3)),
    Sizes((1, 2, 3), (1, 2, 3, 4, 5, 7), (1, 2, 3, 4, 5), (1, 2, 3)),
    Sizes((1,), (9, 33, 37), (1, 2, 3)),
)


def pool_layouts(draw: Draw, names: Sequence[str]) -> dict[str, Any]:
    sizes = pick(draw, POOLED)
    params = {name: pick(draw, sizes.taps) for name, _ in WINDOWS} | {s: pick(draw, (1, 2, 3)) for _, s in WINDOWS}
    image = (max(pick(draw, sizes.extents), params[name]) for name, _ in WINDOWS)
    return {"src": layout(draw, (pick(draw, sizes.batch), pick(draw, sizes.channels), *image), STRIDED), **params}


def pool_shape(layouts: Layouts, params: Params) -> Shape:
    batch, channels, *sizes = layouts["src"].shape
    counts = ((n - int(params[k])) // int(params[s]) + 1 for n, (k, s) in zip(sizes, WINDOWS, strict=True))
    return batch, channels, *counts


def pool_fits(layouts: Layouts, params: Params) -> str:
    complaint = of_rank(layouts, 4) or positive(layouts, params, *(name for pair in WINDOWS for name in pair))
    return complaint or not_empty(pool_shape(layouts, params))


def pool(name: str, *named: tuple[Any, ...]) -> Op:
    return of_image(
        name,
        dict.fromkeys(("w_k", "h_k", "w_stride", "h_stride"), "u64"),
        "src_numel w_k h_k w_stride h_stride info src out",
        pool_layouts,
        pool_shape,
        pool_fits,
        ("images", "src=32|1x64|4x112|13x112|13~small@0 w_k=3 h_k=3 w_stride=2 h_stride=2"),
        ("w goes with axis 2, h with axis 3", "src=1x2x7x5~normal@0 w_k=3 h_k=2 w_stride=2 h_stride=1"),
        ("the rest of an axis is left out", "src=2x1x8x6~normal@0 w_k=3 h_k=4 w_stride=3 h_stride=3"),
        ("several blocks", "src=1x3x21x36~normal@0 w_k=2 h_k=2 w_stride=1 h_stride=1"),
        *named,
        operations=lambda layouts, params, shape: math.prod(shape) * int(params["w_k"]) * int(params["h_k"]),
        scalars={"src_numel": src_numel},
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
    ("D7: NaN beside numbers", "src=1x1x9x10~special@0 w_k=2 h_k=2 w_stride=1 h_stride=1", FLOATS),
    ("D7: NaN first and alone", "src=1x1x1x200~bits@0 w_k=1 h_k=1 w_stride=1 h_stride=1", only("f16", "bf16")),
)


def resized(draw: Draw) -> dict[str, Any]:
    small = pick(draw, (True, True, True, False))
    sizes = (1, 2, 3, 4, 5, 7) if small else (9, 31, 33)
    image = (pick(draw, sizes), pick(draw, sizes))
    src = layout(draw, (pick(draw, (1, 2)), pick(draw, (1, 2, 3)) if small else 1, *image), STRIDED)
    return {"src": src, "w_out": pick(draw, sizes), "h_out": pick(draw, sizes)}


FACTORS = (2.0, 1.0, 0.5, 3.0, 1.5, 1 / 3, 0.7, 2.3, 10.0)


def nearest_layouts(draw: Draw, names: Sequence[str]) -> dict[str, Any]:
    drawn = resized(draw)
    sizes = zip(drawn["src"].shape[2:], (drawn["w_out"], drawn["h_out"]), strict=True)
    scales = [before / after for before, after in sizes]
    if pick(draw, (False, False, True)):  # not the host's rule
        scales = [pick(draw, FACTORS) for _ in scales]
    return {**drawn, "w_scale": scales[0], "h_scale": scales[1]}


def nearest_shape(layouts: Layouts, params: Params) -> Shape:
    return *layouts["src"].shape[:2], int(params["w_out"]), int(params["h_out"])


def nearest_fits(layouts: Layouts, params: Params) -> str:
    if complaint := of_rank(layouts, 4) or positive(layouts, params, "w_out", "h_out"):
        return complaint
    wrong = (name for name in ("w_scale", "h_scale") if not 0 <= params[name] <= 2.0**32)
    return next((f"{name}={params[name]} has to lie between 0 and 2^32" for name in wrong), "")


upsample_nearest2d = of_image(
    "upsample_nearest2d",
    {"w_out": "u64", "h_out": "u64", "w_scale": "f64", "h_scale": "f64"},
    "w_out h_out w_scale h_scale info src out",
    nearest_layouts,
    nearest_shape,
    nearest_fits,
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


def bilinear_layouts(draw: Draw, names: Sequence[str]) -> dict[str, Any]:
    drawn = resized(draw) | {"align_corners": pick(draw, (0, 1))}
    for axis in ("h", "w"):
        given = pick(draw, (0, 0, 1))
        drawn |= {f"has_scale_{axis}": given, f"scale_{axis}": pick(draw, FACTORS) if given else 0.0}
    return drawn


def bilinear_shape(layouts: Layouts, params: Params) -> Shape:
    return *layouts["src"].shape[:2], int(params["h_out"]), int(params["w_out"])


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


FACTOR_ARGS = {"has_scale_h": "u8", "scale_h": "f64", "has_scale_w": "u8", "scale_w": "f64"}
NOT_GIVEN = "has_scale_h=0 scale_h=0.0 has_scale_w=0 scale_w=0.0"
upsample_bilinear2d = of_image(
    "upsample_bilinear2d",
    {"w_out": "u64", "h_out": "u64", "align_corners": "u8", **FACTOR_ARGS},  # a bool is a byte
    "w_out h_out align_corners has_scale_h scale_h has_scale_w scale_w info src out",
    bilinear_layouts,
    bilinear_shape,
    bilinear_fits,
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
    operations=lambda layouts, params, shape: 7 * math.prod(shape),  # three interpolations, without the weights
)
