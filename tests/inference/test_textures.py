"""What PTX, calls and host code show of textures."""

import pytest

from parity.inference.data_flow import TextureUse
from parity.inference.ptx_dataflow import flows
from parity.inference.textures import TextureText, memory_shape, shows_size, texture_shape, texture_text

PTX = """
.version 8.0
.target sm_90
.address_size 64
.visible .entry k(.param .u64 k_param_0, .param .u64 k_param_1, .param .u64 k_param_2, .param .u64 k_param_3)
{
    .reg .f32 %f<9>; .reg .b32 %r<4>; .reg .b16 %rs<5>; .reg .b64 %rd<5>;
    ld.param.u64 %rd1, [k_param_0]; ld.param.u64 %rd2, [k_param_1]; ld.param.u64 %rd3, [k_param_2];
    ld.param.u64 %rd4, [k_param_3];
    mov.u32 %r1, %tid.x; mov.u32 %r2, %tid.y;
    tex.a2d.v4.f32.f32 {%f1, %f2, %f3, %f4}, [%rd1, {%r1, %f5, %f6, %f6}];
    tex.1d.v4.u32.s32 {%r3, %r3, %r3, %r3}, [%rd2, {%r1}];
    suld.b.2d.v4.b8.trap {%rs1, %rs2, %rs3, %rs4}, [%rd3, {%r1, %r2}];
    sust.b.2d.v4.b8.trap [%rd3, {%r1, %r2}], {%rs1, %rs2, %rs3, %rs4};
    sust.b.3d.b32.zero [%rd4, {%r1, %r2, %r1, %r1}], {%r3};
    ret;
}
"""
IMAGE = TextureUse(2)


def test_uses_in_ptx():
    flow = flows(PTX)["k"]
    assert flow.textures == {
        (0, 0): TextureUse(2, layered=True),
        (1, 0): TextureUse(1, memory=True, type="u32"),
        (2, 0): TextureUse(2, surface=True, writes=True, type="b32", count=4, bits=8),
        (3, 0): TextureUse(3, surface=True, reads=False, writes=True, type="b32"),
    }
    assert flow.thread_axes == {"x", "y"}


@pytest.mark.parametrize(
    ("use", "source", "expected"),
    [
        (IMAGE, "v = tex2D<float4>(image, x, y);", TextureText("2d", "f32", 4)),
        (IMAGE, "tex2D<uchar2>(&v, in.image, x, y);", TextureText("2d", "u8", 2)),
        (IMAGE, "tex2D<unsigned char>(other, 1, 1); tex2D<float>(image, 1, 1);", TextureText("2d", "f32", 1)),
        (TextureUse(1, memory=True, type="s32"), "", TextureText("memory", "i32", 1)),
        (TextureUse(3, surface=True, count=4, bits=8), "", TextureText("3d surface", "u8", 4)),
        (TextureUse(2, surface=True, count=1, bits=64), "", TextureText("2d surface", "f32", 2)),
    ],
)
def test_texels_are_what_calls_or_instructions_show(use, source, expected):
    assert texture_text("image", use, source) == expected


@pytest.mark.parametrize(
    ("host", "words", "dtype"),
    [
        ("d.filterMode = cudaFilterModeLinear;", "2d linear", "f32"),
        ("d.normalizedCoords = true;", "2d normalized wrap", "f32"),
        ("d->normalizedCoords = 1; d->addressMode[0] = cudaAddressModeClamp;", "2d normalized", "f32"),
        ("d.addressMode[0] = cudaAddressModeWrap; d.normalizedCoords = 0;", "2d", "f32"),
        ("a.filterMode = cudaFilterModePoint; b.filterMode = cudaFilterModeLinear;", "2d", "f32"),
        ("d.readMode = cudaReadModeNormalizedFloat;", "2d normalized_float", "u8"),
        ("cudaCreateChannelDesc<short2>(); d.readMode = cudaReadModeNormalizedFloat;", "2d normalized_float", "i16"),
    ],
)
def test_settings_of_host(host, words, dtype):
    found = texture_text("image", IMAGE, f"tex2D<float>(image, 1, 1); {host}")
    assert (found.words, found.dtype) == (words, dtype)


def test_numbers_with_usual_names_are_extents():
    assert texture_shape("2d linear", 4, "image", ["n", "width", "height"]) == "height width 4"
    assert texture_shape("3d", 1, "t", ["nx", "ny", "nz"]) == "nz ny nx"
    assert texture_shape("2d layered", 1, "t", ["w"]) == "t_layers t_h w"
    assert shows_size("2d surface", "t", ["w", "h"]) and shows_size("memory", "t", []) and shows_size("", "x", [])
    assert not shows_size("2d", "t", ["w", "h"]) and not shows_size("2d surface", "t", ["w"])


def test_channels_of_linear_memory_are_an_axis():
    assert [memory_shape(each, 4) for each in ("4*n", "10", "n", "rows 4")] == ["n 4", "3 4", "n 4", "rows 4"]
    assert memory_shape("n", 1) == "n"
