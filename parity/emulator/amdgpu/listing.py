"""Parse assembly listings of AMD GPUs into the instructions of a kernel."""

from __future__ import annotations

import functools
import re
from dataclasses import dataclass, replace

from parity.compilers.include import HEADERS_ALIAS, HIP_ALIAS, LIBRARY_ALIAS
from parity.emulator.amdgpu.data_sections import data_image
from parity.emulator.instruction import Instruction
from parity.errors import UsageError

ALLOCATE, RELEASE = "parity_allocate", "parity_release"
"""Mnemonics that stand for the functions of ROCm's device library (ockl) that allocate and release memory."""
_REPLACED = {"__ockl_dm_alloc": ALLOCATE, "__ockl_dm_dealloc": RELEASE}
"""Functions of which only the effect is emulated: they manage a heap that a runtime has to prepare."""
_ALIGN = re.compile(r"; align (\d+)")
_PRIVATE = re.compile(r"; private (.+)$")
_ARRAYS = re.compile(r"^; private (.+)$", re.MULTILINE)
_LABEL = re.compile(r"\s*([.\w$]+):")
_DATA = re.compile(r"\s*\.(?:byte|short|hword|word|int|long|quad|octa)\b")
CACHED = 1 << 14
"""Lines of assembly whose parts and translation a process remembers."""
_LOC = re.compile(r"^\t\.loc\t\d+ (\d+) .*?;\s*(\S+?):\d+:\d+(.*)")
_SYMBOL = re.compile(r"([\w.$]+)@(?:gotpc)?rel32@lo")
_CALLER = re.compile(r"@\[ (\S+?:\d+):\d+")
_PLACE = re.compile(r"(?:; |@\[ )([^\s;:]+):(\d+):\d+")
_HEADERS = ("/", f"{HEADERS_ALIAS}/", f"{HIP_ALIAS}/", f"{LIBRARY_ALIAS}/")
_RELOAD = "-byte Folded Reload"
"""The comment that LLVM adds to a reload of a spilled register, which may never have been written."""
_DISTANCE = re.compile(r"(@(?:gotpc)?rel32@(?:lo|hi))(?:\+(\d+)|-(\d+))?$")
_LITERAL = re.compile(r"-?(?:0x[0-9a-fA-F]+|\d+)$")
_MODIFIER_SPLIT = re.compile(r"\s+(?![^\[(]*[\])])")


@dataclass(frozen=True)
class KernelCode:
    """The code of a kernel and of the functions that it calls.

    Attributes:
        items: instructions and labels (``str``) in order; the ``callees`` follow the kernel, each after its label.
        descriptor: the numbers of the kernel's ``.amdhsa_`` directives.
    """

    name: str
    items: tuple[Instruction | str, ...]
    descriptor: dict[str, int]
    callees: tuple[str, ...] = ()

    @property
    def instructions(self) -> list[Instruction]:
        """The instructions without labels. An index of this list is the number of an instruction."""
        return [item for item in self.items if isinstance(item, Instruction)]


@dataclass(frozen=True)
class FunctionBody:
    """The text of one function, which begins at line ``line`` of the listing."""

    name: str
    text: str
    line: int

    @property
    def arrays(self) -> tuple[str, ...]:
        """The private arrays with their types; the empty string stands for an array of the compiler."""
        return tuple(array.replace("?", "") for array in _ARRAYS.findall(self.text))


@functools.lru_cache(maxsize=64)  # called repeatedly for a kernel, and each search reads the listing
def function_bodies(listing: str, name: str) -> tuple[FunctionBody, ...]:
    """Return the code of a kernel, from its label to the end of its descriptor, and of all functions that it can call.

    Raises:
        UsageError: the listing lacks the kernel, or ends inside of it.
    """
    start = listing.find(f"\n{name}:")
    if start < 0:
        raise UsageError(f"the listing has no code for kernel {name!r}: it was cut off or belongs to another module")
    end = listing.find("\n.Lfunc_end", start)
    descriptor = listing.find(f"\t.amdhsa_kernel {name}\n", start)
    stop = listing.find("\t.end_amdhsa_kernel", descriptor)
    if min(end, descriptor, stop) < 0:
        what = "its code or its .amdhsa_kernel block has no end; compile again"
        raise UsageError(f"the listing is cut off in kernel {name!r}: {what}")
    # The descriptor is between the last instruction and .Lfunc_end.
    found = {name: _body(listing, name, start, max(end, stop))}
    image = data_image(listing)
    met: set[str] = set()
    waiting = [name]
    # A kernel that calls through pointers may call any function whose address is in the data.
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
            if mnemonic := _REPLACED.get(symbol):
                text = f"{symbol}:\n\t{mnemonic} v[0:1]\n\ts_setpc_b64 s[30:31]"
                found[symbol] = replace(found[symbol], text=text)
        if symbol in found:
            text = found[symbol].text
            waiting += reversed(dict.fromkeys(_SYMBOL.findall(text) if "rel32@lo" in text else ()))  # mostly none
        else:
            waiting += image.referred.get(symbol, ())
    return tuple(found.values())


def _body(listing: str, name: str, start: int, end: int) -> FunctionBody:
    return FunctionBody(name, listing[start + 1 : end], listing.count("\n", 0, start + 1) + 1)


