"""Textures and surfaces: how a kernel reads, and writes, a tensor through an object that has its extents and format."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import Literal

from parity.errors import UsageError
from parity.model.dtypes import DType

AddressMode = Literal["wrap", "clamp", "mirror", "border"]
ADDRESS_MODES: tuple[AddressMode, ...] = ("wrap", "clamp", "mirror", "border")
"""What a texture returns outside of its tensor, in the order of CUDA's and HIP's enumerations."""

_CLAMP_FIELDS = {"wrap": 0, "mirror": 1, "clamp": 2, "border": 6}
"""The values of CLAMP_X (RDNA3 ISA, "Sampler Resource")."""
_UNNORMALIZED, _LINEAR = 1 << 15, 1 << 20 | 1 << 22
"""FORCE_UNNORMALIZED in word 0, and XY_MAG_FILTER and XY_MIN_FILTER in word 2 of a sampler."""
_IMAGE = 3 << 30
_CHANNEL_TYPES = {"i8": 8, "i16": 9, "i32": 10, "u8": 11, "u32": 13, "f16": 14, "f32": 15}
"""HSA's hsa_ext_image_channel_type_t, which HIP's functions of surfaces read. The keys are the dtypes of texels."""
_CHANNEL_ORDERS = {1: 1, 2: 3, 4: 8}
"""HSA's hsa_ext_image_channel_order_t by the number of channels: R, RG, RGBA."""

MOST, MOST_LAYERS = 1 << 14, 1 << 13
"""Most texels along x and y, and along z or layers, on AMD GPUs (RDNA3 ISA, "Image Resource Descriptor")."""

TEXELS = tuple(_CHANNEL_TYPES)
"""The dtypes of texels."""


@dataclass(frozen=True)
class TextureSpec:
    """The declaration of a texture or surface object.

    Attributes:
        tensor: the name of the tensor.
        dims: axes of a texel's position, without layers.
        layered: whether the first axis of the tensor counts layers.
        surface: whether the object is a surface, which a kernel may write.
        memory: whether the texture is linear memory (``tex1Dfetch``).
        linear: whether samples are interpolated.
        address: what samples outside of the tensor return.
        normalized: whether coordinates are 0 to 1.
        normalized_float: whether integers are read as numbers from 0 (or -1) to 1.
    """

    tensor: str
    dims: int
    layered: bool = False
    surface: bool = False
    memory: bool = False
    linear: bool = False
    address: AddressMode = "clamp"
    normalized: bool = False
    normalized_float: bool = False


@dataclass(frozen=True)
class Texture:
    """A texture or surface of a tensor with these ``extents`` (x, y, z), ``layers`` and ``channels``."""

    spec: TextureSpec
    dtype: DType
    extents: tuple[int, ...]
    layers: int
    channels: int

    def record(self, address: int = 0) -> bytes:
        """Return the 64 bytes of the emulator's texture object for a tensor at an address.

        Source: ``emulator/runtime/images.h``.
        """
        spec, bits = self.spec, 8 * self.dtype.itemsize
        kind = "f" if self.dtype.is_float else "i" if self.dtype.min < 0 else "u"
        if spec.normalized_float and kind != "f":
            kind = "N" if kind == "i" else "n"
        width, height, depth = (*self.extents, 1, 1)[:3]
        row = width * self.channels * self.dtype.itemsize
        form = (
            _IMAGE
            | spec.memory << 20
            | spec.layered << 19
            | spec.dims << 17
            | bits << 11
            | self.channels << 8
            | ord(kind)
        )
        plane = width if spec.memory else width - 1 | height - 1 << 14
        image = (
            address & 0xFFFFFFFF,
            address >> 32,
            plane,
            form,
            (self.layers if spec.layered else depth) - 1,
            0,
            row,
            row * height,
        )
        formats = _CHANNEL_TYPES[self.dtype.name], _CHANNEL_ORDERS[self.channels], width, 0
        mode = spec.address if spec.normalized or spec.address == "border" else "clamp"  # as CUDA documents
        clamps = sum(_CLAMP_FIELDS[mode] << 3 * k for k in range(3)) | (0 if spec.normalized else _UNNORMALIZED)
        sampler = clamps, 0, _LINEAR if spec.linear else 0, 0
        return struct.pack("<16I", *image, *formats, *sampler)

    def dense(self, address: int) -> bytes:
        """Return the object of a surface without bounds and with the same distance between rows."""
        words = bytearray(self.record(address))
        words[8:12] = struct.pack("<I", (MOST - 1) << 14 | MOST - 1)
        words[16:20] = struct.pack("<I", MOST_LAYERS - 1)
        return bytes(words)


