"""Instructions of textures and surfaces: samples, gathers, loads, stores and queries (runtime/images.h).

Each texture has one level, so levels of detail and gradients have no effect. Source: PTX ISA, "Texture Instructions"
and "Surface Instructions".
"""

from __future__ import annotations

from collections.abc import Callable

from parity.emulator.instruction import MissingFeature, Unknown
from parity.emulator.ptx.operation import Operation
from parity.emulator.ptx.parse import size_of, split_operands

GEOMETRIES = {"1d": 1, "2d": 2, "3d": 3, "a1d": 1, "a2d": 2}
"""The dims of each geometry. Those with an ``a`` have layers, whose number precedes the coordinates."""
_COMPONENTS = "rgba"
_OUTSIDE = {"zero": "ZERO_OUTSIDE", "clamp": "CLAMP_OUTSIDE", "trap": "TRAP_OUTSIDE"}
_EXTENTS = {"width": 0, "height": 1, "depth": 2}


def _image_operand(o: Operation, words: list[str], operand: str, type_: str) -> list[str]:
    """Return statements that define the object and the coordinates of an operand such as ``[%rd1, {%f1, %f2}]``."""
    geometry = next((word for word in words if word in GEOMETRIES), None)
    if geometry is None:
        raise MissingFeature("cube maps, or textures with several samples")
    name, *rest = split_operands(operand.strip("[]"))
    if len(rest) != 1:
        raise MissingFeature("texture references")
    numbers = split_operands(rest[0].strip("{}"))
    c = "f32" if type_ == "f32" else "u32"
    layered = geometry.startswith("a")
    layer = [f"to<{c}>({o.source(numbers[0], 'u32')})"] if layered else []
    own = [f"as<{c}>({o.source(each, type_)})" for each in numbers[layered : layered + GEOMETRIES[geometry]]]
    return [
        f"const V<u64> object = {o.source(name, 'u64')};",
        f"const V<{c}> coordinates[4] = {{{', '.join(own + layer)}}};",
    ]


def _results(o: Operation, operand: str) -> list[str]:
    targets = split_operands(operand.strip("{}"))
    return [o.result(target, "b32", f"x[{k}]") for k, target in enumerate(targets) if target != "_"]


def _tex(o: Operation, words: list[str]) -> None:
    target, operand = o.item.operands[:2]
    *_, type_, coordinate = words
    if type_ not in ("f32", "u32", "s32") or coordinate not in ("f32", "s32"):
        raise MissingFeature("textures with halves")
    place = _image_operand(o, words, operand, coordinate)
    call = "texture_sample" if coordinate == "f32" else "texture_load"
    load = f"V<u32> x[4]; if ({call}(c, on, object, coordinates, {o.here}, x)) return 1;"
    o.guarded(*place, load, *_results(o, target))


def _tld4(o: Operation, words: list[str]) -> None:
    target, operand = o.item.operands[:2]
    component = next(_COMPONENTS.index(word) for word in words if word in _COMPONENTS)
    place = _image_operand(o, words, operand, "f32")
    load = f"V<u32> x[4]; if (texture_gather(c, on, object, {component}, coordinates, {o.here}, x)) return 1;"
    o.guarded(*place, load, *_results(o, target))


def _surface_words(o: Operation, words: list[str]) -> tuple[int, int, str]:
    """Return the number of elements of an access, their size, and what it does outside."""
    if "b" not in words:
        raise MissingFeature("formatted surfaces (sust.p)")
    count = next((int(word[1]) for word in words if word in ("v2", "v4")), 1)
    type_ = next((word for word in words if word in ("b8", "b16", "b32", "b64")), None)
    if type_ is None:
        raise Unknown(f"instruction {o.item.mnemonic}")
    return count, size_of(type_), next(value for word, value in _OUTSIDE.items() if word in words)


def _suld(o: Operation, words: list[str]) -> None:
    target, operand = o.item.operands[:2]
    count, size, outside = _surface_words(o, words)
    place = _image_operand(o, words, operand, "s32")
    call = f"surface_load(c, on, object, {outside}, coordinates, {count * size}, {o.here}, words)"
    load = f"V<u32> words[4]; if ({call}) return 1;"
    values = (f"in_words<u{8 * size}>(words, {k})" for k in range(count))
    targets = split_operands(target.strip("{}"))
    results = (
        o.result(each, f"b{8 * size}", value) for each, value in zip(targets, values, strict=True) if each != "_"
    )
    o.guarded(*place, load, *results)


def _sust(o: Operation, words: list[str]) -> None:
    operand, source = o.item.operands[:2]
    count, size, outside = _surface_words(o, words)
    place = _image_operand(o, words, operand, "s32")
    sources = split_operands(source.strip("{}"))
    fill = (
        f"put_in_words<u{8 * size}>(words, {k}, {o.source(each, f'b{8 * size}')});" for k, each in enumerate(sources)
    )
    call = f"surface_store(c, on, object, {outside}, coordinates, {count * size}, {o.here}, words)"
    o.guarded(*place, "V<u32> words[4] = {};", *fill, f"if ({call}) return 1;")


def _query(o: Operation, words: list[str]) -> None:
    target, operand = o.item.operands[:2]
    if words[0] not in _EXTENTS:
        raise MissingFeature(f"queries of textures ({words[0]})")
    place = f"const V<u64> object = {o.source(operand.strip('[]'), 'u64')};"
    call = f"texture_extent(c, on, object, {_EXTENTS[words[0]]}, {o.here}, x)"
    o.guarded(place, f"V<u32> x[1]; if ({call}) return 1;", *_results(o, target))


IMAGES: dict[str, Callable[[Operation, list[str]], None]] = {
    "tex": _tex, "tld4": _tld4, "suld": _suld, "sust": _sust, "txq": _query, "suq": _query,
}  # fmt: skip
