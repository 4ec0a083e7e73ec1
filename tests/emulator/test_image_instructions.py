"""Textures and surfaces on AMD targets and in PTX, compared with a model in NumPy."""

from pathlib import Path

import numpy as np
import pytest

from parity.build.modules import build
from parity.emulator.amdgpu.device import AmdgpuDevice
from parity.emulator.amdgpu.kernarg import pack
from parity.emulator.faults import MemoryFault, NotTexture
from parity.emulator.ptx.device import PtxDevice
from parity.model.dtypes import dtype
from parity.model.texture import parse_texture, texture_of

TARGETS = ("gfx90a", "gfx1030", "gfx1100", "gfx1201", "sm_90")
HERE = Path(__file__).parent
COORDINATES = np.concatenate(
    [
        np.arange(-16, 48) / 4,
        np.random.default_rng(0).uniform(-4, 12, 184),
        [np.inf, -np.inf, np.nan, 1e30, -1e30, 2**-30, -(2**-30), 7],
    ]
).astype(np.float32)


class Textures:
    """Launches kernels of ``kernels/textures.cu``. Arrays are buffers, and pairs of text and array are textures."""

    def __init__(self, target, cache):
        (built,) = build(HERE / "kernels", ["textures"], [target], cache=cache)
        assert built.error is None, built.error
        self.code = built.code_object
        self.device = (PtxDevice if target.startswith("sm") else AmdgpuDevice)(cache=cache, traced=True)

    def __call__(self, kernel, *args, grid=(1, 1, 1), block=(256, 1, 1)):
        device, values, arrays = self.device, [], []
        device.reset()
        for number, arg in enumerate(args):
            text, array = arg if isinstance(arg, tuple) else ("", arg)
            if isinstance(array, int):
                values.append(array)
                continue
            memory = device.allocate(array.nbytes, f"buffer {number}")
            device.write(memory, array)
            arrays.append((memory, array))
            if text:
                spec = parse_texture(f"image {text}")
                words = np.frombuffer(texture_of(spec, dtype(self.name(array)), array.shape).record(), np.uint8).copy()
                words[:8] = np.frombuffer(memory.address.to_bytes(8, "little"), np.uint8)
                memory = device.allocate(words.nbytes, "texture")
                device.write(memory, words, constant=True)
            values.append(memory)
        device.launch(self.code, kernel, grid=grid, block=block, args=pack(self.code.kernels[kernel], values))
        return [device.read(memory).view(array.dtype).reshape(array.shape) for memory, array in arrays]

    @staticmethod
    def name(array):
        return {"float32": "f32", "float16": "f16", "uint8": "u8", "int8": "i8", "int16": "i16", "int32": "i32"}[
            str(array.dtype)
        ]


@pytest.fixture(scope="module", params=TARGETS)
def run(request, cache):
    return Textures(request.param, cache)


def texels(array, mode, places):
    """The texels at whole places (axis 0: z, y, x), as the address mode defines them outside."""
    inside, index = np.ones(places[0].shape, bool), []
    for place, extent in zip(places, array.shape, strict=False):
        if mode == "wrap":
            found = place % extent
        elif mode == "mirror":
            found = np.minimum(place % (2 * extent), 2 * extent - 1 - place % (2 * extent))
        else:
            found = np.clip(place, 0, extent - 1)
            inside &= (found == place) | (mode == "clamp")
        index.append(found)
    found = array[tuple(index)].astype(float)
    return np.where(inside.reshape(inside.shape + (1,) * (found.ndim - 1)), found, 0)


