"""Declares textures and surfaces from PTX, the calls in a kernel, and ``cudaTextureDesc`` in host code."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from parity.inference.data_flow import TextureUse

_C_TYPE = re.compile(r"(char|uchar|short|ushort|int|uint|float|half)([124]?)")
_DTYPES = {
    "char": "i8", "signed char": "i8", "uchar": "u8", "unsigned char": "u8", "short": "i16", "ushort": "i16",
    "int": "i32", "uint": "u32", "unsigned": "u32", "unsigned int": "u32", "float": "f32", "half": "f16",
    "__half": "f16",
}  # fmt: skip
"""The dtype of a channel by its C type. parity does not have an unsigned type of 16 bits."""
_OF_PTX = {"f32": ("f32", 1), "s32": ("i32", 1), "u32": ("u32", 1)}
_OF_BITS = {8: "u8", 16: "i16", 32: "f32"}
"""The usual dtype of a surface's channels."""
_SETTING = re.compile(
    r"\b(\w+)\s*(?:\.|->)\s*(filterMode|readMode|normalizedCoords|addressMode\s*\[\s*0\s*\])\s*=\s*([\w:]+)"
)
_CHANNELS = re.compile(r"cudaCreateChannelDesc\s*<\s*([\w ]+?)\s*>")
_MEANINGS = {
    "cudaFilterModeLinear": "linear", "cudaReadModeNormalizedFloat": "normalized_float",
    "cudaAddressModeClamp": "clamp", "cudaAddressModeMirror": "mirror", "cudaAddressModeBorder": "border",
    "cudaAddressModeWrap": "wrap",
}  # fmt: skip
MEMORY = "memory"
"""The declaration of linear memory."""
_DEFAULT_MODE = "wrap"
"""The address mode of a ``cudaTextureDesc`` that the host sets to zeros."""
_EXTENTS = (
    re.compile(
        r"(?i)(?:\w*_)?w(?:idth)?|(?:im(?:age|g)?_?)?(?:w|width)|n_?x|n?cols?|columns?|(?:dim|size)_?x|x_?(?:dim|size)"
    ),
    re.compile(
        r"(?i)(?:\w*_)?h(?:eight)?|(?:im(?:age|g)?_?)?(?:h|height)|n_?y|n?rows?|(?:dim|size)_?y|y_?(?:dim|size)"
    ),
    re.compile(r"(?i)(?:\w*_)?d(?:epth)?|n_?z|slices|layers|(?:dim|size)_?z|z_?(?:dim|size)"),
)
"""The names of numbers that are extents along x, y and z."""


@dataclass(frozen=True)
class TextureText:
    """The declaration of a texture: the words after the tensor's name, and the dtype and the channels of a texel."""

    words: str
    dtype: str
    channels: int


def texture_text(name: str, use: TextureUse, source: str) -> TextureText:
    """Return the declaration of the texture or surface that a parameter or field is. ``source`` has no comments."""
    dtype, channels = _texel(name, use, source)
    if use.memory:
        return TextureText(MEMORY, dtype, channels)
    words = [f"{use.dims}d", *["layered"] * use.layered]
    if use.surface:
        return TextureText(" ".join((*words, "surface")), dtype, channels)
    settings = _settings(source)
    if "normalized_float" in settings and dtype == "f32":
        found = {each[0] for text in _CHANNELS.findall(source) if (each := _c_type(text))} - {"f16", "f32"}
        dtype = found.pop() if len(found) == 1 else "u8"
    return TextureText(" ".join((*words, *settings)), dtype, channels)


def _texel(name: str, use: TextureUse, source: str) -> tuple[str, int]:
    """Return the dtype and the channels of a texel: as a call in the source states its type, or as PTX shows."""
    call = rf"\b(?:tex|surf)\w+\s*<\s*([\w ]+?)\s*>\s*\(\s*(?:&?[\w.]+\s*,\s*)??(?:\w+(?:\.|->))*{re.escape(name)}\b"
    for text in re.findall(call, source):
        if found := _c_type(text):
            return found
    if use.surface:
        return _OF_BITS.get(use.bits, "f32"), use.count if use.bits in _OF_BITS else use.count * use.bits // 32
    return _OF_PTX.get(use.type, _OF_PTX["f32"])


def _c_type(text: str) -> tuple[str, int] | None:
    """Return the dtype and the number of elements of a C type."""
    if text in _DTYPES:
        return _DTYPES[text], 1
    if match := _C_TYPE.fullmatch(text):
        return _DTYPES[match[1]], int(match[2] or 1)
    return None


def _settings(source: str) -> list[str]:
    """Return the words for what host code sets in a ``cudaTextureDesc``: in the first one, if there are several."""
    found = [(field.partition("[")[0].strip(), value) for _, field, value in _first(_SETTING.findall(source))]
    values = dict(reversed(found))
    words = [_MEANINGS[each.rpartition("::")[2]] for each in values.values() if each.rpartition("::")[2] in _MEANINGS]
    if values.get("normalizedCoords", "0") not in ("0", "false"):
        words.append("normalized")
        if found and "addressMode" not in values:
            words.append(_DEFAULT_MODE)
    repeated = {_DEFAULT_MODE, "mirror"} if "normalized" not in words else set()
    return sorted({*words} - {"clamp"} - repeated)


def _first(settings: Iterable[tuple[str, str, str]]) -> list[tuple[str, str, str]]:
    settings = list(settings)
    return [each for each in settings if each[0] == settings[0][0]]


def texture_shape(words: str, channels: int, name: str, numbers: Iterable[str]) -> str:
    """Return the dims of a texture's tensor: integers of the kernel whose names are extents, or else own names."""
    axes = int(words[0])
    known = [next((each for each in numbers if _EXTENTS[k].fullmatch(each)), "") for k in range(3)]
    own = [known[k] or f"{name}_{'whd'[k]}" for k in range(axes)]
    layers = [known[2] or f"{name}_layers"] if "layered" in words else []
    return " ".join((*layers, *reversed(own), *([str(channels)] if channels > 1 else [])))


def shows_size(words: str, name: str, numbers: Iterable[str]) -> bool:
    """Return whether the accesses of a launch show the size of a tensor.

    Of a surface, they do if numbers of the kernel are its extents: it then is a dense array for each launch. A sample
    outside of another texture is not a fault. Without ``words``, the tensor is an array.
    """
    if words in ("", MEMORY):
        return True
    return "surface" in words and {*texture_shape(words, 1, name, numbers).split()} <= {*numbers}


def memory_shape(shape: str, channels: int) -> str:
    """Return the dims of linear memory, whose texels have several channels."""
    count = str(channels)
    if channels == 1 or shape.endswith(f" {count}"):
        return shape
    if shape.isdecimal():
        return f"{-(-int(shape) // channels)} {count}"
    return f"{shape.removeprefix(f'{count}*')} {count}" if shape.startswith(f"{count}*") else f"{shape} {count}"


def object_name(tensor: str) -> str:
    """Return the name of the texture or surface object of a tensor."""
    return f"{tensor}_object"
