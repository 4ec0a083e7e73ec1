"""Runs the host code of a project to see how it launches a Triton kernel: grid, tensors, numbers and constants.

The functions that mention a kernel are called with guessed arguments: tensors (``host_tensors.py``), numbers and flags.
Where host code contradicts a guess, the guess is corrected and the function called again. The launch itself does
nothing but tell what is passed. ``child.py`` uses this. This file imports nothing of parity but its neighbours.
"""

from __future__ import annotations

import ast
import contextlib
import functools
import inspect
import io
import itertools
import linecache
import re
import signal
import time
import traceback
import types
import warnings
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from parity.triton_kernels.host_facts import LAST, Complaint, Contradiction, Extent, Guess, stated_ranks
from parity.triton_kernels.host_guesses import ALL, GuessedObject, Guesses
from parity.triton_kernels.host_records import Launched, Unusable, launched
from parity.triton_kernels.host_tensors import DTYPES, Tensor, is_of_tensor
from parity.triton_kernels.host_torch import Context, Function
from parity.triton_kernels.loading import Loader, Placeholder
from parity.triton_kernels.names import INDEX, TENSOR

_SIZES = ((16, 16), (4, 16), (64, 64), (2, 32), (16, 128), (128, 128), (32, 32), (8, 256), (2, 64), (16, 1024), (1, 16))
"""Extents to try: of the first dims, and of the last one or two dims."""
_LARGER = ((64, 64), (128, 128))
"""Extents to try as well if smaller ones lead to a launch: a kernel without masks may need whole blocks."""
_RANKS = (2, 3, 4, 1)
_SECONDS, _CORRECTIONS, _MOST_RUNS = 8, 40, 400
"""Processor time for the host code of a kernel, corrections of one run, and runs of a function."""
_OPTIONAL = re.compile(r"\bOptional\[|\bNone\b")
_COMPARED = re.compile(r"(\w+) is (?:not )?None$")


class _Late(BaseException):
    """Host code takes too long."""


def launches(
    kernel: Mapping[str, Any], files: Sequence[Path], reals: Sequence[str], loader: Loader
) -> Iterator[dict[str, Any]]:
    """Yield launches of a kernel by host code in these files, the most usual first.

    A launch may be followed by launches of the same kind with larger tensors, ``larger``. ``kernel`` has ``file``,
    ``function`` and ``pointers``, the names of the parameters that are pointers.
    """
    from triton.runtime.jit import KernelInterface

    end = time.process_time() + _SECONDS
    seen, before = set[str](), KernelInterface.__getitem__
    KernelInterface.__getitem__ = lambda self, grid: lambda *args, **named: launched(kernel, self, grid, args, named)
    try:
        for path in files:
            for owner, function in _callers(path, kernel["function"]):
                for found in _runs(path, owner, function, reals, loader, end):
                    if (text := repr((found["constants"], found["arguments"]))) not in seen:
                        seen.add(text)
                        yield found
    finally:
        KernelInterface.__getitem__ = before


def _callers(path: Path, name: str) -> Iterator[tuple[str, ast.FunctionDef]]:
    """Yield the functions of a file that mention a kernel, with the name of their class."""

    def mentions(node: ast.FunctionDef) -> bool:
        return any(
            (isinstance(each, ast.Name) and each.id == name) or (isinstance(each, ast.Attribute) and each.attr == name)
            for each in ast.walk(node)
        ) and not any("jit" in ast.unparse(each) for each in node.decorator_list)

    try:
        tree = ast.parse(path.read_text(errors="replace"))
    except SyntaxError:
        return
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.If | ast.Try | ast.ClassDef):
            owner = node.name if isinstance(node, ast.ClassDef) else ""
            yield from ((owner, each) for each in node.body if isinstance(each, ast.FunctionDef) and mentions(each))


