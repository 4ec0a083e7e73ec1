"""Headers that protoc makes of ``.proto`` files, as far as sources need them to be read.

Enumerations are what protoc makes of them, for device code may use them. A message is a class with the accessors of its
fields, which are declared and do nothing: messages are the host's. What an import would bring is included under the
name of its header; a field of a type that another file has takes and gives anything.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

__all__ = ["header_of"]

_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|\'(?:[^\'\\]|\\.)*\'|-?[\w.]+|\S')
_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
_ANYTHING = "::parity_stub::Anything"
_SCALARS = {
    **dict.fromkeys(("int32", "sint32", "sfixed32"), "int32_t"),
    **dict.fromkeys(("uint32", "fixed32"), "uint32_t"),
    **dict.fromkeys(("int64", "sint64", "sfixed64"), "int64_t"),
    **dict.fromkeys(("uint64", "fixed64"), "uint64_t"),
    **dict.fromkeys(("string", "bytes"), "std::string"),
    **{name: name for name in ("float", "double", "bool")},
}
_LABELS = frozenset(("optional", "required", "repeated"))
_WORDS = """
and auto bool break case char class const continue default delete do double else enum export extern false float for
friend goto if inline int long namespace new not operator or private protected public register return short signed
sizeof static struct switch template this throw true try typedef typename union unsigned using virtual void volatile
while
"""
_KEYWORDS = frozenset(_WORDS.split())
"""Words of C++, to which protoc appends a low line."""


@dataclass
class _Scope:
    """A file or a message: what it declares, in order."""

    name: tuple[str, ...] = ()
    enums: dict[str, list[tuple[str, str]]] = field(default_factory=dict)
    messages: dict[str, _Scope] = field(default_factory=dict)
    fields: list[tuple[str, str, str]] = field(default_factory=list)
    oneofs: list[str] = field(default_factory=list)
    package: str = ""
    imports: list[str] = field(default_factory=list)


def header_of(text: str) -> str:
    """The header that protoc makes of a ``.proto`` file, in short; what it does not know it passes over."""
    tokens = _TOKEN.findall(_COMMENT.sub(" ", text))
    file = _Scope()
    _read(tokens, 0, file)
    known = {name: "_".join(name) for scope in _all(file) for name in _types(scope)}
    spaces = [part for part in file.package.split(".") if part]
    lines = ["#pragma once", "#include <parity/protobuf.h>"]
    lines += [f'#include "{name.removesuffix(".proto")}.pb.h"' for name in file.imports]
    lines += [f"namespace {space} {{" for space in spaces]
    lines += [f"class {'_'.join(scope.name)};" for scope in _all(file) if scope.name]
    for scope in _all(file):
        for name, values in scope.enums.items():
            lines += _enumeration((*scope.name, name), values)
    for scope in _all(file):
        if scope.name:
            lines += _message(scope, known)
    return "\n".join((*lines, "}" * len(spaces), ""))


def _all(scope: _Scope) -> Iterator[_Scope]:
    """A scope and those in it, the inner ones first."""
    for each in scope.messages.values():
        yield from _all(each)
    yield scope


def _types(scope: _Scope) -> Iterator[tuple[str, ...]]:
    yield from ((*scope.name, name) for name in (*scope.enums, *scope.messages))


def _read(tokens: Sequence[str], at: int, scope: _Scope) -> int:
    """Read declarations from ``at`` to the end of the scope; the place behind it."""
    while at < len(tokens) and tokens[at] != "}":
        word, after = tokens[at], tokens[at + 1 : at + 3]
        if word in ("message", "group") and after[1:] == ["{"]:
            inner = scope.messages.setdefault(after[0], _Scope((*scope.name, after[0])))
            at = _read(tokens, at + 3, inner)
        elif word == "enum" and after[1:] == ["{"]:
            at, scope.enums[after[0]] = _values(tokens, at + 3)
        elif word == "oneof" and after[1:] == ["{"]:
            scope.oneofs.append(after[0])
            at = _read(tokens, at + 3, scope)
        elif word in ("service", "extend"):
            at = _behind(tokens, at)
        else:
            end = _behind(tokens, at)
            _statement(tokens[at:end], scope)
            at = end
    return at + 1


def _behind(tokens: Sequence[str], at: int) -> int:
    """The place behind a statement, or a block."""
    depth = 0
    while at < len(tokens):
        depth += {"{": 1, "[": 1, "}": -1, "]": -1}.get(tokens[at], 0)
        at += 1
        if depth <= 0 and tokens[at - 1] in (";", "}"):
            break
    return at


def _values(tokens: Sequence[str], at: int) -> tuple[int, list[tuple[str, str]]]:
    found = []
    while at < len(tokens) and tokens[at] != "}":
        end = _behind(tokens, at)
        if tokens[at + 1] == "=" and tokens[at] not in ("option", "reserved"):
            found.append((tokens[at], tokens[at + 2]))
        at = end
    return at + 1, found


def _statement(words: Sequence[str], scope: _Scope) -> None:
    if words[0] == "package":
        scope.package = words[1]
    elif words[0] == "import":
        scope.imports += [word.strip("\"'") for word in words[1:] if word[0] in "\"'"]
    elif scope.name and words[0] not in ("option", "reserved", "extensions", "syntax") and "=" in words:
        label = words[0] if words[0] in _LABELS else ""
        words = words[bool(label) : words.index("=")]
        if words and words[0] == "map":
            scope.fields.append(("map", "", words[-1]))
        elif len(words) == 2:
            scope.fields.append((label, words[0], words[1]))


def _enumeration(path: tuple[str, ...], values: Sequence[tuple[str, str]]) -> Iterator[str]:
    name = "_".join(path)
    prefix = f"{'_'.join(path[:-1])}_" if path[1:] else ""
    listed = ", ".join(f"{prefix}{_spelled(value)} = {number}" for value, number in values)
    yield f"enum {name} : int {{ {listed} }};"
    yield f"bool {name}_IsValid(int); const std::string& {name}_Name(int);"
    yield f"bool {name}_Parse(const std::string&, {name}*);"
    if values:
        numbers = sorted(values, key=lambda pair: int(pair[1], 0))
        least, most = (prefix + _spelled(numbers[i][0]) for i in (0, -1))
        yield f"constexpr {name} {name}_MIN = {least}, {name}_MAX = {most};"
        yield f"constexpr int {name}_ARRAYSIZE = {name}_MAX + 1;"


def _message(scope: _Scope, known: dict[tuple[str, ...], str]) -> Iterator[str]:
    name = "_".join(scope.name)
    yield f"class {name} : public ::google::protobuf::Message {{ public:"
    yield f"  static const {name}& default_instance(); void CopyFrom(const {name}&); void MergeFrom(const {name}&);"
    yield f"  void Swap({name}*); {name}* New() const;"
    for inner in scope.messages:
        yield f"  using {inner} = {name}_{inner};"
    for inner, values in scope.enums.items():
        yield f"  using {inner} = {name}_{inner};"
        yield f"  static bool {inner}_IsValid(int); static const std::string& {inner}_Name(int);"
        yield from (f"  static constexpr {inner} {_spelled(each)} = {name}_{_spelled(each)};" for each, _ in values)
    for each in scope.oneofs:
        yield f"  int {each}_case() const; void clear_{each}();"
    for label, kind, of in scope.fields:
        yield f"  {_accessors(label, _type(kind, scope.name, known), _spelled(of.lower()))}"
    yield "};"


def _type(kind: str, scope: tuple[str, ...], known: dict[tuple[str, ...], str]) -> str:
    if kind in _SCALARS:
        return _SCALARS[kind]
    words = tuple(word for word in kind.split(".") if word)
    for length in range(len(scope), -1, -1):
        if found := known.get((*scope[:length], *words)):
            return found
    return next((known[words[i:]] for i in range(len(words)) if words[i:] in known), _ANYTHING)


def _accessors(label: str, kind: str, name: str) -> str:
    given = f"const {kind}&" if kind not in _SCALARS.values() or kind == "std::string" else kind
    clear = f"void clear_{name}();"
    if label == "map":
        return f"{_ANYTHING} {name}() const; {_ANYTHING} mutable_{name}(); int {name}_size() const; {clear}"
    if label == "repeated":
        listed = f"::google::protobuf::RepeatedField<{kind}>"
        return (
            f"int {name}_size() const; {given} {name}(int) const; const {listed}& {name}() const; {clear}"
            f" {kind}* mutable_{name}(int); {listed}* mutable_{name}(); void set_{name}(int, {given});"
            f" void add_{name}({given}); {kind}* add_{name}();"
        )
    return (
        f"bool has_{name}() const; {given} {name}() const; void set_{name}({given}); {kind}* mutable_{name}(); {clear}"
    )


def _spelled(name: str) -> str:
    return f"{name}_" if name in _KEYWORDS else name
