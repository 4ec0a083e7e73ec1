"""From the text of an assembly listing to the instructions of one kernel."""

from __future__ import annotations

import functools
import re
from dataclasses import dataclass, replace

from parity.compilers.include import HEADERS_ALIAS, HIP_ALIAS, LIBRARY_ALIAS
from parity.emulator.image import image_of
from parity.errors import UsageError

__all__ = ["Body", "Instruction", "KernelCode", "bodies_of", "instruction_of", "kernel_code"]

_ALIGN = re.compile(r"; align (\d+)")
_PRIVATE = re.compile(r"; private (.+)$")
_ARRAYS = re.compile(r"^; private (.+)$", re.MULTILINE)
_LABEL = re.compile(r"^([.\w$]+):")
_LOC = re.compile(r"^\t\.loc\t\d+ (\d+) .*?;\s*(\S+?):\d+:\d+(.*)")
_SYMBOL = re.compile(r"([\w.$]+)@(?:gotpc)?rel32@lo")
_CALLER = re.compile(r"@\[ (\S+?:\d+):\d+")
_HEADERS = ("/", f"{HEADERS_ALIAS}/", f"{HIP_ALIAS}/", f"{LIBRARY_ALIAS}/")
_RELOAD = "-byte Folded Reload"
"""The note of LLVM behind a load of what it spilled: a register, also one that nothing wrote."""
_DISTANCE = re.compile(r"(@(?:gotpc)?rel32@(?:lo|hi))(?:\+(\d+)|-(\d+))?$")
_LITERAL = re.compile(r"-?(?:0x[0-9a-fA-F]+|\d+)$")
_MODIFIER_SPLIT = re.compile(r"\s+(?![^\[(]*[\])])")


@dataclass(frozen=True, slots=True)
class Instruction:
    """One machine instruction as printed: ``v_add_f32_e64 v0, |v1|, s2 clamp``.

    ``line`` is its line in the listing (1-based), ``source`` the ``file:line`` it was compiled from, if the listing
    says so; ``header`` is the place in a header of HIP or of C++ that was inlined there. The second half of a
    dual-issue pair is its own instruction in ``paired``. ``align`` is what the source's type promises of the address,
    ``array`` the private array that is accessed, and its type, where that is known: ``s float[8]``; empty for memory of
    the compiler's own.
    """

    text: str
    mnemonic: str
    operands: tuple[str, ...]
    modifiers: tuple[str, ...]
    line: int
    source: str | None
    paired: Instruction | None = None
    header: str | None = None
    align: int = 1
    array: str | None = None


@dataclass(frozen=True)
class KernelCode:
    """One kernel's code: ``items`` in order, a ``str`` is a label; ``descriptor`` holds its ``.amdhsa_`` numbers.

    The functions it calls, ``callees``, follow the kernel itself, each after the label of its name.
    """

    name: str
    items: tuple[Instruction | str, ...]
    descriptor: dict[str, int]
    callees: tuple[str, ...] = ()

    @property
    def instructions(self) -> list[Instruction]:
        """The instructions without the labels; a position in this list is an instruction's number."""
        return [item for item in self.items if isinstance(item, Instruction)]


@dataclass(frozen=True)
class Body:
    """The lines of one function, of which the first is line ``line`` of the listing."""

    name: str
    text: str
    line: int

    @property
    def arrays(self) -> tuple[str, ...]:
        """Its private arrays with their types; empty is one that the compiler made."""
        return tuple(array.replace("?", "") for array in _ARRAYS.findall(self.text))