def _runs(
    path: Path, owner: str, function: ast.FunctionDef, reals: Sequence[str], loader: Loader, end: float
) -> Iterator[dict[str, Any]]:
    """Yield the launches of one function: one for each dtype and way of using optional arguments that leads to it."""
    facts: dict[str, dict[str, Any]] = {name: {"rank": rank} for name, rank in stated_ranks(path, function).items()}
    runs = 0
    for optional, flag in ((False, False), (True, True), (True, False)):
        for real in reals:
            tried = itertools.product(((_SIZES[0], True), *((size, False) for size in _SIZES)), _RANKS)
            is_open = True
            for (size, is_small), rank in tried:
                if time.process_time() > end or (runs := runs + 1) > _MOST_RUNS:
                    return
                if not is_open and rank != _RANKS[0]:
                    continue
                _forget_extents(facts)
                guesses = Guesses(facts, size, rank, real, optional, flag, is_small)
                if found := _corrected(path, owner, function, loader, guesses):
                    yield found
                    for more in (each for each in _LARGER if each > size):
                        _forget_extents(facts)
                        guesses = Guesses(facts, more, rank, real, optional, flag)
                        if found := _corrected(path, owner, function, loader, guesses):
                            yield {**found, "larger": True}
                    break
                is_open = guesses.is_open


def _forget_extents(facts: Mapping[str, dict[str, Any]]) -> None:
    """Remove corrections that belong to a size, for all arguments."""
    for each in facts.values():
        for name in [name for name in each if name.startswith("dim") or name == "value"]:
            del each[name]


def _corrected(
    path: Path, owner: str, function: ast.FunctionDef, loader: Loader, guesses: Guesses
) -> dict[str, Any] | None:
    """Call a function until host code does not contradict the guesses. Return the launch, if there is one."""
    known = set[tuple[str, str, str]]()
    for _ in range(_CORRECTIONS):
        Complaint.last = None
        guesses.is_open = False
        is_certain, correction = False, tuple[str, str, Any](("", "", None))
        try:
            _call(path, owner, function, loader, guesses)
            correction = Complaint.last or correction  # it took another branch
        except Launched as done:
            return done.launch
        except Contradiction as shown:
            correction, is_certain = (shown.key, shown.fact, shown.value), True
            if shown.fact == "attribute":
                correction = shown.key, "kind", "tensor" if is_of_tensor(shown.value) else "object"
        except (Unusable, _Late, SyntaxError, ImportError):
            return None
        except Exception as error:
            correction = _suspected(error, guesses) or correction
        key, fact, value = correction
        is_settled = fact == "rank" and not is_certain and any((key, fact) == each[:2] for each in known)
        if not key or is_settled or (key, fact, repr(value)) in known:
            return None
        known.add((key, fact, repr(value)))
        for each in (key, ALL) if fact == "dtype" and DTYPES[value].is_floating_point else (key,):
            guesses.facts.setdefault(each, {})[fact] = value
    return None


