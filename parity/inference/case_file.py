"""Renders skeletons of ops as the text of a case file."""

from __future__ import annotations

import functools
import textwrap
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path, PurePath

import jinja2

from parity.inference.keywords import Keyword, Literal
from parity.inference.skeleton import Skeleton
from parity.inference.spec import is_mistake
from parity.triton_kernels.kernel import TritonKernel

_WIDTH = 120
_LONG_TEXT, _TEXT_WIDTH, _MAPPING_WIDTH = 80, 100, 110
_JOINED = "\0"
"""Stands for a blank at which a line must not be wrapped."""
_WRITTEN = "Written by parity init."
_COMPLETE = "Complete shapes=, grid= and block= as the host has them, and remove the # signs."
_CORRECT = "Correct the kernel, delete this comment, and run parity init again."
_FAILS = "parity run fails until the kernel is correct."


def case_file(source: PurePath, ops: Iterable[Skeleton], asked: Mapping[str, str], before: str = "") -> str:
    """Return the text of a case file, or the text ``before`` with further ops.

    Args:
        before: The text to add ops to.
        source: The source of the kernels.
        ops: The ops of the file.
        asked: Why ops cannot be declared yet, by name. These ops become comments.
    """
    texts, incomplete = [], dict[tuple[str, str], str]()
    for op in ops:
        reason = asked.get(op.name, op.question)
        like = incomplete.setdefault(op.template, op.kernel) if reason else op.kernel
        texts.append(_text(op, reason) if like == op.kernel else _alike(op, reason, like))
    if before:
        return "\n\n".join((before.rstrip("\n"), *texts)) + "\n"
    names = "Op, triton" if any("triton(" in text for text in texts) else "Op"
    return _template("case_file.py.j2").render(source=source, texts=texts, names=names)


def is_inferred(text: str) -> bool:
    """Return True if parity init wrote this case file."""
    return _WRITTEN in text.partition("\n")[0]


def literal(value: Literal) -> str:
    """Return the Python source of a value, with double quotes."""
    match value:
        case str():
            return f'"{value}"'
        case tuple():
            return f"({', '.join(map(literal, value))}{',' * (len(value) == 1)})"
        case TritonKernel():
            return f"triton({', '.join(_words(value))})"
        case Mapping():
            return "{" + ", ".join(f'"{key}": {literal(each)}' for key, each in value.items()) + "}"
    return repr(value)


def _words(kernel: TritonKernel) -> Iterator[str]:
    """Yield the arguments of ``triton`` that declare a kernel."""
    yield literal(f"{kernel.file}:{kernel.name}")
    yield from (f"{name}={each!r}" for name, each in kernel.given.items())


def _text(op: Skeleton, reason: str) -> str:
    """Return the declaration of an op. With a ``reason`` why it is incomplete, the text is a comment."""
    if op.omitted:
        return "\n".join(_wrapped(f"# {op.kernel}: {op.omitted}"))
    text = _template("op.py.j2").render(op=op).rstrip("\n")
    if not reason:
        first, _, rest = text.partition("\n")
        finding = _wrapped(f"# A mistake: {op.finding.rstrip('.')}. {_FAILS}") if op.finding else []
        return "\n".join((*_wrapped(first), *finding, rest))
    first, *lines = (line if line.startswith("#") else f"# {line}" for line in text.splitlines())
    title, advice = ("Not declared", _CORRECT) if is_mistake(reason) else ("To be completed", _COMPLETE)
    todo = _wrapped(f"# {title}: {reason.rstrip('.')}. {advice}")
    host = _wrapped(f"# The host launches it in {op.launched}") if op.launched else []
    return "\n".join((*_wrapped(first), *todo, *host, *lines))


def _alike(op: Skeleton, reason: str, like: str) -> str:
    """Return the comment of a further instance of a template of which ``like`` is not declared either."""
    return "\n".join((f"# {op.kernel}: not declared, like {like}", *_wrapped(f"#   {reason.partition('; first:')[0]}")))


def _source(keyword: Keyword) -> str:
    """Return the lines of a keyword argument. Long texts and mappings take several lines."""
    value, note = keyword.value, f"  # {keyword.note}" if keyword.note else ""
    name = f"    {keyword.name}="
    line = f"{name}{literal(value)},{note}"
    if isinstance(value, Mapping) and any(isinstance(each, str) and " " in each for each in value.values()):
        items = "".join(f"{_item(key, each)}\n" for key, each in value.items())
        return f"{name}{{{note}\n{items}    }}," if len(line) > _WIDTH else line
    if isinstance(value, Mapping) and len(line) > _WIDTH:
        parts = _split(f"{literal(value)[1:-1]},", _MAPPING_WIDTH)
        return "\n".join((f"{name}{{{note}", *(f"        {part}" for part in parts), "    },"))
    if isinstance(value, TritonKernel) and len(line) > _WIDTH:
        text = " ".join(f"{each.replace(' ', _JOINED)}," for each in _words(value))
        parts = [part.replace(_JOINED, " ") for part in _split(text, _MAPPING_WIDTH)]
        return "\n".join((f"{name}triton({note}", *(f"        {part}" for part in parts), "    ),"))
    if isinstance(value, str) and keyword.wraps and len(value) > _LONG_TEXT:
        *parts, last = _split(value, _TEXT_WIDTH)
        return "\n".join((f"{name}({note}", *(f'        "{part} "' for part in parts), f'        "{last}"', "    ),"))
    return line


def _item(key: str, value: Literal) -> str:
    """Return the lines of an item of a mapping. Texts with blanks may be long."""
    line = f'        "{key}": {literal(value)},'
    if len(line) <= _WIDTH or not isinstance(value, str):
        return line
    *parts, last = _split(value, _TEXT_WIDTH)
    lines = [*(f'            "{part} "' for part in parts), f'            "{last}"']
    return "\n".join((f'        "{key}": (', *lines, "        ),"))


def _split(text: str, width: int) -> list[str]:
    return textwrap.wrap(text, width, break_long_words=False, break_on_hyphens=False)


def _wrapped(text: str) -> list[str]:
    return textwrap.wrap(text, _WIDTH, subsequent_indent="#   ", break_long_words=False)


@functools.cache
def _template(name: str) -> jinja2.Template:
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(Path(__file__).parent), undefined=jinja2.StrictUndefined, trim_blocks=True,
        lstrip_blocks=True, keep_trailing_newline=True,
    )  # fmt: skip
    environment.filters["source"] = _source
    return environment.get_template(name)
