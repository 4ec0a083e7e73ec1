"""Reads JSON, TOML and YAML data as typed values, and writes JSON and MessagePack.

Errors name the place and the value. Names that a type does not have are ignored, unless the type forbids them.

JSON has no infinity or NaN. parity writes ``null`` for them, as JSON.stringify of ECMAScript does. It reads ``null`` as
infinity where a type requires a number.

Two limits of msgspec 0.22 apply: ``Meta(pattern=...)`` in a union ends the process (msgspec issue 717), so no type
may use it; and two threads must not be the first to use a type (see ``_decoder``).
"""

from __future__ import annotations

import datetime
import json
import threading
from collections.abc import Sequence
from typing import Any, TypeVar, get_origin

import msgspec

from parity.errors import UsageError

NULL_RULE = "JSON has neither infinity nor NaN: null stands for a number that is one of them, and is read as infinity."

T = TypeVar("T")

_DATES = (datetime.date, datetime.datetime)
"""Types that TOML has and JSON lacks. They do not fit where a type requires text."""

_FIRST_USE = threading.Lock()
_decoders: dict[type, msgspec.json.Decoder[Any]] = {}


class Malformed(UsageError):
    """A text that is not JSON."""


class SchemaError(UsageError):
    """Data that do not fit their type.

    Attributes:
        problem: the message, without the source of the data.
        where: names and indices that lead to the place. The last one is the unknown name, if the type lacks it.
    """

    problem: str
    where: tuple[str | int, ...]


def read_json(text: bytes | str, kind: type[T], source: str, advice: str = "") -> T:
    """Read a JSON text as a type. ``source`` names the text in errors, ``advice`` says how to fix it.

    Raises:
        Malformed: the text is not JSON.
        SchemaError: a value does not fit the type.
    """
    try:
        try:
            return _decoder(kind).decode(text)
        except msgspec.ValidationError:
            value = json.loads(text, parse_constant=_refuse_constant)
    except (msgspec.DecodeError, ValueError, RecursionError) as error:
        raise Malformed(f"{source} is not JSON: {error}{advice and f'; {advice}'}") from error
    return checked(value, kind, source, advice)


def checked(value: Any, kind: type[T], source: str, advice: str = "") -> T:
    """Convert plain data to a type. Replaces null by infinity, in ``value``, where the type requires a number.

    Raises:
        SchemaError: a value does not fit the type.
    """
    try:
        return _convert(value, kind)
    except msgspec.ValidationError:
        from parity.platform.type_problems import find_problem  # only for errors and for null

    problem = find_problem(value, kind)
    message, where = (problem.message, problem.where) if problem else ("", ())
    cause = None
    if not problem:
        try:
            return _convert(value, kind)
        except msgspec.ValidationError as error:
            message, cause = str(error), error
    failure = SchemaError(f"{source}: {message}{advice and f'; {advice}'}")
    failure.problem, failure.where = message, where
    raise failure from cause


def json_text(value: object, indent: int | None = None) -> bytes:
    """Return a value as JSON in UTF-8, on one line or indented. Lone surrogates become question marks."""
    try:
        text = msgspec.json.encode(value, enc_hook=_builtin)
    except UnicodeEncodeError:
        plain = msgspec.to_builtins(value, enc_hook=_builtin)
        text = msgspec.json.encode(json.loads(json.dumps(plain, ensure_ascii=False).encode(errors="replace")))
    return text if indent is None else msgspec.json.format(text, indent=indent)


def packed(value: object) -> bytes:
    """Return a value in MessagePack, which can hold bytes, infinity, NaN and NumPy arrays (see ``unpacked``)."""
    try:
        return msgspec.msgpack.encode(value, enc_hook=_packable)
    except UnicodeEncodeError:
        return msgspec.msgpack.encode(
            _replace_surrogates(msgspec.to_builtins(value, enc_hook=_packable, builtin_types=(bytes,)))
        )


def unpacked(data: bytes, kind: type[T], source: str) -> T:
    """Read the output of ``packed`` as a type. ``source`` names the data in errors.

    Raises:
        Malformed: the data are not MessagePack.
        SchemaError: a value does not fit the type.
    """
    _decoder(kind)
    try:
        return msgspec.msgpack.decode(data, type=kind, dec_hook=_from_packable)
    except msgspec.ValidationError as error:
        raise SchemaError(f"{source} does not fit its type: {error}") from error
    except (msgspec.DecodeError, RecursionError) as error:
        raise Malformed(f"{source} is malformed: {error}") from error


def plain(value: object) -> Any:
    """Return a value as its JSON reads back: objects become dictionaries, sequences become lists."""
    return msgspec.json.decode(json_text(value))


def json_schema(kinds: Sequence[type], title: str, description: str) -> dict[str, Any]:
    """Return the JSON Schema (2020-12) of what ``json_text`` writes for values of these types."""
    found, parts = msgspec.json.schema_components(kinds, ref_template="#/$defs/{name}")
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": title,
        "description": f"{description} {NULL_RULE}",
        **(found[0] if len(found) == 1 else {"anyOf": list(found)}),
        "$defs": {name: _written_form(part) for name, part in sorted(parts.items())},
    }


def _packable(value: object) -> object:
    """Return the dtype, shape and bytes of a NumPy array; other values as in JSON."""
    import numpy as np

    return (value.dtype.name, value.shape, value.tobytes()) if isinstance(value, np.ndarray) else _builtin(value)


def _from_packable(kind: Any, value: Any) -> Any:
    """Return the NumPy array of ``_packable``."""
    import numpy as np

    if get_origin(kind) is not np.ndarray:
        raise NotImplementedError(f"{kind} is not a type that MessagePack values convert to")
    name, shape, data = value
    array = np.frombuffer(data, name) if data else np.empty(0, name)  # frombuffer refuses dtypes that hold pointers
    return array.reshape(shape).copy()


def _convert(value: Any, kind: type[T]) -> T:
    _decoder(kind)
    return msgspec.convert(value, kind, builtin_types=_DATES)


def _decoder(kind: type[T]) -> msgspec.json.Decoder[T]:
    """Return the decoder of a type.

    Creating it under a lock completes what msgspec caches in the classes of the type. Without the lock, a second thread
    could use a half-filled cache, and the process would crash.
    """
    with _FIRST_USE:
        if kind not in _decoders:
            _decoders[kind] = msgspec.json.Decoder(kind)
        return _decoders[kind]


def _replace_surrogates(value: Any) -> Any:
    if isinstance(value, str):
        return value.encode(errors="replace").decode()
    if isinstance(value, dict):
        return {_replace_surrogates(key): _replace_surrogates(each) for key, each in value.items()}
    return [_replace_surrogates(each) for each in value] if isinstance(value, list | tuple) else value


def _refuse_constant(name: str) -> None:
    raise ValueError(f"it has {name}")


def _builtin(value: object) -> object:
    """Convert a value of a subclass of int, float or str, such as NumPy's float64."""
    for kind in (int, float, str):
        if isinstance(value, kind):
            return kind(value)
    raise NotImplementedError(f"{type(value).__name__} cannot be written as JSON")


def _written_form(part: Any) -> Any:
    """A schema in which numbers may be null, and in which line breaks only separate paragraphs of descriptions."""
    if isinstance(part, list):
        return [_written_form(each) for each in part]
    if not isinstance(part, dict):
        return part
    changed = {key: _written_form(each) for key, each in part.items()}
    if part.get("type") == "number":
        changed["type"] = ["number", "null"]
    if isinstance(text := part.get("description"), str):
        changed["description"] = "\n\n".join(" ".join(each.split()) for each in text.split("\n\n"))
    return changed