def _suspected(error: Exception, guesses: Guesses) -> tuple[str, str, Any] | None:
    """Return which guess an error of host code suggests to change."""
    own = str(Path(__file__).parent)
    frames = [each for each in traceback.walk_tb(error.__traceback__) if not each[0].f_code.co_filename.startswith(own)]
    line, names = "", dict[str, Any]()
    if frames:
        frame, number = frames[-1]
        line = _condition(frame.f_code.co_filename, number) or linecache.getline(frame.f_code.co_filename, number)
        names = {**frame.f_globals, **frame.f_locals}
    if "None" in str(error):
        for name in re.findall(r"[A-Za-z_]\w*", line):
            if names.get(name, name) is None:
                used = re.search(r"no attribute '(\w+)'", str(error))
                other = "object" if used and not is_of_tensor(used[1]) else "tensor"
                return name, "kind", "number" if "operand" in str(error) or "compar" in str(error) else other
    if isinstance(error, KeyError) and isinstance(error.args[0], Guess):
        tables = [names.get(table) for table in re.findall(r"(\w+)\[", line)]
        known = next((each for each in tables if isinstance(each, dict) and each), None)
        return (error.args[0].key, "value", next(iter(known))) if known else None
    if member := re.search(r"(\w+) in (\{[^{}]*\})", line):
        found, allowed = names.get(member[1]), ast.literal_eval(member[2])
        if isinstance(found, Extent | Guess) and found.key and found not in allowed:
            nearest = min(allowed, key=lambda each: (abs(each - found), each))
            rank = guesses.facts.get(found.key, {}).get("rank", guesses.rank)
            if isinstance(found, Extent) and found.axis == rank - 1:
                return LAST, f"dim{int(found)}", nearest  # the other tensors probably have the same last dim
            return found.key, found.fact, nearest
    if (kinds := [each for each in re.findall(r"torch\.(\w+)", line) if each in DTYPES]) and ".dtype" in line:
        for name in re.findall(r"(\w+)\.dtype\b", line):
            if isinstance(tensor := names.get(name), Tensor) and tensor.key and tensor.dtype.title not in kinds:
                return tensor.key, "dtype", kinds[0]
    if ranked := re.search(r"len\((\w+)\.(?:shape|size\(\))\)\s*(==|>=?)\s*(\d)", line):
        tensor = names.get(ranked[1])
        if isinstance(tensor, Tensor) and tensor.key:
            return tensor.key, "rank", int(ranked[3]) + (ranked[2] == ">")
    return Complaint.last


@functools.cache
def _condition(file: str, number: int) -> str:
    """Return the condition that failed, in one line, if this line asserts, or raises an error below an ``if``."""
    found = ""
    for each in ast.walk(_tree(file)):
        if isinstance(each, ast.Assert) and each.lineno <= number <= (each.end_lineno or 0):
            return ast.unparse(each.test)
        if isinstance(each, ast.If):
            raises = (one for one in (*each.body, *each.orelse) if isinstance(one, ast.Raise))
            if any(one.lineno <= number <= (one.end_lineno or 0) for one in raises):
                found = ast.unparse(each.test)
    return found


@functools.cache
def _tree(file: str) -> ast.Module:
    return ast.parse("".join(linecache.getlines(file)))


def _call(path: Path, owner: str, function: ast.FunctionDef, loader: Loader, guesses: Guesses) -> None:
    """Call a function of host code once."""
    target: Any = loader.function(path, owner or function.name)
    if isinstance(target, Placeholder):
        raise ImportError(function.name)
    with _quiet():
        if not owner:
            _finish(target(**_arguments(function, target, guesses, 0)))
            return
        method = inspect.unwrap(getattr(target, function.name))
        if issubclass(target, Function) and function.name == "backward":
            context = Context()
            forward = next(each for each in _methods(path, owner) if each.name == "forward")
            out = target.forward(context, **_arguments(forward, target.forward, guesses, 1))
            grads = [each for each in (out if isinstance(out, tuple) else (out,)) if isinstance(each, Tensor)]
            taken = len(function.args.args) - 1
            grads += [guesses.value(each.arg, "tensor") for each in function.args.args[1 + len(grads) :]]
            target.backward(context, *(grads if function.args.vararg else grads[:taken]))
        elif issubclass(target, Function):
            method(Context(), **_arguments(function, method, guesses, 1))
        else:
            is_static = any("staticmethod" in ast.unparse(each) for each in function.decorator_list)
            first = () if is_static else (GuessedObject("self", guesses),)
            _finish(method(*first, **_arguments(function, method, guesses, len(first))))


def _finish(result: Any) -> None:
    """Call what host code returns to be called later, as benchmarks do, if it takes no argument."""
    if isinstance(result, types.FunctionType) and not inspect.signature(result).parameters:
        result()


def _methods(path: Path, owner: str) -> list[ast.FunctionDef]:
    tree = ast.parse(path.read_text(errors="replace"))
    found = next(each for each in ast.walk(tree) if isinstance(each, ast.ClassDef) and each.name == owner)
    return [each for each in found.body if isinstance(each, ast.FunctionDef)]


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """Discard output, and end what takes long."""

    def ring(*_: Any) -> None:
        raise _Late

    before = signal.signal(signal.SIGVTALRM, ring)
    signal.setitimer(signal.ITIMER_VIRTUAL, 2)
    try:
        with contextlib.redirect_stdout(io.StringIO()), warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)


