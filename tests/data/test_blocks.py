"""Data streams of quantized blocks: windows, and the scales and quants that define each stream."""

from __future__ import annotations

import hashlib
from dataclasses import replace

import numpy as np
import pytest

from parity.data.blocks import BLOCK_STREAMS, scale_fields
from parity.data.buffers import Memory
from parity.data.sampling import sample
from parity.data.streams import elements
from parity.data.values import special_values
from parity.errors import UsageError
from parity.model.case import Tensor
from parity.model.dtypes import DTYPES, array_dtype, dtype
from parity.model.layout import Layout, contiguous
from parity.op import Op
from parity.reference import Expected

BLOCKS = [kind for kind in DTYPES.values() if kind.is_block]
all_blocks = pytest.mark.parametrize("kind", BLOCKS, ids=str)


def raw(blocks):
    return blocks.view(np.uint8).reshape(len(blocks), -1)


def sub_scales(blocks):
    """Return the factors and offsets of the quants in each part of a K block, as integers."""
    scales = blocks["scales"].astype(int)
    match array_dtype(blocks).name:
        case "q2_K":
            return scales & 15, scales >> 4
        case "q3_K":
            parts = np.arange(16)
            low = np.where(parts < 8, scales[:, parts % 8] & 15, scales[:, parts % 8] >> 4)
            high = scales[:, 8 + parts % 4] >> 2 * (parts // 4) & 3
            return low + 16 * high - 32, np.zeros(1)
        case "q6_K":
            return scales, np.zeros(1)
    first, second, last = scales[:, :4], scales[:, 4:8], scales[:, 8:]
    factors = np.hstack([first & 63, (last & 15) + 16 * (first >> 6)])
    return factors, np.hstack([second & 63, (last >> 4) + 16 * (second >> 6)])


@all_blocks
@pytest.mark.parametrize("stream", BLOCK_STREAMS)
def test_elements_window_matches_whole_stream(stream, kind):
    whole = elements(stream, kind, 100, 300, "w")
    assert whole.dtype == kind.numpy and whole.shape == (300,)
    for start, count in ((100, 1), (137, 5), (399, 1), (200, 0)):
        piece = elements(stream, kind, start, count, "w")
        assert piece.tobytes() == whole[start - 100 : start - 100 + count].tobytes()


@all_blocks
@pytest.mark.parametrize("stream", BLOCK_STREAMS)
def test_elements_blocks_are_distinct(stream, kind):
    for start in (0, 1000, 123456):
        assert len({block.tobytes() for block in elements(stream, kind, start, 64, "w")}) == 64


def test_elements_differ_between_tensors():
    one, other = (raw(elements("normal", dtype("q4_K"), 0, 64, name)) for name in ("w", "v"))
    assert (one != other).mean() > 0.9


def test_streams_match_recorded_digests():
    streams = ("normal", "small", "special", "mixed", "bits", "patterns", "equal")
    data = b"".join(elements(s, kind, 12345, 257, "w").tobytes() for s in streams for kind in BLOCKS)
    assert hashlib.sha256(data).hexdigest() == "5a0bbfe1399be42aedc919bd5acbb1280d3aca5c5e1204a1397df4635c417c19"


@all_blocks
@pytest.mark.parametrize("stream", ["normal", "special", "bits"])
def test_bytes_other_than_scales_are_uniform(stream, kind):
    blocks = elements(stream, kind, 0, 4096, "w")
    for name in set(kind.numpy.names) - set(scale_fields(kind)):
        values = np.ascontiguousarray(blocks[name]).view(np.uint8)
        assert len(np.unique(values)) == 256
        assert abs(values.mean() - 127.5) < 3


@all_blocks
def test_normal_scales_are_realistic(kind):
    blocks = elements("normal", kind, 0, 2000, "w")
    for name in scale_fields(kind):
        low, high = (2.0**-2, 2.0**4) if name == "s" else (2.0**-9, 2.0**-3)
        scales = blocks[name].astype(np.float64)
        assert low <= np.abs(scales).min() < 1.1 * low and 0.9 * high < np.abs(scales).max() < high
        assert 0.4 < (scales < 0).mean() < 0.6
        assert len(np.unique(scales)) > 1000  # use all bits of their type


@all_blocks
def test_small_scales_are_small_whole_numbers(kind):
    blocks = elements("small", kind, 0, 500, "w")
    for name in scale_fields(kind):
        values = blocks[name].astype(np.float64)
        assert set(values) == ({1, 2, -1, -2} if name == "d" else {0, 1, 2, -1, 3, -2, -3})
        assert 0 <= (values == 0).mean() < 0.2


@pytest.mark.parametrize("name", ["q8_0", "q8_1", "q8_K"])
def test_small_quants_of_8_bits_are_small(name):
    assert set(elements("small", dtype(name), 0, 99, "w")["qs"].ravel()) == set(range(-4, 4))


@pytest.mark.parametrize("name", ["q4_0", "q4_1", "q5_0", "q5_1", "q2_K", "q3_K", "q4_K", "q5_K"])
def test_small_quants_of_fewer_bits_have_full_range(name):
    assert len(np.unique(elements("small", dtype(name), 0, 300, "w")["qs"])) == 256


@pytest.mark.parametrize(
    ("name", "factors", "terms"),
    [
        ("q2_K", {0, 1, 2, 3}, {0, 1, 2, 3}),
        ("q3_K", {-2, -1, 0, 1, 2, 3}, {0}),
        ("q4_K", {0, 1, 2, 3}, {0, 1, 2, 3}),
        ("q5_K", {0, 1, 2, 3}, {0, 1, 2, 3}),
        ("q6_K", {-2, -1, 0, 1}, {0}),
    ],
)
def test_small_scales_of_parts_are_small(name, factors, terms):
    found = sub_scales(elements("small", dtype(name), 0, 300, "w"))
    assert [set(np.ravel(each)) for each in found] == [factors, terms]


@all_blocks
def test_special_scales_take_every_special_value(kind):
    number = len(special_values(array_dtype(elements("special", kind, 0, 1)["d"])))
    blocks = elements("special", kind, 1000, number, "w")
    for name in scale_fields(kind):
        scale = array_dtype(blocks[name])
        assert set(blocks[name].view(scale.bits)) == set(special_values(scale).view(scale.bits))
    if len(scale_fields(kind)) == 2:
        first, second = (raw(np.ascontiguousarray(blocks[name])) for name in scale_fields(kind))
        assert (first != second).any(axis=1).mean() > 0.8  # the two scales do not take the values in the same order


@all_blocks
def test_patterns_holds_every_byte_at_every_position(kind):
    blocks = elements("patterns", kind, 7, 256, "w")
    bare = kind.numpy.names if kind.is_block else ()
    for name in set(bare) - set(scale_fields(kind)):
        content = raw(np.ascontiguousarray(blocks[name]))
        assert all(len(np.unique(column)) == 256 for column in content.T)
        assert len(np.unique(content[0])) == content.shape[1]
    for number, name in enumerate(scale_fields(kind), 1):
        assert set(blocks[name]) == {number}


@all_blocks
def test_equal_repeats_one_byte(kind):
    blocks = elements("equal", kind, 0, 300, "w")
    places = [n for n in kind.numpy.names if n not in scale_fields(kind)]
    content = np.hstack([raw(np.ascontiguousarray(blocks[name])) for name in places])
    assert (content == content[:, :1]).all()
    assert len(np.unique(content[:, 0])) > 100
    assert all(0 < abs(scale) < 16 for name in scale_fields(kind) for scale in blocks[name])


@all_blocks
def test_subnormal_scales_are_subnormal_or_zero(kind):
    blocks = elements("subnormal", kind, 0, 300, "w")
    for name in scale_fields(kind):
        scales = blocks[name].astype(np.float64)
        assert (np.abs(scales) < 2.0 ** array_dtype(blocks[name]).emin).all()
        assert (scales > 0).any() and (scales < 0).any()


@all_blocks
def test_mixed_contains_several_kinds(kind):
    scales = np.abs(elements("mixed", kind, 0, 4000, "w")["d"].astype(np.float64))
    usual = (scales >= 2.0**-9) & (scales < 2.0**-3)
    assert 0.6 < usual.mean() < 0.8  # including blocks of equal bytes
    assert 0.08 < np.isin(scales, [1, 2]).mean() < 0.2
    assert np.isnan(scales).any() and np.isinf(scales).any()


def test_elements_unknown_stream_names_streams_of_block():
    with pytest.raises(UsageError, match=r"unknown data of q4_K 'unit'; known: normal small special .* equal"):
        elements("unit", dtype("q4_K"), 0, 1)
    with pytest.raises(UsageError, match=r"unknown data 'equal'; known: normal unit"):
        elements("equal", dtype("f32"), 0, 1)


@pytest.mark.parametrize("of", [lambda kind: kind.min, lambda kind: kind.max, lambda kind: kind.convert([1])])
def test_block_type_has_no_number_limits(of):
    with pytest.raises(UsageError, match="q2_K is not a number: it is a block of 256 values"):
        of(dtype("q2_K"))


def test_filled_blocks_have_poison_in_gaps():
    kind = dtype("q5_0")
    tensor = Tensor(Layout.parse("3x2:5,2+1"), "normal", 7)
    buffer = Memory("w", kind, tensor).buffer()
    stream = elements("normal", kind, 7, 13, "w")
    places = tensor.layout.indices().ravel()
    assert buffer.data[places].tobytes() == stream[places - 1].tobytes()
    assert (raw(buffer.data[~buffer.defined]) == 0xA5).all() and int(buffer.defined.sum()) == 6


def test_tiled_has_equal_number_of_values_for_every_type():
    sizes = {
        name: len(Memory("w", dtype(name), Tensor(contiguous((10**6,)), "normal")).tiled().data) * dtype(name).values
        for name in ("u8", "q4_0", "q6_K")
    }
    assert len(set(sizes.values())) == 1


scale = Op(
    "toy.scale",
    kernel="scale_{T}_{Y}",
    types=("q4_K,f32", "f32,q8_1"),
    args="numel w y out",
    inputs={"w": "T", "y": "f32"},
    outputs={"out": "Y"},
    layouts=lambda draw, names: {"w": contiguous((3,)), "y": contiguous((3,))},
    data=("small", "unit", "equal", "near"),
    reference=lambda w, y: Expected(y),
)


def test_cases_draw_streams_of_the_type():
    drawn = sample(scale.cases(("q4_K", "f32")), 0, 80)
    streams = [{case.tensor(name).data for case in drawn} for name in ("w", "y")]
    assert streams == [{"small", "equal"}, {"small", "unit", "near"}]
    assert all(scale.parse(str(case)) == case for case in drawn)


def test_cases_without_stream_for_blocks_raise():
    op = replace(scale, data=("unit", "near"))
    with pytest.raises(UsageError, match=r"op toy\.scale: w has type q4_K, which has only the data normal small "):
        sample(op.cases(("q4_K", "f32")), 0, 1)
    with pytest.raises(UsageError, match=r"op toy\.scale: unknown data 'smal'; did you mean small"):
        replace(scale, data=("smal",))


def test_parse_unknown_stream_names_streams_of_block():
    scale.parse("toy.scale[q4_K,f32](w=3~equal@0 y=3~unit@0)")
    with pytest.raises(UsageError, match=r"w=3~unit@0: unknown data of q4_K 'unit'; known: normal small .* equal"):
        scale.parse("toy.scale[q4_K,f32](w=3~unit@0 y=3~unit@0)")
    with pytest.raises(UsageError, match=r"y=3~equal@0: unknown data 'equal'; known: normal unit"):
        scale.parse("toy.scale[q4_K,f32](w=3~small@0 y=3~equal@0)")
