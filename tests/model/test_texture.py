"""The declaration of textures, and texture objects of the emulator."""

import struct

import pytest

from parity.errors import UsageError
from parity.model.dtypes import dtype
from parity.model.texture import TextureSpec, parse_texture, texture_of


def test_words_of_a_texture():
    assert parse_texture("image 2d") == TextureSpec("image", 2)
    assert parse_texture("image 1d layered wrap linear normalized") == TextureSpec(
        "image", 1, layered=True, linear=True, address="wrap", normalized=True
    )
    assert parse_texture("image 3d surface") == TextureSpec("image", 3, surface=True)
    assert parse_texture("table memory") == TextureSpec("table", 1, memory=True)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("image", "'image' is not a texture; write the tensor, then 1d, 2d, 3d or memory"),
        ("", "'' is not a texture"),
        ("image 4d", "'image 4d' is not a texture"),
        ("image 2d lineal", "unknown word 'lineal'"),
        ("image 2d wrap clamp", "has two address modes: wrap and clamp"),
        ("image 2d surface linear", "a surface is not sampled"),
        ("image memory linear", "linear memory is not sampled"),
        ("image 3d layered", "only 1d and 2d textures have layers"),
    ],
)
def test_wrong_words_are_refused(text, message):
    with pytest.raises(UsageError, match=message):
        parse_texture(text)


@pytest.mark.parametrize(
    ("text", "kind", "shape", "message"),
    [
        ("image 2d", "f64", (4, 4), "image is f64; a texture holds"),
        ("image 2d", "f32", (4,), "needs 2 axes"),
        ("image 2d", "f32", (4, 4, 3), "1, 2 or 4 channels"),
        ("image 2d", "f32", (4, 0), "a texture is not empty"),
        ("image 2d", "f32", (16385, 1), "up to 16384 texels along x and y"),
        ("image 3d", "f32", (8193, 1, 1), "8192 along z and layers"),
    ],
)
def test_tensor_that_is_no_texture_is_refused(text, kind, shape, message):
    with pytest.raises(UsageError, match=message):
        texture_of(parse_texture(text), dtype(kind), shape)


def test_extents_channels_and_layers():
    found = texture_of(parse_texture("image 2d layered"), dtype("u8"), (3, 5, 7, 4))
    assert (found.extents, found.layers, found.channels) == ((7, 5), 3, 4)
    large = texture_of(parse_texture("table memory"), dtype("f32"), (1 << 20, 2))
    assert (large.extents, large.channels) == ((1 << 20,), 2)


def test_device_library_of_amd_finds_extents_and_sampler():
    """ockl reads the height from word 2, the depth from word 4, the width from word 10, and the sampler."""
    words = struct.unpack("<16I", texture_of(parse_texture("image 3d linear"), dtype("f32"), (9, 5, 7)).record())
    assert (words[2] & 0x3FFF, words[2] >> 14, words[4], words[10]) == (6, 4, 8, 7)
    assert words[12] >> 15 & 1, "unnormalized"
    assert words[14] >> 20 & 1, "linear"
    words = struct.unpack("<16I", texture_of(parse_texture("image 1d wrap normalized"), dtype("f32"), (9,)).record())
    assert (words[12], words[14]) == (0, 0)


def test_only_normalized_coordinates_repeat():
    """CUDA C++ Programming Guide, "Texture Object API": other coordinates are clamped."""
    image = dtype("f32"), (4, 4)
    assert texture_of(parse_texture("i 2d wrap"), *image).record() == texture_of(parse_texture("i 2d"), *image).record()
