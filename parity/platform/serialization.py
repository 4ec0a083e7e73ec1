"""Files of data: JSON, TOML and YAML as the types that are declared for what is in them.

What does not fit its type is told with its place and its value; what a type does not name is left alone, unless it
forbids that. Types have no ``Meta(pattern=...)``, which in a union ends the process (msgspec 0.22, its issue 717). Nor
may two threads be the first to read a type: one of them would use what the other one has half looked up (``_known``).

JSON has neither infinity nor NaN. parity writes ``null`` for a number that is one of them, as JSON.stringify of
ECMAScript does, and reads ``null`` as infinity where there has to be a number.
"""

from __future__ import annotations

import datetime
import functools
import json
import math
import re
import threading
from collections.abc import Sequence
from typing import Any, TypeVar, get_origin

import msgspec

from parity.errors import UsageError, nearest

__all__ = [
    "RULE",
    "Malformed",
    "SchemaError",
    "checked",
    "json_schema",
    "json_text",
    "packed",
    "plain",
    "read_json",
    "unpacked",
]

RULE = "JSON has neither infinity nor NaN: null stands for a number that is one of them, and is read as infinity."

T = TypeVar("T")
Keys = list[str | int]

_NAMES = {
    "str": "a text",
    "int": "a whole number",
    "float": "a number",
    "bool": "true or false",
    "array": "a list",
    "object": "an object",
    "date": "a date",
}
_DATES = (datetime.date, datetime.datetime)
"""Types that TOML has and JSON lacks: a value of them is not accepted where text is expected."""

_TOLD = re.compile(r"(?P<problem>.*?)(?: - at (?:`key` in )?`\$(?P<path>.*?)`)?", re.DOTALL)
_STEP = re.compile(r"\.(\.?[^.\[]+)|\[([^\]]*)\]")
_FIELD = re.compile(r"Object (?P<how>missing|contains).* field `(?P<name>.*)`")
_EXPECTED = re.compile(r"Expected `(?P<kinds>[^`]*)`(?P<limit>.*?)(?:, got .*)?", re.DOTALL)


class Malformed(UsageError):
    """A text that is no JSON at all."""


class SchemaError(UsageError):
    """Data that do not fit their type: ``told`` says what is wrong, ``where`` are names and indices that lead there.

    They end with a name that the type lacks, but do not contain a name that is missing.
    """

    told: str
    where: Keys


def read_json(text: bytes | str, kind: type[T], source: str, advice: str = "") -> T:
    """The data of a JSON text. ``source`` is the text's name in messages, ``advice`` says how to mend it.

    Raises:
        Malformed: it is no JSON.
        SchemaError: something in it does not fit the type.
    """
    try:
        try:
            return _known(kind).decode(text)
        except msgspec.ValidationError:
            value = json.loads(text, parse_constant=_refused)
    except (msgspec.DecodeError, ValueError, RecursionError) as error:
        raise Malformed(f"{source} is not JSON: {error}{advice and f'; {advice}'}") from error
    return checked(value, kind, source, advice)


def checked(value: Any, kind: type[T], source: str, advice: str = "") -> T:
    """Data of JSON, TOML or YAML as a type; infinity is put in place of ``null`` where there has to be a number.

    Raises:
        SchemaError: something does not fit the type.
    """
    while True:
        try:
            return _converted(value, kind)
        except msgspec.ValidationError as error:
            problem, where = _located(value, kind, str(error))
            if where and problem == "Expected `float`, got `null`":
                _at(value, where[:-1])[where[-1]] = math.inf
                continue
            told, where = _said(problem, value, kind, where)
            misfit = SchemaError(f"{source}: {told}{advice and f'; {advice}'}")
            misfit.told, misfit.where = told, where
            raise misfit from error


