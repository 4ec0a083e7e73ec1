"""Writes listings for the emulator of code objects that were built elsewhere: code, kernel descriptors and data."""

from __future__ import annotations

import bisect
import io
import itertools
import re
import struct
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from parity.compilers.disassembler import BRANCHES, DisassembledLine, Disassembler, disassemble, find_disassembler
from parity.compilers.elf import FUNCTION, OBJECT, Symbol, metadata, symbols
from parity.compilers.jumps import REACH, CodeAddress, code_address
from parity.compilers.targets import Target, target
from parity.errors import ParityError, UsageError
from parity.platform.files import read_rows
from parity.platform.serialization import json_text

_AMDGPU = 224  # EM_AMDGPU
_TARGET = re.compile(r".*--(\w+)")
# Instructions that add the halves of a distance to the instruction counter: s_add_co_* since generation 12.
_LOW, _HIGH = ("s_add_u32", "s_add_co_u32"), ("s_addc_u32", "s_add_co_ci_u32")
_SHIFTS = ("&4294967295", ">>32")
_ADDITIONS = {
    "s_sub_u32": "s_add_u32",
    "s_subb_u32": "s_addc_u32",
    "s_sub_co_u32": "s_add_co_u32",
    "s_sub_co_ci_u32": "s_add_co_ci_u32",
}
"""Replacements of the subtractions that compute the address of earlier code."""
_DATA = (".rodata", ".data", ".bss", ".got")
_ABSOLUTE, _RELATIVE = 3, 13  # R_AMDGPU_ABS64, R_AMDGPU_RELATIVE64
# Tensile clears accumulators by reading LDS far beyond its end, which gives 0 on a GPU.
_OUTSIDE = re.compile(r"v_mov_b32_e32 (?P<to>v\d+), 0xf00000")
_CLEARING = re.compile(r"ds_read_b32 (?P<to>(?P<kind>[av])\d+), (?P<at>v\d+)")


@dataclass(frozen=True)
class _Field:
    """A directive of the kernel descriptor: the format of its word (struct), the lowest bit, and the number of bits.

    Source: LLVM, "User Guide for AMDGPU Backend".
    """

    directive: str
    offset: int
    format: str
    bit: int
    bits: int


_FIELDS = read_rows(Path(__file__).with_name("kernel_descriptor.csv"), _Field)


def disassembled_listing(path: Path, name: str = "", kernels: Collection[str] | None = None) -> str:
    """Return the listing of a code object. Errors call the file ``name``.

    ``kernels`` selects kernels; the default is all. Functions that kernels may call, and data, are always complete, so
    that variables have the same places in the listings of different kernels.

    Raises:
        UsageError: the file is damaged, or is not a code object for a target that parity supports.
        MissingTool: no disassembler is installed.
    """
    name = name or path.name
    from elftools.elf.elffile import ELFFile  # slow to import, and most commands do not need it

    content = path.read_bytes()
    if not content.startswith(b"\x7fELF"):
        raise UsageError(f"{name} is not a code object: it does not begin like an ELF file, but with {content[:8]!r}")
    tools = find_disassembler()
    try:
        elf = ELFFile(io.BytesIO(content))
        if (end := elf["e_shoff"] + elf["e_shnum"] * elf["e_shentsize"]) > len(content):
            raise UsageError(f"{name} is cut off: it has {len(content)} bytes of {end} or more")
        if elf.header["e_machine"] not in (_AMDGPU, "EM_AMDGPU"):
            raise UsageError(f"{name} is not a code object for AMD GPUs, but for {elf.header['e_machine']}")
        return "\n".join(_listing(elf, path, name, tools, kernels))
    except ParityError:
        raise
    except Exception as error:  # pyelftools raises many types of errors for damaged files
        raise UsageError(f"{name} is damaged: {error or type(error).__name__}") from error


