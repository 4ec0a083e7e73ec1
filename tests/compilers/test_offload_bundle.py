"""Code objects in bundles; ``scale.bundle`` is from ``hipcc --genco --offload-compress`` of ROCm 7.2."""

import io
import struct
import zlib
from pathlib import Path

import pytest
from bundles import bundle

from parity.compilers import offload_bundle
from parity.compilers.elf import metadata
from parity.compilers.offload_bundle import code_object_for
from parity.errors import MissingTool, UsageError

PACKED = Path(__file__).with_name("scale.bundle").read_bytes()


@pytest.mark.parametrize("target", ["gfx1100", "gfx90a"])
def test_compressed_bundle_of_hipcc_has_code_object_of_each_target(target):
    from elftools.elf.elffile import ELFFile

    elf = ELFFile(io.BytesIO(code_object_for(PACKED, target, "scale.co")))
    document = metadata(elf)
    assert document["amdhsa.target"] == f"amdgcn-amd-amdhsa--{target}"
    assert [each[".name"] for each in document["amdhsa.kernels"]] == ["scale"]


def test_missing_target_is_refused_with_the_targets_of_the_bundle():
    with pytest.raises(UsageError, match=r"^scale\.co is a bundle for gfx1100, gfx90a, not for gfx942$"):
        code_object_for(PACKED, "gfx942", "scale.co")


def test_code_object_with_fewest_settings_is_taken():
    content = bundle({"gfx90a:sramecc+:xnack+": b"both", "gfx90a:xnack-": b"off", "gfx1100": b"other"})
    assert code_object_for(content, "gfx90a", "m.co") == b"off"


@pytest.mark.parametrize("head", [struct.pack("<2HI", 2, 0, 0), struct.pack("<2H", 1, 0)])
def test_bundle_compressed_with_zlib_is_read(head):
    content = b"CCOB" + head + struct.pack("<IQ", 0, 0) + zlib.compress(bundle({"gfx1100": b"code"}))
    assert code_object_for(content, "gfx1100", "m.co") == b"code"


def test_other_content_is_unchanged():
    assert code_object_for(b"\x7fELF...", "gfx1100", "m.co") == b"\x7fELF..."


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (bundle({"gfx1100": b"code"})[:-1], r"m\.co is cut off"),
        (bundle({"gfx1100": b"code"})[:40], r"m\.co is a damaged bundle"),
        (PACKED[:-9], r"m\.co is a damaged compressed bundle"),
        (b"CCOB" + struct.pack("<2H", 9, 1), r"m\.co is a damaged compressed bundle"),
        (b"CCOB" + struct.pack("<2H", 3, 7) + bytes(24), r"m\.co is compressed with an unknown method \(number 7\)"),
    ],
    ids=["last byte", "entries", "compressed data", "version", "method"],
)
def test_damaged_bundle_is_refused(content, message):
    with pytest.raises(UsageError, match=message):
        code_object_for(content, "gfx1100", "m.co")


def test_missing_zstd_names_the_package(monkeypatch):
    monkeypatch.setattr(offload_bundle, "_ZSTD_MODULES", ())
    with pytest.raises(MissingTool, match=r"python -m pip install backports\.zstd$"):
        code_object_for(PACKED, "gfx1100", "m.co")