def json_text(value: object, indent: int | None = None) -> bytes:
    """A value as JSON in UTF-8, on one line or indented. What of a text is not Unicode becomes a question mark."""
    try:
        text = msgspec.json.encode(value, enc_hook=_usual)
    except UnicodeEncodeError:
        plain = msgspec.to_builtins(value, enc_hook=_usual)
        text = msgspec.json.encode(json.loads(json.dumps(plain, ensure_ascii=False).encode(errors="replace")))
    return text if indent is None else msgspec.json.format(text, indent=indent)


def packed(value: object) -> bytes:
    """Encode a value as MessagePack for ``unpacked``. Bytes, infinity, NaN and NumPy arrays keep their values."""
    try:
        return msgspec.msgpack.encode(value, enc_hook=_packable)
    except UnicodeEncodeError:
        return msgspec.msgpack.encode(_unicode(msgspec.to_builtins(value, enc_hook=_packable, builtin_types=(bytes,))))


def unpacked(data: bytes, kind: type[T], source: str) -> T:
    """The value of ``packed``, as its type. ``source`` is its name in messages.

    Raises:
        Malformed: it is no MessagePack.
        SchemaError: something in it does not fit the type.
    """
    _known(kind)
    try:
        return msgspec.msgpack.decode(data, type=kind, dec_hook=_from_packable)
    except msgspec.ValidationError as error:
        raise SchemaError(f"{source} is not what it has to be: {error}") from error
    except (msgspec.DecodeError, RecursionError) as error:
        raise Malformed(f"{source} is malformed: {error}") from error


def _known(kind: type[T]) -> msgspec.json.Decoder[T]:
    """What reads a type. All that msgspec notes in the classes it consists of is there then."""
    with _FIRST:
        if kind not in _DECODERS:
            _DECODERS[kind] = msgspec.json.Decoder(kind)
        return _DECODERS[kind]


_FIRST = threading.Lock()
_DECODERS: dict[type, msgspec.json.Decoder[Any]] = {}


def _unicode(value: Any) -> Any:
    """Plain data with a question mark for what of a text is not Unicode."""
    if isinstance(value, str):
        return value.encode(errors="replace").decode()
    if isinstance(value, dict):
        return {_unicode(key): _unicode(each) for key, each in value.items()}
    return [_unicode(each) for each in value] if isinstance(value, list | tuple) else value


def plain(value: object) -> Any:
    """A value as it is when its JSON is read back: objects are dictionaries, sequences are lists."""
    return msgspec.json.decode(json_text(value))


def json_schema(kinds: Sequence[type], title: str, description: str) -> dict[str, Any]:
    """The JSON Schema (2020-12) of what ``json_text`` writes of a value of one of these types."""
    found, parts = msgspec.json.schema_components(kinds, ref_template="#/$defs/{name}")
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": title,
        "description": f"{description} {RULE}",
        **(found[0] if len(found) == 1 else {"anyOf": list(found)}),
        "$defs": {name: _as_written(part) for name, part in sorted(parts.items())},
    }


def _refused(name: str) -> None:
    raise ValueError(f"it has {name}")


def _usual(value: object) -> object:
    """The number or text that a value of a subclass is, such as NumPy's float64."""
    for kind in (int, float, str):
        if isinstance(value, kind):
            return kind(value)
    raise NotImplementedError(f"{type(value).__name__} is no kind of value that JSON has")


def _packable(value: object) -> object:
    """Return the dtype, shape and bytes of a NumPy array; other values as in JSON."""
    import numpy as np

    return (value.dtype.name, value.shape, value.tobytes()) if isinstance(value, np.ndarray) else _usual(value)


def _from_packable(kind: Any, value: Any) -> Any:
    """Return the NumPy array of ``_packable``."""
    import numpy as np

    if get_origin(kind) is not np.ndarray:
        raise NotImplementedError(f"{kind} is not a type that MessagePack values convert to")
    name, shape, data = value
    array = np.frombuffer(data, name) if data else np.empty(0, name)  # frombuffer refuses dtypes that hold pointers
    return array.reshape(shape).copy()