def _listing(
    elf: Any, path: Path, name: str, tools: Disassembler, kernels: Collection[str] | None = None
) -> Iterator[str]:
    document, where = _metadata(elf, name, kernels)
    known = {s.name: s for s in symbols(elf, ".dynsym", ".symtab")}
    functions = {n: s for n, s in known.items() if s.kind == FUNCTION and (s.size or f"{n}.kd" in known)}
    names = {s.address: n for n, s in functions.items()}
    chosen = [
        (n, range(s.address, _end(s, functions.values(), elf)))
        for n, s in functions.items()
        if names[s.address] == n and (kernels is None or n in kernels or f"{n}.kd" not in known)
    ]
    lines = disassemble(path, name, where, tools, [place for _, place in chosen])
    addresses = [line.address for line in lines]
    pointers = dict(_pointers(elf, name))
    referred = _referred(lines, names, elf) | {to: names.get(to, f".Ldata_{to:x}") for to in pointers.values()}
    variables = {s.address: s for s in known.values() if _is_variable(s, known)}
    referred |= {at: s.name for at, s in variables.items()}
    yield f'\t.amdgcn_target "amdgcn-amd-amdhsa--{where}"'
    for i, (symbol, place) in enumerate(chosen):
        body = lines[bisect.bisect_left(addresses, place.start) : bisect.bisect_left(addresses, place.stop)]
        if not body:
            raise UsageError(f"{name}: {tools} finds no instructions in {symbol}")
        yield from ("\t.text", f"\t.type\t{symbol},@function", f"{symbol}:", *_code(body, referred))
        if descriptor := known.get(f"{symbol}.kd"):
            yield '\t.section\t.rodata,"a"'
            yield f"\t.amdhsa_kernel {symbol}"
            yield from _descriptor(_bytes_at(elf, descriptor.address, 64), where)
            yield from ("\t.end_amdhsa_kernel", "\t.text")
        yield f".Lfunc_end{i}:"
    sizes = {s.name: s.size for s in variables.values()}
    descriptors = [s.address for s in known.values() if s.name.endswith(".kd")]
    yield from _data(
        elf,
        {address: n for address, n in referred.items() if address not in names},
        sizes,
        {at: referred[to] for at, to in pointers.items()},
        descriptors,
    )
    yield from ("\t.text", "\t.amdgpu_metadata", document, "\t.end_amdgpu_metadata", "")


def _metadata(elf: Any, name: str, kernels: Collection[str] | None) -> tuple[str, Target]:
    """Return the metadata as JSON, which is YAML, and the target. Features are not a part of the target's name."""
    document = metadata(elf)
    found = _TARGET.match(str(document.get("amdhsa.target")))
    if not found:
        raise UsageError(
            f"{name} has no metadata that names its target: it is damaged, or older than code object version 4; "
            "compile again (-mcode-object-version=5)"
        )
    document["amdhsa.target"] = f"amdgcn-amd-amdhsa--{found[1]}"
    if kernels is not None:
        document["amdhsa.kernels"] = [each for each in document["amdhsa.kernels"] if each[".name"] in kernels]
    return json_text(document).decode(), target(found[1])


def _end(function: Symbol, functions: Iterable[Symbol], elf: Any) -> int:
    """Return the end of a function. Hand-written assembly has no size; it ends at the next function or section."""
    start = function.address
    if function.size:
        return start + function.size
    later = [each.address for each in functions if each.address > start]
    sections: list[tuple[int, int]] = [(s["sh_addr"], s["sh_addr"] + s["sh_size"]) for s in elf.iter_sections()]
    return min([*later, *(end for begin, end in sections if begin <= start < end)])


def _referred(lines: Iterable[DisassembledLine], functions: Mapping[int, str], elf: Any) -> dict[int, str]:
    """Return the name of each address that the code computes."""
    sections = [s for s in elf.iter_sections() if s.name.startswith(_DATA)]
    inside = [range(s["sh_addr"], s["sh_addr"] + s["sh_size"]) for s in sections]
    found: dict[int, str] = {}
    for address in _addresses(list(lines)).values():
        if address[1] in functions:
            found[address[1]] = functions[address[1]]
        elif any(address[1] in place for place in inside):
            found[address[1]] = f".Ldata_{address[1]:x}"
    return found


