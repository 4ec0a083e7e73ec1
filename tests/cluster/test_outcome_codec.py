"""The codec for outcomes: values that are sent between machines round-trip, malformed values are refused."""

from __future__ import annotations

import dataclasses
import enum
import types
from collections.abc import Mapping, Sequence
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

import ml_dtypes
import numpy as np
import pytest

from parity.cluster import launches, messages
from parity.cluster.launches import drop_unchanged, restore_unchanged
from parity.engine import bench, outcomes, worker
from parity.engine import coverage_search as search
from parity.errors import ParityError
from parity.model.dtypes import dtype
from parity.model.launch import Buffer, Fault, Outcome, Shadows
from parity.mutation import trial
from parity.platform.serialization import packed, unpacked

FUNCTIONS = [
    worker.perform,
    worker.perform_or_lose_device,
    outcomes.record_task,
    bench.measure_task,
    launches.capabilities,
    launches.compute,
    launches.execute,
    launches.execute_task,
    launches.explain,
    launches.max_arithmetic,
    launches.shadows,
    search.search_task,
    trial.try_mutant,
    trial.choose_faults,
    trial.run_unmutated,
]
TYPES = {f"{each.__module__}.{each.__name__}": get_type_hints(each)["return"] for each in FUNCTIONS} | {
    each.__name__: each for each in (messages.Answer, messages.WorkerOffer, messages.Request, Outcome, Shadows)
}


def filled(kind: Any, depth: int = 0) -> Any:
    """Return a value of a type in which every field differs from its default."""
    origin, arguments = get_origin(kind), get_args(kind)
    if kind is Any:
        return "anything"
    if origin is Literal:
        return arguments[-1]
    if origin in (Union, types.UnionType):
        inside = [each for each in arguments if each is not types.NoneType]
        return filled(inside[0], depth + 1) if depth < 4 else None
    if origin is np.ndarray or kind is np.ndarray:
        return np.arange(1.0, 4.0, dtype=np.float32)
    if origin is tuple:
        return tuple(filled(each, depth) for each in (arguments if arguments[-1] is not ... else arguments[:1]))
    if origin is list or origin is Sequence:
        return [filled(arguments[0], depth)]
    if origin is dict or origin is Mapping:
        return {filled(arguments[0], depth): filled(arguments[1], depth)}
    if isinstance(kind, type) and issubclass(kind, enum.Enum):
        return list(kind)[-1]
    if dataclasses.is_dataclass(kind):
        hints = get_type_hints(kind)
        return kind(**{f.name: filled(hints[f.name], depth + 1) for f in dataclasses.fields(kind) if f.init})
    return {bool: True, int: 7, float: 0.25, str: "text", bytes: b"\0\xff"}[kind]


def comparable(value: Any) -> Any:
    """Return a value that ``==`` compares, with arrays as dtype, shape and bytes."""
    if isinstance(value, np.ndarray):
        return value.dtype.name, value.shape, value.tobytes()
    if dataclasses.is_dataclass(value):
        return type(value), {f.name: comparable(getattr(value, f.name)) for f in dataclasses.fields(value)}
    if isinstance(value, Mapping):
        return {key: comparable(each) for key, each in value.items()}
    return [comparable(each) for each in value] if isinstance(value, list | tuple) else value


@pytest.mark.parametrize("name", TYPES)
def test_type_with_all_fields_set_round_trips(name):
    value = filled(TYPES[name])
    assert comparable(unpacked(packed(value), TYPES[name], name)) == comparable(value)


@pytest.mark.parametrize("kind", [Outcome, Shadows])
def test_outcome_with_all_fields_set_round_trips_through_changed_buffers(kind):
    value = filled(kind)
    before = {"text": Buffer(dtype("f32"), np.zeros(3, np.float32)), "same": Buffer(dtype("f64"), np.ones(2))}

    def with_same(outcome: Any) -> Any:
        return dataclasses.replace(outcome, buffers={**outcome.buffers, "same": np.ones(2)})

    value = (
        with_same(value)
        if kind is Outcome
        else Shadows(with_same(value.nearest), *(tuple(map(with_same, x)) for x in list(vars(value).values())[1:]))
    )
    sent = drop_unchanged(value, before)
    first = sent if kind is Outcome else sent.nearest
    assert list(first.buffers) == ["text"]
    assert comparable(restore_unchanged(unpacked(packed(sent), kind, "it"), before)) == comparable(value)


@pytest.mark.parametrize("kind", [np.float16, ml_dtypes.bfloat16, ml_dtypes.float8_e4m3fn, np.int64, np.bool_])
@pytest.mark.parametrize("shape", [(), (0,), (2, 3)])
def test_array_round_trips_with_dtype_and_shape(kind, shape):
    value = launches.Computed(np.ones(shape, kind))
    assert comparable(unpacked(packed(value), launches.Computed, "it")) == comparable(value)


@pytest.mark.parametrize("data", [("object", (1,), b"\0" * 8), ("f4", (2,), b"\0"), ("nothing", (1,), b"")])
def test_malformed_array_is_refused(data):
    with pytest.raises(ParityError, match="it does not fit its type"):
        unpacked(packed({"output": data}), launches.Computed, "it")


@pytest.mark.parametrize("buffers", [{"other": np.zeros(4, np.uint8)}, {"x": np.zeros(3, np.uint8)}])
def test_buffers_with_wrong_name_or_size_become_fault(buffers):
    before = {"x": Buffer(dtype("f32"), np.zeros(1, np.float32))}
    found = restore_unchanged(Outcome(buffers), before)
    assert isinstance(found.fault, Fault) and found.fault.kind == "error" and found.buffers["x"] is before["x"].data