def _arguments(node: ast.FunctionDef, function: Any, guesses: Guesses, skipped: int) -> dict[str, Any]:
    """Return arguments of a function. Parameters with a default that is not None keep it.

    A parameter has the default None if its annotation allows None, or if the function compares it with None.
    """
    given: dict[str, Any] = {}
    parameters = [*node.args.posonlyargs, *node.args.args][skipped:]
    defaults = _defaults(function)
    compared = _compared_with_none(node)
    for each in (*parameters, *node.args.kwonlyargs):
        name = each.arg
        if name in compared or (each.annotation and _OPTIONAL.search(ast.unparse(each.annotation))):
            defaults.setdefault(name, None)
        default = defaults.get(name)
        is_guessed = name not in defaults or (default is None and guesses.optional)
        if is_guessed or "kind" in guesses.facts.get(name, {}):
            given[name] = guesses.value(name, _kind(node, each))
        else:
            given[name] = default or guesses.flag if isinstance(default, bool) else default
    return given


@functools.cache
def _compared_with_none(node: ast.FunctionDef) -> frozenset[str]:
    """Return the names that a function compares with None."""
    texts = (ast.unparse(each) for each in ast.walk(node) if isinstance(each, ast.Compare))
    return frozenset(found[1] for text in texts if (found := _COMPARED.match(text)))


def _defaults(function: Any) -> dict[str, Any]:
    try:
        parameters = inspect.signature(inspect.unwrap(function)).parameters
    except (TypeError, ValueError):
        return {}
    return {name: each.default for name, each in parameters.items() if each.default is not each.empty}


def _kind(node: ast.FunctionDef, argument: ast.arg) -> str:
    """Guess what an argument is from its annotation, its name and its use."""
    name, text = argument.arg, ast.unparse(argument.annotation) if argument.annotation else ""
    if re.search(r"(?i)^(?!(?:\w+\.)*(?:union\[)?(?:\w+\.)*tensor).*(?:list|sequence|tuple)\[.*tensor", text):
        return "list"
    if "Tensor" in text:
        return "tensor"
    if "dtype" in text or name.endswith("dtype"):
        return "dtype"
    for word, kind in (("bool", "flag"), ("float", "real"), ("int", "number")):
        if re.search(rf"\b{word}\b", text):
            return kind
    if text and not re.search(r"\bAny\b|str|Optional|Union|\|", text):
        return "object"
    used = {
        each.attr for each in ast.walk(node)
        if isinstance(each, ast.Attribute) and isinstance(each.value, ast.Name) and each.value.id == name
    }  # fmt: skip
    if any(map(is_of_tensor, used)):
        return "tensor"
    if used:
        return "object"
    return "tensor" if TENSOR.fullmatch(name) or INDEX.fullmatch(name) else "number"


def set_driver(target: Any) -> None:
    """Let the code of a project ask Triton for the current device: the ``GPUTarget`` that code is compiled for."""
    from triton.backends import backends
    from triton.runtime import driver

    for name, each in backends.items():
        is_active = name == {"cuda": "nvidia", "hip": "amd"}[target.backend]
        each.driver.is_active = staticmethod(lambda is_active=is_active: is_active)

    limits = {"max_shared_mem": 101376, "multiprocessor_count": 8, "warpSize": 32, "max_num_regs": 65536}
    driver.set_active(
        types.SimpleNamespace(
            get_current_target=lambda: target, get_current_device=lambda: 0, get_current_stream=lambda *_: 0,
            utils=types.SimpleNamespace(get_device_properties=lambda *_: limits), launcher_cls=None,
            get_active_torch_device=lambda: Tensor.device, get_device_interface=lambda: None,
        )
    )  # fmt: skip