def _addresses(lines: list[DisassembledLine]) -> dict[int, tuple[str, int]]:
    """Return the instructions that add half of a distance to the instruction counter, by address.

    Each has the half (``lo`` or ``hi``) and the resulting address.
    """
    found: dict[int, tuple[str, int]] = {}
    for i, line in enumerate(lines):
        if not line.text.startswith("s_getpc_b64 s["):
            continue
        low, high = re.findall(r"\d+", line.text.partition("[")[2])
        halves: dict[str, tuple[int, int]] = {}
        for near in lines[i + 1 : i + 9]:
            mnemonic, _, rest = near.text.partition(" ")
            parts = rest.split(", ")
            for half, register, mnemonics in (("lo", low, _LOW), ("hi", high, _HIGH)):
                if mnemonic in mnemonics and parts[:2] == [f"s{register}"] * 2 and re.match(r"-?\d", parts[2]):
                    halves.setdefault(half, (near.address, int(parts[2], 0) % (1 << 32)))
        if len(halves) == 2:
            distance = halves["lo"][1] | halves["hi"][1] << 32
            to = (line.address + len(line.code) + distance) % (1 << 64)
            found |= {at: (half, to) for half, (at, _) in halves.items()}
    return found


def _code(body: list[DisassembledLine], names: Mapping[int, str]) -> Iterator[str]:
    addresses = _addresses(body)
    branches = {line.address: _branched(line) for line in body if line.text.startswith(BRANCHES)}
    inside = {line.address for line in body}
    computed = [each for each in _code_addresses(body) if each.to in inside]
    jumps = {each.branch: each.to for each in computed if each.branch is not None}
    kept = [each for each in computed if each.branch is None and each.to not in names]
    halves = {at: (each.to, shift) for each in kept for at, shift in zip(each.halves, _SHIFTS, strict=True)}
    labels = {*branches.values(), *jumps.values(), *(each.to for each in kept)}
    place, outside = "", ""
    for line in body:
        if line.address in labels:
            yield f".Lbb_{line.address:x}:"
        if line.place != place:
            place = line.place
            yield place
        mnemonic, _, operands = line.text.partition(" ")
        if line.address in branches:
            operands = f".Lbb_{branches[line.address]:x}"
        elif line.address in jumps:
            mnemonic, operands = "s_branch", f".Lbb_{jumps[line.address]:x}"
        elif line.address in halves:  # as clang writes the address of a label
            to, shift = halves[line.address]
            mnemonic = _ADDITIONS.get(mnemonic, mnemonic)
            operands = f"{operands.rpartition(',')[0]}, (.Lbb_{to:x}-.Lpost_getpc0){shift}"
        elif line.address in addresses and (to := addresses[line.address][1]) not in labels:
            half = addresses[line.address][0]
            # Relative to the end of s_getpc, the literal of the low half begins at 4 bytes, of the high half at 12.
            symbol = f"{names[to]}@rel32@{half}+{4 if half == 'lo' else 12}" if to in names else f".text+{to:#x}"
            operands = f"{operands.rpartition(',')[0]}, {symbol}"
        elif outside and (match := _CLEARING.fullmatch(line.text)) and match["at"] == outside:
            yield f"\t{'v_accvgpr_write_b32' if match['kind'] == 'a' else 'v_mov_b32_e32'} {match['to']}, 0"
            continue
        outside = match["to"] if (match := _OUTSIDE.fullmatch(line.text)) else ""
        yield f"\t{mnemonic} {operands}".rstrip()


def _code_addresses(body: list[DisassembledLine]) -> Iterator[CodeAddress]:
    """Yield the addresses of instructions that the code computes."""
    for i, line in enumerate(body):
        if line.text.startswith("s_getpc_b64 s["):
            near = [(each.address, len(each.code), each.text) for each in body[i : i + REACH]]
            if found := code_address(near):
                yield found


