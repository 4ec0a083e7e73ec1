"""Image instructions as C++: samples, gathers, loads and stores of textures and surfaces (runtime/images.h).

Each texture has one level, so levels of detail and gradients have no effect.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from parity.emulator.amdgpu.operands import registers
from parity.emulator.amdgpu.writer import Writer
from parity.emulator.instruction import Instruction, MissingFeature, Unknown

_INSTRUCTION = re.compile(r"image_(?P<kind>sample|gather4|load|store)(?:_(?P<level>lz|l|d))?(?P<short>_g16)?$")
_DIM = re.compile(r"dim:SQ_RSRC_IMG_(\w+)$")
_GRADIENTS = {"1D": (2, 2), "1D_ARRAY": (2, 2), "2D": (4, 2), "2D_ARRAY": (4, 2), "3D": (6, 4)}
"""Registers of gradients in front of the coordinates, of 32 and of 16 bits each. Source: LLVM, MIMGInstructions.td."""
_NARROW = ("d16", "a16", "tfe", "lwe")
"""Modifiers that change the registers of an instruction."""


def emit_image_instruction(w: Writer, item: Instruction, name: str) -> bool:
    """Write the C++ of an image instruction, by its canonical name; return False for other instructions."""
    if not name.startswith("image_"):
        return False
    match = _INSTRUCTION.match(name)
    if not match:
        raise MissingFeature("textures with mipmaps or comparisons, or atomics of surfaces")
    if narrow := next((each for each in item.modifiers if each in _NARROW), None):
        raise MissingFeature(f"textures with {narrow}")
    dim = next((found[1] for each in item.modifiers if (found := _DIM.match(each))), "")
    if dim == "CUBE":
        raise MissingFeature("cube maps")
    data, address, image, *sampler = item.operands
    parts = address[1:-1].split(",") if address.startswith("[") else [address]
    coordinates = [name for each in parts for name in registers(w, each.strip())]
    if match["level"] == "d":
        if dim not in _GRADIENTS:
            raise Unknown(f"instruction {item.mnemonic}")
        coordinates = coordinates[_GRADIENTS[dim][bool(match["short"])] :]
    mask = next((int(each.removeprefix("dmask:"), 0) for each in item.modifiers if each.startswith("dmask:")), 1)
    components = [k for k in range(4) if mask >> k & 1]
    kind = match["kind"]
    values = registers(w, data)
    if len(values) != (4 if kind == "gather4" else len(components)):
        raise Unknown(f"{len(values)} registers for {item.mnemonic}")
    w.put("{", f"const u32 image[] = {{{', '.join(registers(w, image))}}};")
    of = "f32" if sampler else "u32"
    w.put(f"const V<{of}> at[4] = {{{', '.join(f'as<{of}>({each})' for each in coordinates[:4])}}};")
    if kind == "store":
        given = dict(zip(components, values, strict=True))
        w.put(f"const V<u32> x[] = {{{', '.join(given.get(k, 'all(0u)') for k in range(4))}}};")
        w.put(f"if (image_store(c, exec, image, at, {w.here}, x)) return 1;", "}")
        return True
    if sampler:
        w.put(f"const u32 sampler[] = {{{', '.join(registers(w, sampler[0]))}}};")
    call = {
        "sample": f"image_sample(c, exec, image, sampler, at, {w.here}, x)",
        "gather4": f"image_gather(c, exec, image, sampler, {components[0]}, at, {w.here}, x)",
        "load": f"image_load(c, exec, image, at, {w.here}, x)",
    }[kind]
    w.put(f"V<u32> x[4]; if ({call}) return 1;")
    _write(w, values, range(4) if kind == "gather4" else components)
    return True


def _write(w: Writer, targets: Sequence[str], components: Sequence[int]) -> None:
    pairs = zip(targets, components, strict=True)
    w.put(*(f"{name} = sel(unmask(exec), x[{k}], {name});" for name, k in pairs), "}")
