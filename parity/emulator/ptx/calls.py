"""The functions that a PTX kernel executes. Calls through pointers and recursive calls get callees that are known.

A function of the emulator has one set of registers for each thread, and one place to return to. So a call through a
pointer becomes the call of a generated function, which compares the pointer with the address of each function that it
may lead to. Functions that may call themselves are copied: each copy calls the next one.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable, Mapping
from dataclasses import replace

from parity.emulator.ptx.parse import NAME, FunctionText, function_texts, module_variables, parse_parameters
from parity.errors import UsageError

DEEPEST = 32
"""How often a function may be active at a time. A deeper call is a trap."""

_CALL = re.compile(rf"\bcall(?:\.uni)?\s+(?:\([^)]*\)\s*,\s*)?(?P<name>{NAME})")
_CALL_BY_POINTER = re.compile(
    rf"(?P<guard>@!?%\w+\s+)?\bcall(?:\.uni)?\s*(?:\((?P<results>[^)]*)\)\s*,)?\s*(?P<pointer>%\w+)\s*,\s*(?:\((?P<given>[^)]*)\)\s*,)?"
    rf"\s*(?P<prototype>{NAME})\s*;"
)
_PROTOTYPE = re.compile(
    rf"(?P<name>{NAME})\s*:\s*\.callprototype\s*(?:\((?P<results>[^)]*)\))?\s*_\s*(?:\((?P<parameters>[^)]*)\))?\s*;"
)
_ADDRESS = re.compile(rf"\bmov\.[bu]64\s+%\w+\s*,\s*({NAME})\s*;")
_WORD = re.compile(NAME)
_ANONYMOUS = re.compile(r"(?<![\w$%])_(?![\w$])")


@functools.lru_cache(maxsize=64)
def kernel_functions(ptx: str, name: str) -> tuple[FunctionText, ...]:
    """Return the text of a kernel and the texts of all functions that it can call.

    Raises:
        UsageError: The kernel does not exist.
    """
    texts = function_texts(ptx)
    if name not in texts or not texts[name].entry:
        raise UsageError(f"the PTX has no code for kernel {name!r}: it is truncated or belongs to another module")
    found: dict[str, FunctionText] = {}
    waiting = [texts[name]]
    while waiting:
        met = waiting.pop()
        if met.name not in found:
            direct, generated = _with_known_callees(met, ptx)
            found[met.name] = direct
            waiting += [texts[called] for called in _called(direct.text) if called in texts]
            waiting += [each for each in generated if each.name not in found]
    return tuple(_unrolled(found).values())


def _called(text: str) -> list[str]:
    """Return the names of the functions that a text calls, in order."""
    return list(dict.fromkeys(_CALL.findall(text)))


def _with_known_callees(function: FunctionText, ptx: str) -> tuple[FunctionText, list[FunctionText]]:
    """Return a function with calls of generated functions instead of calls through pointers, and these functions."""
    if "callprototype" not in function.text:
        return function, []
    prototypes = {each["name"]: each for each in _PROTOTYPE.finditer(function.text)}
    generated: dict[str, FunctionText] = {}

    def known(call: re.Match[str]) -> str:
        prototype = prototypes.get(call["prototype"])
        if prototype is None or call["guard"]:
            return call[0]
        target = _dispatcher(prototype, function.line, ptx)
        generated[target.name] = target
        given = ", ".join(filter(None, ("pointed_to", (call["given"] or "").replace("\n", " ").strip())))
        results = f"({call['results']}), " if call["results"] else ""
        text = (
            f"{{ .param .b64 pointed_to; st.param.b64 [pointed_to], {call['pointer']}; "
            f"call {results}{target.name}, ({given}); }}"
        )
        return text + "\n" * call[0].count("\n")  # lines keep their numbers

    text = _PROTOTYPE.sub(lambda each: "\n" * each[0].count("\n"), _CALL_BY_POINTER.sub(known, function.text))
    return replace(function, text=text), list(generated.values())


def _dispatcher(prototype: re.Match[str], line: int, ptx: str) -> FunctionText:
    """Return a function on one line that calls what its first argument points to."""
    results = _named(prototype["results"] or "", "result")
    parameters = _named(prototype["parameters"] or "", "given")
    shape = _sizes(results), _sizes(parameters)
    candidates = [
        name for name in _pointed_to(ptx)
        if (_sizes(function_texts(ptx)[name].results), _sizes(function_texts(ptx)[name].parameters)) == shape
    ]  # fmt: skip
    name = "call_by_pointer_" + "_".join(map(str, (*shape[0], "of", *shape[1])))
    listed = f"(.param .b64 pointer{', ' if parameters else ''}{parameters})"
    body = (
        ".reg .pred %p; .reg .b64 %from, %to, %b8; .reg .b32 %b4; .reg .b16 %b2, %b1; ld.param.b64 %from, [pointer]; "
    )
    for number, candidate in enumerate(candidates):
        body += f"mov.u64 %to, {candidate}; setp.ne.u64 %p, %from, %to; @%p bra other_{number}; "
        body += f"{{ {_direct_call(function_texts(ptx)[candidate])}}} ret; other_{number}: "
    text = f".func {f'({results})' if results else ''} {name}{listed} {{ {body}trap; ret; }}"
    return FunctionText(name, False, text, line, f"({results})" if results else "", listed)


def _direct_call(function: FunctionText) -> str:
    """Return the code that passes the parameters on, calls a function and returns its results."""
    given, gives = parse_parameters(function.parameters), parse_parameters(function.results)
    passed, returned = [f"passed{i}" for i in range(len(given))], [f"returned{i}" for i in range(len(gives))]
    sizes = (*zip(passed, given, strict=True), *zip(returned, gives, strict=True))
    code = "".join(f".param .align 8 .b8 {name}[{each.size}]; " for name, each in sizes)
    code += "".join(_copied(function.text, "ld", each.name, f"given{i}", passed[i]) for i, each in enumerate(given))
    results, arguments = f"({', '.join(returned)}), " if returned else "", f", ({', '.join(passed)})" if passed else ""
    code += f"call {results}{function.name}{arguments}; "
    return code + "".join(
        _copied(function.text, "st", each.name, returned[i], f"result{i}") for i, each in enumerate(gives)
    )


def _copied(text: str, access: str, name: str, source: str, to: str) -> str:
    """Return the code that copies the parts of a parameter that a function accesses, with the sizes of its accesses.

    A value of 64 bits is not two values of 32 bits: the emulator keeps the values of all threads side by side.
    """
    accesses = re.compile(rf"\b{access}\.param(?:\.v(\d))?\.[bsuf](\d+)\s[^;]*?\[{re.escape(name)}(?:\+(\d+))?\]")
    parts = {
        (int(offset or 0) + i * int(bits) // 8, int(bits) // 8)
        for count, bits, offset in accesses.findall(text)
        for i in range(int(count or 1))
    }
    return "".join(
        f"ld.param.b{8 * size} %b{size}, [{source}+{at}]; st.param.b{8 * size} [{to}+{at}], %b{size}; "
        for at, size in sorted(parts)
    )


def _named(parameters: str, prefix: str) -> str:
    """Give the parameters of a prototype names: ``.param .b32 _, .param .b64 _``."""
    numbers = iter(range(parameters.count("_") + 1))
    return _ANONYMOUS.sub(lambda _: f"{prefix}{next(numbers)}", " ".join(parameters.split()))


def _sizes(parameters: str) -> tuple[int, ...]:
    return tuple(each.size for each in parse_parameters(parameters))


@functools.lru_cache(maxsize=8)
def _pointed_to(ptx: str) -> tuple[str, ...]:
    """Return the functions whose address is in a register or in a variable."""
    texts = function_texts(ptx)
    words: Iterable[str] = [word for each in module_variables(ptx).values() for word in _WORD.findall(each.value)]
    words = {*words, *(name for each in texts.values() for name in _ADDRESS.findall(each.text))}
    return tuple(name for name, text in texts.items() if name in words and not text.entry)


def _unrolled(functions: Mapping[str, FunctionText]) -> dict[str, FunctionText]:
    """Replace each function that may call itself by copies, of which each calls the next."""
    calls = {name: {called for called in _called(each.text) if called in functions} for name, each in functions.items()}
    reached = {name: _reached(name, calls) for name in functions}
    found: dict[str, FunctionText] = {}
    for name, each in functions.items():
        circle = {other for other in reached[name] if name in reached[other]}
        for depth in range(DEEPEST if circle else 1):
            found[_copy(name, depth)] = _copied_function(each, circle, depth)
    return found


def _copy(name: str, depth: int) -> str:
    return f"{name}$depth{depth}" if depth else name


def _copied_function(function: FunctionText, circle: set[str], depth: int) -> FunctionText:
    """Return a copy whose calls of functions that may call it lead to the next copy. The last copy has traps there."""

    def deeper(call: re.Match[str]) -> str:
        if call["name"] not in circle:
            return call[0]
        return f"trap; {call[0]}" if depth + 1 == DEEPEST else f"{call[0]}$depth{depth + 1}"

    if not circle:
        return function
    text = _CALL.sub(deeper, function.text)
    return replace(
        function, name=_copy(function.name, depth), text=text.replace("__local_depot", f"__local{depth}_depot")
    )


def _reached(name: str, calls: Mapping[str, set[str]]) -> set[str]:
    """Return the functions that a function calls, directly or not."""
    found, waiting = set[str](), [*calls[name]]
    while waiting:
        if (met := waiting.pop()) not in found:
            found.add(met)
            waiting += calls[met]
    return found