def _branched(line: DisassembledLine) -> int:
    """Return the target address of a branch. The instruction contains it in words from the next instruction."""
    (words,) = struct.unpack_from("<h", line.code)
    return line.address + 4 + 4 * int(words)


def _descriptor(data: bytes, where: Target) -> Iterator[str]:
    scratch = "enable_private_segment" if where.architected_scratch else "system_sgpr_private_segment_wavefront_offset"
    for field in _FIELDS:
        (word,) = struct.unpack_from(f"<{field.format}", data, field.offset)
        yield f"\t\t.amdhsa_{field.directive or scratch} {word >> field.bit & (1 << field.bits) - 1}"


def _bytes_at(elf: Any, address: int, size: int) -> bytes:
    for section in elf.iter_sections():
        if section["sh_addr"] and 0 <= (at := address - section["sh_addr"]) <= section["sh_size"] - size:
            return bytes(section.data()[at : at + size])
    raise ValueError(f"nothing is at the address {address:#x} of a kernel's descriptor")


def _is_variable(symbol: Symbol, symbols: Mapping[str, Symbol]) -> bool:
    """Return True for a variable of the source, which is not the descriptor of a kernel."""
    kernel = symbol.name.removesuffix(".kd")
    descriptor = kernel != symbol.name and kernel in symbols
    return symbol.kind == OBJECT and bool(symbol.size) and not descriptor


def _pointers(elf: Any, name: str) -> Iterator[tuple[int, int]]:
    """Yield the places of addresses in data, and the addresses there."""
    for section in elf.iter_sections():
        if section["sh_type"] == "SHT_REL" and section["sh_size"]:
            raise UsageError(f"{name} has relocations without addends, which parity cannot place")
        if section["sh_type"] != "SHT_RELA":
            continue
        table = elf.get_section(section["sh_link"])
        for relocation in section.iter_relocations():
            kind, to = relocation["r_info_type"], relocation["r_addend"]
            if kind == _ABSOLUTE:
                to += table.get_symbol(relocation["r_info_sym"])["st_value"]
            elif kind != _RELATIVE:
                raise UsageError(f"{name} has a relocation of type {kind}, which parity cannot place")
            if to:
                yield relocation["r_offset"], to


def _data(
    elf: Any,
    names: Mapping[int, str],
    sizes: Mapping[str, int],
    pointers: Mapping[int, str],
    descriptors: Collection[int],
) -> Iterator[str]:
    """Yield the data sections, with a label at each address that the code refers to.

    ``sizes`` has the size of each variable, ``pointers`` the symbol at each place that holds an address. A section that
    contains only ``descriptors`` of kernels is left out.
    """
    for section in elf.iter_sections():
        start, end = section["sh_addr"], section["sh_addr"] + section["sh_size"]
        places = sorted(a for a in names if start <= a < end)
        if not section.name.startswith(_DATA) or start == end:
            continue
        if not places and (end - start) // 64 == sum(start <= at < end for at in descriptors):
            continue
        yield f"\t.section\t{section.name if section.name != '.got' else '.data.rel.ro'}"
        yield f"\t.p2align\t{(section['sh_addralign'] or 1).bit_length() - 1}"
        yield f".Lsection_{start:x}:"
        content = b"" if section["sh_type"] == "SHT_NOBITS" else section.data()
        inside = {at: symbol for at, symbol in pointers.items() if start <= at < end}
        cuts = sorted({start, *places, *inside, *(at + 8 for at in inside), end})
        for begin, stop in itertools.pairwise(cuts):
            if begin in names:
                yield f"{names[begin]}:"
                if names[begin] in sizes:
                    yield f"\t.size\t{names[begin]}, {sizes[names[begin]]}"
            if begin in inside:
                yield f"\t.quad\t{inside[begin]}"
                continue
            if not content:
                yield f"\t.zero\t{stop - begin}"
            for at in range(begin, stop if content else begin, 32):
                part = content[at - start : min(at + 32, stop) - start]
                yield f'\t.ascii\t"{"".join(f"{chr(92)}x{byte:02x}" for byte in part)}"'