def sampled(array, axes, mode, linear, normalized, coordinates):
    """The samples at coordinates (axis 0: x, y, z). Filtered coordinates have 8 fractional bits."""
    extents = array.shape[:axes]
    units = []
    for x, extent in zip(coordinates[::-1], extents, strict=True):
        with np.errstate(invalid="ignore"):
            x = x.astype(float)
            if normalized:
                x = {"wrap": x - np.floor(x), "mirror": x - 2 * np.floor(x / 2)}.get(mode, x) * extent
        x = np.where(np.isnan(x), 0, np.clip(x, -(2.0**22), 2.0**22))
        units.append(np.floor(x * 256 + 0.5) / 256 - 0.5 if linear else x)
    low = [np.floor(x).astype(int) for x in units]
    if not linear:
        return texels(array, mode, low)
    total = 0
    for corner in np.ndindex(*(2,) * axes):
        weight = np.prod([x - i if up else 1 - (x - i) for x, i, up in zip(units, low, corner, strict=True)], axis=0)
        found = texels(array, mode, [i + up for i, up in zip(low, corner, strict=True)])
        total = total + found * weight.reshape(weight.shape + (1,) * (found.ndim - 1))
    return total


MODES = [(mode, normalized) for mode in ("clamp", "border") for normalized in ("", " normalized")]
MODES += [(mode, " normalized") for mode in ("wrap", "mirror")]


@pytest.mark.parametrize(("mode", "normalized"), MODES)
@pytest.mark.parametrize("linear", ["", " linear"], ids=["nearest", "linear"])
def test_sample_of_each_dim(run, mode, normalized, linear):
    """Weights have 8 fractional bits, so products of weights may differ by 1/256 for each dim after the first."""
    random, n = np.random.default_rng(1), len(COORDINATES)
    shapes = {"sample1": (8, 4), "sample2": (4, 8), "sample3": (4, 2, 8)}
    for axes, (kernel, shape) in enumerate(shapes.items(), 1):
        image = random.integers(-64, 64, shape).astype(np.float32)
        x = random.permuted(np.tile(COORDINATES[:, None], (1, (1, 2, 4)[axes - 1])), axis=0) / np.float32(
            8 if normalized else 1
        )
        out = np.zeros((n, 4) if axes == 1 else n, np.float32)
        _, _, found = run(kernel, (f"{axes}d {mode}{linear}{normalized}", image), x.astype(np.float32), out, n)
        wanted = sampled(image, axes, mode, bool(linear), bool(normalized), [*x.astype(np.float32).T[:axes]])
        allowed = 128 * (axes - 1) * 2 / 256 if linear else 0
        assert np.abs(found - wanted).max() <= allowed, kernel


@pytest.mark.parametrize("kind", [np.uint8, np.int8, np.int16])
def test_integers_become_numbers_from_0_to_1(run, kind):
    info, n = np.iinfo(kind), len(COORDINATES)
    image = np.random.default_rng(2).integers(info.min, info.max + 1, (4, 8, 2)).astype(kind)
    x = np.stack([COORDINATES, COORDINATES[::-1]], 1)
    _, _, found = run("sample2_pair", ("2d normalized_float", image), x, np.zeros((n, 2), np.float32), n)
    wanted = sampled(np.maximum(image / info.max, -1), 2, "clamp", False, False, [*x.T])
    assert (found == wanted.astype(np.float32)).all()


def test_halves(run):
    image, n = np.random.default_rng(3).normal(size=(4, 8, 2)).astype(np.float16), len(COORDINATES)
    x = np.stack([COORDINATES, COORDINATES[::-1]], 1)
    _, _, found = run("sample2_pair", ("2d", image), x, np.zeros((n, 2), np.float32), n)
    assert (found == sampled(image, 2, "clamp", False, False, [*x.T])).all()


@pytest.mark.parametrize(("kernel", "kind", "channels"), [("bytes", np.uint8, 4), ("words", np.int16, 2)])
def test_integers_of_texels(run, kernel, kind, channels):
    image, n = np.arange(-96, 32 * channels - 96).astype(kind).reshape(4, 8, channels), len(COORDINATES)
    x = np.stack([COORDINATES, COORDINATES[::-1]], 1)
    _, _, found = run(kernel, ("2d border", image), x, np.zeros((n, channels), kind), n)
    assert (found == sampled(image, 2, "border", False, False, [*x.T])).all()


