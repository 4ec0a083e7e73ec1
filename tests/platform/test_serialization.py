"""Typed data in JSON: valid data, errors with paths, and numbers that JSON does not have."""

from __future__ import annotations

import json
import math
import pickle
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated, Literal

import numpy as np
import pytest
from msgspec import Meta, Struct

from parity.errors import UsageError
from parity.platform.serialization import Malformed, SchemaError, checked, json_schema, json_text, plain, read_json


class Side(StrEnum):
    """The side of a part."""

    LEFT = "left"
    RIGHT = "right"


@dataclass(frozen=True)
class Part:
    """A part of the test data."""

    name: str
    far: float = 0.0
    near: float | None = None


@dataclass(frozen=True)
class Whole:
    name: str
    sizes: tuple[int, ...]
    vendor: Literal["amd", "cuda"]
    side: Side
    parts: Mapping[str, tuple[Part, ...]]
    fault: Part | None
    lost: bool = False
    arch: Annotated[int, Meta(ge=1, description="a number such as 890")] = 1


class Strict(Struct, forbid_unknown_fields=True, rename="kebab"):
    """A type that forbids unknown names."""

    force_include: list[str] = []
    flags: list[str] = []


GOOD = {"name": "x", "sizes": [1, 2], "vendor": "amd", "side": "left", "parts": {"a": []}, "fault": None, "more": 1.5}
HEAD = {"name": "p"}


def read(**change) -> Whole:
    return read_json(json.dumps({**GOOD, **change}), Whole, "file.json, line 3", "write it again")


def test_read_json_valid_data():
    assert read() == Whole("x", (1, 2), "amd", Side.LEFT, {"a": ()}, None)
    assert read(fault=HEAD, parts={}, sizes=[]).fault == Part("p")


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"name": 1}, "name is 1, not a text"),
        ({"name": ["a long text"] * 9}, "name is a list, not a text"),
        ({"sizes": 1}, "sizes is 1, not a list"),
        ({"sizes": [1, True]}, "sizes[1] is True, not a whole number"),
        ({"sizes": [1.5]}, "sizes[0] is 1.5, not a whole number"),
        ({"vendor": "intel"}, "vendor is 'intel', not amd or cuda"),
        ({"vendor": ["amd"]}, "vendor is ['amd'], not amd or cuda"),
        ({"side": "top"}, "side is 'top', not left or right"),
        ({"fault": 1}, "fault is 1, not an object or null"),
        ({"fault": {}}, "fault: name is missing"),
        ({"lost": 1}, "lost is 1, not true or false"),
        ({"parts": {"a": [], "b.c d": [HEAD, {**HEAD, "name": 3}]}}, "parts: b.c d[1]: name is 3, not a text"),
        ({"parts": {"a": [{**HEAD, "far": "inf"}]}}, "parts: a[0]: far is 'inf', not a number"),
        ({"arch": 0}, "arch is 0, not a number such as 890"),
    ],
)
def test_read_json_mismatch_names_place_and_value(change, says):
    with pytest.raises(SchemaError) as caught:
        read(**change)
    assert str(caught.value) == f"file.json, line 3: {says}; write it again"
    assert caught.value.problem == says


def test_schema_error_has_path():
    with pytest.raises(SchemaError, match=r"^it: it has no 'flag'; did you mean flags\?") as caught:
        checked({"flag": []}, Strict, "it")
    assert caught.value.where == ("flag",)
    assert pickle.loads(pickle.dumps(caught.value)).where == ("flag",)
    with pytest.raises(SchemaError, match=r"^it: it has no 'zzzzz'; it has force-include, flags") as caught:
        checked({"zzzzz": []}, Strict, "it")
    with pytest.raises(SchemaError) as caught:
        checked({"force-include": ["a", 3]}, Strict, "it")
    assert caught.value.where == ("force-include", 1)
    with pytest.raises(SchemaError, match=r"^it: it is \[\], not an object$"):
        checked([], Strict, "it")


@pytest.mark.parametrize("text", [b"", b"{", b"{]", b'"\xff"', b"[" * 100_000, b"{}x", b'"\\udc80"', b"[NaN]"])
def test_read_json_malformed_text_raises(text):
    with pytest.raises(Malformed, match=r"^file\.json is not JSON: .+"):
        read_json(text, Whole, "file.json")


def test_read_json_malformed_after_mismatch_raises_malformed():
    with pytest.raises(UsageError, match="is not JSON"):
        read_json(b'{"name": 3, "sizes": [', Whole, "file.json")


def test_infinity_and_nan_round_trip_as_null():
    for number in (math.inf, -math.inf, math.nan, np.float64(math.inf)):
        text = json_text({"a": [Part("p", number)]})
        assert text == b'{"a":[{"name":"p","far":null,"near":null}]}'
        assert read_json(text, dict[str, list[Part]], "file") == {"a": [Part("p", math.inf)]}
    assert read_json(b'{"name": "p", "far": 1e999}', Part, "file").far == math.inf


def test_json_text_replaces_lone_surrogates():
    assert json_text(Part("a\udc80ä", math.inf)) == '{"name":"a?ä","far":null,"near":null}'.encode()


def test_json_text_writes_numpy_numbers_only():
    assert plain({"a": (np.float64(1.5), 2)}) == {"a": [1.5, 2]}
    with pytest.raises(NotImplementedError, match="object"):
        json_text(object())


def test_json_schema_allows_null_for_numbers():
    schema = json_schema([Part], "a part", "Said of it.")
    assert schema["$defs"]["Part"]["properties"]["far"]["type"] == ["number", "null"]
    assert schema["title"] == "a part"
    assert schema["description"].startswith("Said of it. JSON has neither infinity nor NaN: null")


FIRST = """
import sys, threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import make_dataclass
from parity.platform.serialization import read_json

sys.setswitchinterval(1e-6)
with ThreadPoolExecutor(4) as pool:
    for turn in range(60):
        inner = make_dataclass("Inner", [(f"x{i}", "list[int] | None", None) for i in range(20)])
        kind = make_dataclass("Outer", [("first", inner), ("rest", dict[str, inner])])
        start = threading.Barrier(4)
        def read(_):
            start.wait()
            return read_json('{"first": {"x3": [1]}, "rest": {"a": {"x4": [2]}}}', kind, "it")
        assert all(each.rest["a"].x4 == [2] for each in pool.map(read, range(4)))
"""


def test_read_json_concurrent_first_use_of_type():
    """msgspec 0.22 crashes with a segmentation fault when threads look up a type at the same time."""
    done = subprocess.run([sys.executable, "-c", FIRST], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