@functools.lru_cache(maxsize=64)  # a kernel's are asked for again and again, and found by reading the listing
def bodies_of(listing: str, name: str) -> tuple[Body, ...]:
    """The code of kernel ``name``, from its label to the end of its descriptor, and of all functions it can call.

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
    found = {name: _body(listing, name, start, max(end, stop))}
    image = image_of(listing)
    met: set[str] = set()
    waiting = [name]
    # A pointer to a function may come from anywhere: from an argument, too.
    if ".amdhsa_uses_dynamic_stack 1" in found[name].text:
        waiting += [symbol for symbols in image.referred.values() for symbol in symbols if symbol in image.functions]
    while waiting:
        symbol = waiting.pop()
        if symbol in met:
            continue
        met.add(symbol)
        if symbol in image.functions and symbol not in found:
            start = listing.find(f"\n{symbol}:")
            found[symbol] = _body(listing, symbol, start, listing.find("\n.Lfunc_end", start))
        if symbol in found:
            text = found[symbol].text
            waiting += reversed(dict.fromkeys(_SYMBOL.findall(text) if "rel32@lo" in text else ()))  # mostly none
        else:
            waiting += image.referred.get(symbol, ())
    return tuple(found.values())


def _body(listing: str, name: str, start: int, end: int) -> Body:
    return Body(name, listing[start + 1 : end], listing.count("\n", 0, start + 1) + 1)


@functools.lru_cache(maxsize=4)
def kernel_code(listing: str, name: str) -> KernelCode:
    """Parse kernel ``name`` of a listing. Cached, because a kernel that fails runs again while its case is shrunk.

    Raises:
        UsageError: as for ``bodies_of``.
    """
    items: list[Instruction | str] = []
    descriptor: dict[str, int] = {}
    bodies = bodies_of(listing, name)
    for body in bodies:
        _parse_body(body, items, descriptor)
    return KernelCode(name, tuple(items), descriptor, tuple(body.name for body in bodies[1:]))


def _parse_body(body: Body, items: list[Instruction | str], descriptor: dict[str, int]) -> None:
    source: str | None = None
    header: str | None = None
    in_code = True
    beyond = 0  # bytes from the end of the last s_getpc_b64
    for line, text in enumerate(body.text.split("\n"), body.line):
        if text.startswith("\t."):
            if text.startswith("\t.loc"):
                if (where := _LOC.match(text)) and where[1] != "0":
                    source, header = _own(f"{where[2]}:{where[1]}", where[3])
            elif text.startswith("\t.section"):
                in_code = False
        elif text.startswith("\t\t.amdhsa_"):
            key, _, value = text.strip().removeprefix(".amdhsa_").partition(" ")
            if value.isdigit():
                descriptor[key] = int(value)
        elif not in_code:
            continue
        elif text.startswith("\t") and (code := text.partition(";")[0].strip()):
            item = instruction_of(code, line, source, header)
            if promised := _ALIGN.search(text):
                item = replace(item, align=int(promised[1]))
            if private := _PRIVATE.search(text):
                item = replace(item, array=private[1].replace("?", ""))
            elif _RELOAD in text:
                item = replace(item, array="")
            if item.mnemonic == "s_getpc_b64":
                beyond = 0
            elif item.mnemonic.startswith("s_"):
                item = _with_offsets(item, beyond + 4)
                beyond += 8 if any(map(_is_literal, item.operands)) else 4
            items.append(item)
        elif label := _LABEL.match(text):
            items.append(label[1])


def _with_offsets(item: Instruction, distance: int) -> Instruction:
    """With the offset from the symbol itself in each operand that is a distance to a symbol.

    The listing gives it from the place of the operand, which is ``distance`` bytes from what s_getpc_b64 gave.
    """

    def operand(text: str) -> str:
        match = _DISTANCE.search(text) if "rel32@" in text else None
        if not match or not (match[2] or match[3]):
            return text
        return f"{text[: match.end(1)]}{int(match[2] or 0) - int(match[3] or 0) - distance:+d}"

    operands = tuple(map(operand, item.operands))
    return item if operands == item.operands else replace(item, operands=operands)


def _is_literal(operand: str) -> bool:
    """True for an operand with four bytes of its own, which is no register and no inline constant."""
    if _LITERAL.match(operand):
        return not -16 <= int(operand, 0) <= 64
    return "rel32@" in operand or operand.startswith("(")


def _own(place: str, callers: str) -> tuple[str, str | None]:
    """The place in the user's own files, and that in another header if the code was inlined from there."""
    if not place.startswith(_HEADERS):
        return place, None
    own = (caller for caller in _CALLER.findall(callers) if not caller.startswith(_HEADERS))
    return next(own, place), place


def instruction_of(code: str, line: int, source: str | None = None, header: str | None = None) -> Instruction:
    """One line of assembly, without its comment."""
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
        instruction_of(second, line, source, header) if dual else None,
        header if header != source else None,
    )


def _split(text: str) -> list[str]:
    """Split at the commas outside of brackets."""
    return [part.strip() for part in re.split(r",(?![^\[(]*[\])])", text)]