def test_layer_is_a_whole_number(run):
    image, n = np.random.default_rng(4).normal(size=(3, 4, 8)).astype(np.float32), len(COORDINATES)
    x = np.stack([COORDINATES, COORDINATES[::-1]], 1)
    _, _, found = run("sample_layer", ("2d layered", image), x, np.zeros(n, np.float32), n, 3)
    layers = np.stack([sampled(each, 2, "clamp", False, False, [*x.T]) for each in image])
    assert (found == layers[np.arange(n) % 3, np.arange(n)]).all()


def test_texel_without_weight_has_no_effect(run):
    image = np.array([[1, np.nan], [np.inf, np.nan]], np.float32)
    _, _, found = run("sample2", ("2d linear", image), np.full((1, 2), 0.5, np.float32), np.zeros(1, np.float32), 1)
    assert found.tolist() == [1]


def test_fetch_from_linear_memory(run):
    image, x = np.arange(20, dtype=np.float32).reshape(10, 2), np.array([9, 0, 4], np.int32)
    assert run("fetched", ("memory", image), x, np.zeros((3, 2), np.float32), 3)[2].tolist() == image[x].tolist()
    numbers = np.arange(70000, dtype=np.int32)
    assert (
        run("integers", ("memory", numbers), np.zeros(70000, np.int32), 70000, grid=(274, 1, 1))[1] == numbers[::-1]
    ).all()


def test_fetch_beyond_linear_memory(run):
    """An NVIDIA GPU returns 0. AMD's descriptors count bytes, so the same texel is read from memory."""
    args = "fetched", ("memory", np.ones((10, 2), np.float32)), np.array([12], np.int32), np.ones((1, 2), np.float32), 1
    if run.code.target == "sm_90":
        assert run(*args)[2].tolist() == [[0, 0]]
    else:
        with pytest.raises(MemoryFault, match="out-of-bounds read of 8 bytes"):
            run(*args)


def test_surface_is_read_and_written(run):
    image = np.arange(5 * 9 * 4, dtype=np.uint8).reshape(5, 9, 4)
    args = ("2d surface", image), ("2d surface", np.zeros_like(image)), 9, 5
    assert (run("turned", *args, block=(16, 16, 1))[1] == image[::-1, ::-1, ::-1]).all()
    image = np.arange(10, dtype=np.float32).reshape(2, 5)
    assert (run("doubled", ("2d surface", image), 5, grid=(1, 2, 1), block=(64, 1, 1))[0] == 2 * image).all()
    image = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
    planes = run("planes", ("3d surface", image), np.zeros_like(image), 4, 3, grid=(3, 2, 1), block=(32, 1, 1))
    assert (planes[1] == image).all()


def test_access_outside_of_surface(run):
    """CUDA's accesses end the kernel by default. AMD's stores do nothing."""
    args = "doubled", ("2d surface", np.ones((2, 5), np.float32)), 6
    if run.code.target == "sm_90":
        with pytest.raises(MemoryFault, match="out-of-bounds read of 4 bytes"):
            run(*args, grid=(1, 2, 1), block=(64, 1, 1))
    else:
        assert (run(*args, grid=(1, 2, 1), block=(64, 1, 1))[0] == 2).all()


def test_memory_is_not_a_texture(run):
    x = np.zeros((1, 2), np.float32)
    with pytest.raises(NotTexture, match=r"not a texture or surface in kernel 'sample2' at"):
        run("sample2", np.zeros(64, np.float32), x, np.zeros(1, np.float32), 1)


def test_gather_of_hip_returns_another_component(run):
    """HIP's tex2Dgather selects the alpha channel for component 0, which is 1 if the texture has one channel."""
    image, x = np.arange(32, dtype=np.float32).reshape(4, 8), np.array([[3, 2]], np.float32)
    if "gathered" not in run.code.kernels or run.code.target == "gfx90a":  # no such instruction
        return
    _, _, found = run("gathered", ("2d", image), x, np.zeros((1, 4), np.float32), 1)
    assert found.tolist() == ([[18, 19, 11, 10]] if run.code.target == "sm_90" else [[1, 1, 1, 1]])