@functools.lru_cache(maxsize=4)
def kernel_code(listing: str, name: str) -> KernelCode:
    """Parse a kernel of a listing. Cached, because a failing kernel runs again while its case is shrunk.

    Raises:
        UsageError: the listing lacks the kernel, or ends inside of it.
    """
    items: list[Instruction | str] = []
    descriptor: dict[str, int] = {}
    bodies = function_bodies(listing, name)
    for body in bodies:
        _parse_body(body, items, descriptor)
    return KernelCode(name, tuple(items), descriptor, tuple(body.name for body in bodies[1:]))


def source_lines(listing: str, name: str) -> dict[tuple[str, int], dict[int, str]]:
    """Return the lines of the user's files that a kernel was compiled from, with their instructions by line of the
    listing.

    A line has the instructions that were compiled from it, and those that were inlined into it.
    """
    found: dict[tuple[str, int], dict[int, str]] = {}
    instructions = {item.line: item.text for item in kernel_code(listing, name).instructions}
    for body in function_bodies(listing, name):
        places: list[tuple[str, int]] = []
        for number, text in enumerate(body.text.split("\n"), body.line):
            if text.startswith("\t.loc\t"):
                every = ((file, int(line)) for file, line in _PLACE.findall(text))
                places = [(file, line) for file, line in every if line and not file.startswith(_HEADERS)]
            elif number in instructions:
                for place in places:
                    found.setdefault(place, {})[number] = instructions[number]
    return found


def _parse_body(body: FunctionBody, items: list[Instruction | str], descriptor: dict[str, int]) -> None:
    source: str | None = None
    header: str | None = None
    in_code = True
    has_distances = "rel32@" in body.text
    beyond = 0  # bytes from the end of the last s_getpc_b64
    for line, text in enumerate(body.text.split("\n"), body.line):
        if text.startswith("\t.") and not (in_code and _DATA.match(text)):
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
        else:  # inline assembly may have labels and instructions at any place of a line
            code = text.partition(";")[0].partition("//")[0]
            while ":" in code and (label := _LABEL.match(code)):
                items.append(label[1])
                code = code[label.end() :]
            if not (code := code.strip()):
                continue
            item = parse_instruction(code, line, source, header)
            if ";" in text:
                item = _annotated(item, text)
            if item.mnemonic == "s_getpc_b64":
                beyond = 0
            elif has_distances and item.mnemonic.startswith("s_"):
                item = _with_offsets(item, beyond + 4)
                beyond += 8 if any(map(_is_literal, item.operands)) else 4
            items.append(item)


def _annotated(item: Instruction, text: str) -> Instruction:
    """Add the facts that the comment of an instruction states."""
    if promised := _ALIGN.search(text):
        item = replace(item, align=int(promised[1]))
    if private := _PRIVATE.search(text):
        return replace(item, array=private[1].replace("?", ""))
    return replace(item, array="") if _RELOAD in text else item


def _with_offsets(item: Instruction, distance: int) -> Instruction:
    """Change each distance to a symbol into an offset from the symbol.

    The listing counts from the operand, which is ``distance`` bytes after the address that s_getpc_b64 returns.
    """

    def operand(text: str) -> str:
        match = _DISTANCE.search(text) if "rel32@" in text else None
        if not match or not (match[2] or match[3]):
            return text
        return f"{text[: match.end(1)]}{int(match[2] or 0) - int(match[3] or 0) - distance:+d}"

    operands = tuple(map(operand, item.operands))
    return item if operands == item.operands else replace(item, operands=operands)


def _is_literal(operand: str) -> bool:
    """True for a 32-bit literal: neither a register nor an inline constant."""
    if _LITERAL.match(operand):
        return not -16 <= int(operand, 0) <= 64
    return "rel32@" in operand or operand.startswith("(")


def _own(place: str, callers: str) -> tuple[str, str | None]:
    """The place in the user's files, and the place in a header if the code was inlined from it."""
    if not place.startswith(_HEADERS):
        return place, None
    own = (caller for caller in _CALLER.findall(callers) if not caller.startswith(_HEADERS))
    return next(own, place), place


def parse_instruction(code: str, line: int, source: str | None = None, header: str | None = None) -> Instruction:
    """Parse one line of assembly without its comment."""
    mnemonic, operands, modifiers, second = _parts(code)
    paired = parse_instruction(second, line, source, header) if second else None
    own = header if header != source else None
    return Instruction(code, mnemonic, operands, modifiers, line, source, paired, own)


@functools.lru_cache(maxsize=CACHED)  # kernels of a module consist of similar lines
def _parts(code: str) -> tuple[str, tuple[str, ...], tuple[str, ...], str]:
    """The mnemonic, the operands and the modifiers of a line, and the second half of a dual-issue pair."""
    first, _, second = code.partition(" :: ")
    mnemonic, _, rest = first.partition(" ")
    *operands, last = _split(rest)
    tail = _MODIFIER_SPLIT.split(last)
    return mnemonic, (*operands, *tail[:1]) if rest else (), tuple(tail[1:]), second


def _split(text: str) -> list[str]:
    """Split at commas outside of brackets."""
    return [part.strip() for part in re.split(r",(?![^\[(]*[\])])", text)]