def _as_written(part: Any) -> Any:
    """A schema in which a number that may be infinite may be null, and descriptions are paragraphs."""
    if isinstance(part, list):
        return [_as_written(each) for each in part]
    if not isinstance(part, dict):
        return part
    changed = {key: _as_written(each) for key, each in part.items()}
    if part.get("type") == "number":
        changed["type"] = ["number", "null"]
    if isinstance(text := part.get("description"), str):
        changed["description"] = "\n\n".join(" ".join(each.split()) for each in text.split("\n\n"))
    return changed


def _said(problem: str, value: object, kind: type, where: Keys) -> tuple[str, Keys]:
    """The error message for a problem, with the kinds that msgspec names or the type's description, and its place."""
    wanted = _wanted(kind, where)
    steps = (f"[{step}]" if isinstance(step, int) else f": {step}" for step in where)
    name = "".join(steps).removeprefix(": ")
    if field := _FIELD.fullmatch(problem):
        missing = field["name"]
        if field["how"] == "missing":
            return f"{name and f'{name}: '}{missing} is missing", where
        known = [each for one in wanted for each in one.get("properties", ())]
        near = nearest(missing, known) or f"; it has {', '.join(known)}"
        return f"{name or 'it'} has no {missing!r}{near}", [*where, missing]
    kinds = [str(each) for one in wanted for each in one.get("enum", ())]
    limit = ""
    if not kinds and (expected := _EXPECTED.fullmatch(problem)):
        kinds += (_NAMES.get(each, each) for each in expected["kinds"].split(" | "))
        limit = expected["limit"]
    # What has a title is a class, whose description says what it is for.
    said = [one["description"] for one in wanted if "description" in one and "title" not in one]
    what = said[0] if said else " or ".join(kinds) + limit
    return f"{name or 'it'} is {_shown(_at(value, where))}{f', not {what}' if what else f': {problem}'}", where


def _wanted(kind: type, where: Keys) -> list[dict[str, Any]]:
    """The schemas that a value at a place may have."""
    found, parts = msgspec.json.schema_components([kind], ref_template="{name}")

    def every(one: dict[str, Any]) -> list[dict[str, Any]]:
        here = {**one, **parts[one["$ref"]]} if "$ref" in one else one
        return [here, *(each for other in here.get("anyOf", ()) for each in every(other))]

    places = every(found[0])
    for step in where:
        inside = (
            (one.get("properties", {}).get(step), one.get("additionalProperties"), one.get("items")) for one in places
        )
        places = [each for some in inside for one in some if isinstance(one, dict) for each in every(one)]
    return places


def _converted(value: Any, kind: type[T]) -> T:
    _known(kind)
    return msgspec.convert(value, kind, builtin_types=_DATES)


def _located(value: Any, kind: type, error: str) -> tuple[str, Keys]:
    """The problem and the place of an error, in which ``[...]`` stands for some key of a mapping: that is found."""
    told = _TOLD.fullmatch(error)
    assert told is not None
    where: Keys = []
    for name, index in _STEP.findall(told["path"] or ""):
        step: str | int = name or (int(index) if index.isdigit() else index)
        if index == "...":
            inside = _at(value, where)
            step = next((key for key in list(inside) if _fails_alone(value, kind, error, inside, key)), index)
        if step == "...":
            break
        where.append(step)
    return told["problem"], where


def _fails_alone(value: Any, kind: type, error: str, inside: dict[str, Any], key: str) -> bool:
    """True if a value has the same error when a mapping inside of it holds only one key."""
    whole = dict(inside)
    inside.clear()
    inside[key] = whole[key]
    try:
        _converted(value, kind)
    except msgspec.ValidationError as other:
        return str(other) == error
    finally:
        inside.clear()
        inside.update(whole)
    return False


def _at(value: Any, where: Keys) -> Any:
    return functools.reduce(lambda found, step: found[step], where, value)


def _shown(value: object) -> str:
    text = repr(value)
    if len(text) < 40:
        return text
    return "a list" if isinstance(value, list) else "an object" if isinstance(value, dict) else f"{text[:40]}..."
