"""Finds the listing for the bytes of a code object, because the emulator executes listings."""

from __future__ import annotations

import tempfile
from collections.abc import Collection
from pathlib import Path

from parity.build.packed_listings import read_listing
from parity.compilers.binary_listing import disassembled_listing
from parity.errors import MissingTool, UsageError
from parity.model.code_object import CodeObject, parse
from parity.platform.cache import default_root


def code_object_from_image(image: bytes) -> CodeObject:
    """Find the code object with these bytes among parity's builds, or disassemble it.

    Raises:
        UsageError: parity did not build it, and it cannot be disassembled.
    """
    if built := built_code_object(image):
        return built
    try:
        return parse(listing_of_image(image), "module")
    except (MissingTool, UsageError) as error:
        raise UsageError(
            f"no code object in {default_root() / 'build'} has these {len(image)} bytes: parity did not build it, and "
            f"{error}; build its source with parity, in the same cache"
        ) from error


def built_code_object(image: bytes) -> CodeObject | None:
    """Return the code object with these bytes among parity's builds."""
    for path in (default_root() / "build").glob("*/*/*.hsaco"):
        if path.stat().st_size == len(image) and path.read_bytes() == image and (listing := read_listing(path)):
            return parse(listing, path.stem, binary=path)
    return None


def listing_of_image(image: bytes, kernels: Collection[str] | None = None) -> str:
    """Disassemble a code object, or only some of its kernels.

    Raises:
        UsageError: it cannot be disassembled.
        MissingTool: no disassembler is installed.
    """
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "module.hsaco")
        path.write_bytes(image)
        return disassembled_listing(path, f"the code object of {len(image)} bytes", kernels)
