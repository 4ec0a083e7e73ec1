"""The decorator for frozen dataclasses, compared with the standard one."""

from __future__ import annotations

import dataclasses
import functools
import inspect
import itertools
import pickle
from collections.abc import Callable
from typing import Any

import pytest

from parity.platform.quick_dataclass import dataclass


def classes(decorator: Callable[..., Any]) -> dict[str, Any]:
    """Define one class of each kind with a decorator."""

    @decorator(frozen=True)
    class Plain:
        number: int
        text: str = "a"
        items: list[int] = dataclasses.field(default_factory=list)
        note: str = dataclasses.field(default="n", compare=False, repr=False, kw_only=True)
        made: int = dataclasses.field(init=False, default=0)
        more: dict[str, int] = dataclasses.field(init=False, default_factory=dict, hash=False)

        def __post_init__(self) -> None:
            object.__setattr__(self, "made", self.number + 1)

        @functools.cached_property
        def twice(self) -> int:
            return 2 * self.number

    @decorator(frozen=True)
    class Derived(Plain):
        number: int = 7
        last: float = 0.5

    @decorator(frozen=True)
    class One:
        only: Any

    @decorator(frozen=True)
    class Empty:
        pass

    @decorator(frozen=True, eq=False)
    class Identity:
        value: int

    @decorator(frozen=True, kw_only=True)
    class Keywords:
        second: int
        first: int = 1

    @decorator(frozen=True, slots=True)
    class Slots:
        value: int

    @decorator
    class Changeable:
        value: int

    @decorator(frozen=True)
    class Own:
        value: int

        def __eq__(self, other: object) -> bool:
            return True

        def __repr__(self) -> str:
            return "own"

    @decorator(frozen=True)
    class Recursive:
        inside: list[object]

    found = (Plain, Derived, One, Empty, Identity, Keywords, Slots, Changeable, Own, Recursive)
    return {each.__name__: each for each in found}


QUICK, STANDARD = classes(dataclass), classes(dataclasses.dataclass)
CALLS = [
    ("Plain", (1,), {}),
    ("Plain", (1, "b", [2]), {"note": "other"}),
    ("Plain", (), {}),
    ("Plain", (1, "b", [2], "positional"), {}),
    ("Derived", (), {}),
    ("Derived", (7, "a", [], 0.25), {}),
    ("One", (float("nan"),), {}),
    ("One", ((1, 2),), {}),
    ("Empty", (), {}),
    ("Identity", (3,), {}),
    ("Keywords", (), {"second": 2}),
    ("Keywords", (1,), {}),
    ("Slots", (3,), {}),
    ("Changeable", (3,), {}),
    ("Own", (3,), {}),
]


def attempt(call: Callable[[], Any]) -> Any:
    """Return the result of a call, or its exception as text."""
    try:
        return call()
    except Exception as error:
        return f"{type(error).__name__}: {error}"


def properties(instance: Any) -> list[Any]:
    """Everything that a caller can see of an instance."""
    if isinstance(instance, str):
        return [instance]
    names = [field.name for field in dataclasses.fields(instance)]
    return [
        repr(instance),
        attempt(lambda: hash(instance)) if type(instance).__name__ != "Identity" else "",
        *(attempt(lambda name=name: setattr(instance, name, 1)) for name in (*names, "other")),
        *(attempt(lambda name=name: delattr(instance, name)) for name in (names if names else ("other",))),
        type(instance).__match_args__,
        getattr(instance, "twice", None),
    ]


@pytest.mark.parametrize(("name", "arguments", "keywords"), CALLS)
def test_instance_behaves_as_one_of_standard_class(name, arguments, keywords):
    quick, standard = (attempt(lambda to=to: to[name](*arguments, **keywords)) for to in (QUICK, STANDARD))
    assert properties(quick) == properties(standard)
    assert str(inspect.signature(QUICK[name])) == str(inspect.signature(STANDARD[name]))


def test_instances_compare_as_standard_ones():
    def results(to: dict[str, Any]) -> list[Any]:
        made = [attempt(lambda call=call: to[call[0]](*call[1], **call[2])) for call in [*CALLS, *CALLS[:5]]]
        return [one == other for one, other in itertools.product(made, made)]

    assert results(QUICK) == results(STANDARD)
    assert True in results(QUICK)[1:] and False in results(QUICK)


def test_replace_fields_and_recursive_repr_work():
    one = QUICK["Plain"](1, items=[3])
    assert dataclasses.replace(one, number=4) == QUICK["Plain"](4, items=[3])
    assert dataclasses.asdict(one) == {"number": 1, "text": "a", "items": [3], "note": "n", "made": 2, "more": {}}
    recursive = QUICK["Recursive"]([])
    recursive.inside.append(recursive)
    assert repr(recursive) == "classes.<locals>.Recursive(inside=[...])"


@dataclass(frozen=True)
class Pickled:
    """At the top level of a module, as pickle requires."""

    value: int


def test_instance_can_be_pickled():
    assert pickle.loads(pickle.dumps(Pickled(3))) == Pickled(3)
