"""Finds the listing for the bytes of a code object, because the emulator executes listings."""

from __future__ import annotations

import tempfile
from pathlib import Path

from parity.build.cache_entries import read_listing
from parity.compilers.disassembler import disassembled_listing
from parity.errors import MissingTool, UsageError
from parity.model.code_object import CodeObject, parse
from parity.platform.cache import default_root


def code_object_from_image(image: bytes) -> CodeObject:
    """Find the code object with these bytes among parity's builds, or disassemble it.

    Raises:
        UsageError: parity did not build it, and it cannot be disassembled.
    """
    for path in (default_root() / "build").glob("*/*/*.hsaco"):
        if path.stat().st_size == len(image) and path.read_bytes() == image and (listing := read_listing(path)):
            return parse(listing, path.stem, binary=path)
    try:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "module.hsaco")
            path.write_bytes(image)
            return parse(disassembled_listing(path, f"the code object of {len(image)} bytes"), "module")
    except (MissingTool, UsageError) as error:
        raise UsageError(
            f"no code object in {default_root() / 'build'} has these {len(image)} bytes: parity did not build it, and "
            f"{error}; build its source with parity, in the same cache"
        ) from error
