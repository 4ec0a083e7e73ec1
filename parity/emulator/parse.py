"""From the text of an assembly listing to the instructions of one kernel."""

from __future__ import annotations

import re
from dataclasses import dataclass

from parity.errors import UsageError

__all__ = ["Function", "Instruction", "body_of", "function_of"]

_LABEL = re.compile(r"^([.\w$]+):")
_LOC = re.compile(r"^\t\.loc\t\d+ (\d+) .*?;\s*(\S+?):\d+:\d+")
_MODIFIER_SPLIT = re.compile(r"\s+(?![^\[]*\])")


@dataclass(frozen=True, slots=True)
class Instruction:
    """One machine instruction as printed: ``v_add_f32_e64 v0, |v1|, s2 clamp``.

    ``line`` is its line in the listing (1-based), ``source`` the ``file:line`` it was compiled from, if the listing
    says so. The second half of a dual-issue pair is its own instruction in ``paired``.
    """

    text: str
    mnemonic: str
    operands: tuple[str, ...]
    modifiers: tuple[str, ...]
    line: int
    source: str | None
    paired: Instruction | None = None


@dataclass(frozen=True)
class Function:
    """One kernel's code: ``items`` in order, a ``str`` is a label; ``descriptor`` holds its ``.amdhsa_`` numbers."""

    name: str
    items: tuple[Instruction | str, ...]
    descriptor: dict[str, int]

    @property
    def instructions(self) -> list[Instruction]:
        """The instructions without the labels; a position in this list is an instruction's number."""
        return [item for item in self.items if isinstance(item, Instruction)]


def body_of(listing: str, name: str) -> tuple[str, int]:
    """The lines of kernel ``name`` from its label to the end of its descriptor, and the number of lines before them.

    Raises:
        UsageError: the listing has no such kernel, or is cut off inside it.
    """
    start = listing.find(f"\n{name}:")
    if start < 0:
        raise UsageError(f"the listing has no code for kernel {name!r}: it was cut off or belongs to another module")
    end = listing.find("\n.Lfunc_end", start)
    descriptor = listing.find(f"\t.amdhsa_kernel {name}\n", start)
    stop = listing.find("\t.end_amdhsa_kernel", descriptor)
    if min(end, descriptor, stop) < 0:
        raise UsageError(
            f"the listing is cut off in kernel {name!r}: its code or its .amdhsa_kernel block has no end; compile again"
        )
    # The descriptor stands between the last instruction and .Lfunc_end.
    return listing[start + 1 : max(end, stop)], listing.count("\n", 0, start + 1)


def function_of(listing: str, name: str) -> Function:
    """Parse kernel ``name`` of a listing.

    Raises:
        UsageError: as for ``body_of``.
    """
    body, line = body_of(listing, name)
    items: list[Instruction | str] = []
    descriptor: dict[str, int] = {}
    source: str | None = None
    in_code = True
    for text in body.split("\n"):
        line += 1
        if text.startswith("\t."):
            if text.startswith("\t.loc"):
                if (where := _LOC.match(text)) and where[1] != "0":
                    source = f"{where[2]}:{where[1]}"
            elif text.startswith("\t.section"):
                in_code = False
        elif text.startswith("\t\t.amdhsa_"):
            key, _, value = text.strip().removeprefix(".amdhsa_").partition(" ")
            if value.isdigit():
                descriptor[key] = int(value)
        elif not in_code:
            continue
        elif text.startswith("\t") and (code := text.partition(";")[0].strip()):
            items.append(_instruction(code, line, source))
        elif label := _LABEL.match(text):
            items.append(label[1])
    return Function(name, tuple(items), descriptor)


def _instruction(code: str, line: int, source: str | None) -> Instruction:
    first, dual, second = code.partition(" :: ")
    mnemonic, _, rest = first.partition(" ")
    *operands, last = _split(rest)
    tail = _MODIFIER_SPLIT.split(last)
    return Instruction(
        code,
        mnemonic,
        (*operands, *tail[:1]) if rest else (),
        tuple(tail[1:]),
        line,
        source,
        _instruction(second, line, source) if dual else None,
    )


def _split(text: str) -> list[str]:
    """Split at the commas outside of brackets."""
    return [part.strip() for part in re.split(r",(?![^\[(]*[\])])", text)]