def parse_texture(text: str) -> TextureSpec:
    """Parse the declaration of a texture: ``"image 2d linear clamp"``.

    The words after the tensor: ``1d``, ``2d``, ``3d`` or ``memory``; then, in any order, ``layered``, ``surface``,
    ``linear``, an address mode, ``normalized`` (coordinates) and ``normalized_float`` (values).

    Raises:
        UsageError: a word is unknown, or words contradict each other.
    """
    tensor, shape, *words = text.split() if len(text.split()) > 1 else (text, "")
    if shape not in ("1d", "2d", "3d", "memory"):
        raise UsageError(f"{text!r} is not a texture; write the tensor, then 1d, 2d, 3d or memory: 'image 2d linear'")
    flags = ("layered", "surface", "linear", "normalized", "normalized_float")
    if unknown := next((word for word in words if word not in (*flags, *ADDRESS_MODES)), None):
        raise UsageError(f"unknown word {unknown!r} in {text!r}; the words are {', '.join((*flags, *ADDRESS_MODES))}")
    memory = shape == "memory"
    if (memory and words) or ("surface" in words and len(words) > 1 + ("layered" in words)):
        raise UsageError(
            f"{text!r}: {'linear memory' if memory else 'a surface'} is not sampled, so it has no further words"
        )
    if "layered" in words and shape == "3d":
        raise UsageError(f"{text!r}: only 1d and 2d textures have layers")
    modes: list[AddressMode] = [mode for mode in ADDRESS_MODES if mode in words]
    if len(modes) > 1:
        raise UsageError(f"{text!r} has two address modes: {' and '.join(modes)}")
    return TextureSpec(
        tensor, 1 if memory else int(shape[0]), memory=memory, address=modes[0] if modes else "clamp",
        **{flag: flag in words for flag in flags},
    )  # fmt: skip


def texture_of(spec: TextureSpec, dtype: DType, shape: tuple[int, ...]) -> Texture:
    """Return the texture of a contiguous tensor. The last axis may be the channels.

    Raises:
        UsageError: the dtype or the shape do not fit.
    """
    axes = spec.dims + spec.layered
    channels = shape[-1] if len(shape) == axes + 1 else 1
    if dtype.name not in TEXELS:
        raise UsageError(f"{spec.tensor} is {dtype}; a texture holds {', '.join(TEXELS)}")
    if len(shape) not in (axes, axes + 1) or channels not in _CHANNEL_ORDERS:
        raise UsageError(
            f"{spec.tensor} has the shape {shape}; its texture needs {axes} axes, and perhaps one of 1, 2 or 4 channels"
        )
    if 0 in shape:
        raise UsageError(f"{spec.tensor} has the shape {shape}; a texture is not empty")
    layers = shape[0] if spec.layered else 0
    extents = shape[spec.layered : axes][::-1]
    if not spec.memory and (max(extents[:2]) > MOST or max(layers, *extents[2:], 0) > MOST_LAYERS):
        raise UsageError(
            f"{spec.tensor} has the shape {shape}; a texture on AMD GPUs has up to {MOST} texels along x and y, and "
            f"{MOST_LAYERS} along z and layers"
        )
    return Texture(spec, dtype, extents, layers, channels)
