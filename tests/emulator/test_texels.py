"""Typed loads from buffers: formats of elements, which must have the codes that LLVM's assembler knows."""

import io
import struct
from pathlib import Path

import numpy as np
import pytest
from elftools.elf.elffile import ELFFile

from parity.build.modules import build
from parity.compilers import zig
from parity.compilers.clang_flags import CODE_OBJECT_FLAGS
from parity.emulator.amdgpu.device import AmdgpuDevice
from parity.emulator.amdgpu.kernarg import pack
from parity.emulator.faults import MemoryFault, UnsupportedFeature

TARGETS = ("gfx90a", "gfx1030", "gfx1100")
"""A target of each encoding of formats."""
HERE = Path(__file__).parent
LANES = 32
KINDS = ("UNORM", "SNORM", "USCALED", "SSCALED", "UINT", "SINT", "FLOAT")
FORMATS = [
    (channels, bits, kind)
    for channels, bits in ((1, 8), (1, 16), (2, 8), (1, 32), (2, 16), (4, 8), (2, 32), (4, 16), (3, 32), (4, 32))
    for kind in KINDS
    if (bits < 32 or kind in ("UINT", "SINT", "FLOAT")) and (bits > 8 or kind != "FLOAT")
]
SELECTED = sum((4 + k) << 3 * k for k in range(4))
"""DST_SEL that gives the channels in their order."""


@pytest.fixture(scope="module", params=TARGETS)
def formats(request, tmp_path_factory):
    """Return the target, and word 3 of the descriptor for each format, as LLVM encodes it in an instruction."""
    name, folder = request.param, tmp_path_factory.mktemp("formats")
    lines = []
    for channels, bits, kind in FORMATS:
        size = "_".join([str(bits)] * channels)
        own = f"BUF_DATA_FORMAT_{size}, BUF_NUM_FORMAT_{kind}" if name == "gfx90a" else f"BUF_FMT_{size}_{kind}"
        lines.append(f"tbuffer_load_format_x v0, v1, s[0:3], 0 format:[{own}] idxen")
    (folder / "formats.s").write_text("\n".join((*lines, "")))
    command = ("clang", "-x", "assembler", *CODE_OBJECT_FLAGS, f"-mcpu={name}", "-c", folder / "formats.s")
    assert not zig.run([*command, "-o", folder / "formats.o"]).returncode
    code = ELFFile(io.BytesIO((folder / "formats.o").read_bytes())).get_section_by_name(".text").data()
    words = np.frombuffer(code, "<u4")[::2].tolist()
    codes = [word >> 19 & 127 for word in words]
    if name == "gfx90a":  # the upper bits are NUM_FORMAT, which is below DATA_FORMAT in a descriptor
        codes = [(code & 15) << 3 | code >> 4 for code in codes]
    return name, {each: code << 12 for each, code in zip(FORMATS, codes, strict=True)}


@pytest.fixture(scope="module")
def load(cache):
    """Return a function that loads 32 elements with a descriptor, and returns four components of each."""
    codes = {each.target: each.code_object for each in build(HERE / "kernels", ["texels"], TARGETS, cache=cache)}

    def loaded(name, x, word, *, stride, records=LANES):
        device, code = AmdgpuDevice(cache=cache, traced=True), codes[name]
        out = np.zeros((LANES, 4), np.uint32)
        buffers = [device.allocate(x.nbytes, "x"), device.allocate(out.nbytes, "out")]
        for buffer, array in zip(buffers, (x, out), strict=True):
            device.write(buffer, array)
        args = pack(code.kernels["texels"], [*buffers, struct.pack("<3I", stride, records, word)])
        device.launch(code, "texels", grid=(1, 1, 1), block=(LANES, 1, 1), args=args)
        return device.read(buffers[1]).view(np.uint32).reshape(LANES, 4)

    return loaded


def expected(x, channels, bits, kind):
    """Return the components of elements: the channels as f32 or integers, and 0, 0 and 1 for absent channels."""
    unsigned, signed = (x.view(f"{sign}{bits // 8}").reshape(LANES, channels) for sign in "ui")
    most = 2 ** (bits - 1) - 1
    values = {
        "UNORM": lambda: unsigned / (2 * most + 1),
        "SNORM": lambda: np.maximum(signed / most, -1),
        "USCALED": lambda: unsigned,
        "SSCALED": lambda: signed,
        "UINT": lambda: unsigned,
        "SINT": lambda: signed,
        "FLOAT": lambda: x.view(f"f{bits // 8}").reshape(LANES, channels),
    }[kind]()
    is_integer = kind in ("UINT", "SINT")
    found = np.zeros((LANES, 4), np.int64 if is_integer else np.float64)
    found[:, 3] = 1
    found[:, :channels] = values
    return found.astype(np.uint32) if is_integer else found.astype(np.float32).view(np.uint32)


def test_typed_load_converts_every_format(formats, load):
    name, words = formats
    random = np.random.default_rng(0)
    for (channels, bits, kind), word in words.items():
        size = channels * bits // 8
        x = random.integers(0, 256, LANES * size, np.uint8)
        x[: 2 * size] = [0xFF] * size + [0x80] * size
        if kind == "FLOAT":
            x = random.standard_normal(LANES * channels).astype(f"f{bits // 8}").view(np.uint8)
        found = load(name, x, SELECTED | word, stride=size)
        assert (found == expected(x, channels, bits, kind)).all(), (channels, bits, kind)


def test_typed_load_selects_channels(formats, load):
    name, words = formats
    x = np.arange(LANES * 4, dtype=np.uint8)
    selected = 6 | 0 << 3 | 1 << 6 | 4 << 9  # z, 0, 1, x
    found = load(name, x, selected | words[4, 8, "UINT"], stride=4)
    assert found.tolist() == [[4 * i + 2, 0, 1, 4 * i] for i in range(LANES)]


def test_typed_load_beyond_records_gives_zero(formats, load):
    name, words = formats
    x = np.full(LANES, 7, np.uint32)
    found = load(name, x, SELECTED | words[1, 32, "UINT"], stride=4, records=20)
    assert found.tolist() == [[7, 0, 0, 1]] * 20 + [[0] * 4] * 12


def test_typed_load_beyond_allocation_is_fault(formats, load):
    name, words = formats
    with pytest.raises(MemoryFault, match="out-of-bounds read of 4 bytes"):
        load(name, np.zeros(20, np.uint32), SELECTED | words[1, 32, "UINT"], stride=4)


def test_typed_load_of_unknown_format_is_refused(formats, load):
    with pytest.raises(UnsupportedFeature, match=r"kernel 'texels' uses packed or reserved formats at texels\.cu:14"):
        load(formats[0], np.zeros(LANES, np.uint32), SELECTED | 0 << 12, stride=4)
