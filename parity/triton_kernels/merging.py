"""Joins the code of several Triton kernels into one listing, as a compiler writes it for a source with many kernels.

Symbols and labels get unique names, files in line tables get names that do not depend on where the project is, and
debug sections are left out. No instruction changes.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

_BEGIN, _END = "\t.amdgpu_metadata\n", "\t.end_amdgpu_metadata"
_NAME = re.compile(r"(\.name: )'?(\w+)'?$", re.MULTILINE)
"""A name in the metadata. LLVM before version 22 reads one such as ``n`` as a truth value unless it is marked."""
_DEFINED = re.compile(r"^\t\.type\t([^\s,]+),\s*@(?:function|object)", re.MULTILINE)
_GLOBAL = re.compile(
    r"^\s*(?:\.(?:visible|weak|common)\s+)*\.(?:global|const)\b[^=;\[]*?([\w$]+)\s*(?:\[|=|;)", re.MULTILINE
)
_LABEL = re.compile(r"\.L(BB|func_begin|func_end|JTI|CPI)(\d+)")
_LABELS = 1000
"""Labels of the same kind, numbered by function, that a listing of Triton may have."""
_DROPPED = r"cfi_\w+|amdgcn_target|amdhsa_code_object_version|amdhsa_inst_pref_size"
"""Directives that the joint listing writes itself, or that do not affect what instructions do."""
_UNUSED = re.compile(rf"^(?:\t+\.(?:{_DROPPED})\b[^\n]*|\.Ltmp\d+:[^\n]*)\n", re.MULTILINE)
_DEBUG = re.compile(r"^\t\.section\t\.debug_", re.MULTILINE)
_FILE = re.compile(r'^\s*\.file\s+(\d+)\s+"([^"]*)"(?:\s+"([^"]*)")?[^\n]*\n', re.MULTILINE)
_LOC = re.compile(r"^(\t\.loc\t)(\d+)( [^\n;]*);([^\n]*)$", re.MULTILINE)
_CODE = re.compile(r"^(?!\s*\.(?:file|loc)\s).*$", re.MULTILINE)
_PLACE = re.compile(r"([^\s\[\]]+?)(:\d+:\d+)")
_PTX_LOC = re.compile(
    r"^(\s*\.loc\s+)(\d+)( \d+ \d+)(?:, function_name [^,\n]+, inlined_at (\d+)( \d+ \d+))?", re.MULTILINE
)
_PTX_HEAD = re.compile(r"^\.(version|target|address_size)\s+([^\n]+)\n", re.MULTILINE)
_PTX_SECTION = re.compile(r"^\s*\.section\s+\.debug_\w+\s*\{[^}]*\}\s*", re.MULTILINE)
_SMEM = re.compile(r"^\.extern \.shared [^\n]*global_smem\[\];\n", re.MULTILINE)
_NO_FUNCTION = "\t.section\t.debug_str\n\t{\n$L__info_string0:\n.b8 0\n\t}\n"
"""The section that names inlined functions. ptxas requires it, and nothing uses the names."""


@dataclass(frozen=True)
class Compiled:
    """The code of a kernel. ``symbol`` replaces ``name`` in ``text``; ``arguments`` are the names of its arguments."""

    symbol: str
    name: str
    text: str
    arguments: tuple[str, ...] = ()


@dataclass
class _Files:
    """The files of the joint line table, numbered from 1. ``shown`` returns the name of a path."""

    shown: Callable[[Path], str]
    numbers: dict[str, int] = field(default_factory=dict)

    def number(self, name: str) -> int:
        return self.numbers.setdefault(name, len(self.numbers) + 1)


def joint_listing(kernels: Sequence[Compiled], target: str, shown: Callable[[Path], str]) -> str:
    """Return the AMD listing of all kernels, with their metadata."""
    import yaml

    files, entries, parts = _Files(shown), [], []
    metadata: dict[str, Any] = {}
    for number, kernel in enumerate(kernels):
        code, _, rest = kernel.text.partition(_BEGIN)
        metadata = yaml.safe_load(rest.partition(_END)[0])
        (entry,) = metadata["amdhsa.kernels"]
        for argument, name in zip(entry.get(".args", ()), kernel.arguments, strict=False):
            argument[".name"] = name
        entries.append({**entry, ".name": kernel.symbol, ".symbol": f"{kernel.symbol}.kd"})
        parts.append(_amd_part(kernel, code, number, files))
    triple = f"amdgcn-amd-amdhsa--{target}"
    joint = {**metadata, "amdhsa.kernels": entries, "amdhsa.target": triple}
    head = f'\t.amdgcn_target "{triple}"\n\t.amdhsa_code_object_version 5\n'
    described = _NAME.sub(r"\1!str \2", yaml.safe_dump(joint))
    return f"{head}{''.join(parts)}{_BEGIN}---\n{described}...\n{_END}\n"


def joint_ptx(kernels: Sequence[Compiled], shown: Callable[[Path], str]) -> str:
    """Return the PTX of all kernels."""
    files, parts = _Files(shown), []
    head: dict[str, str] = {}
    smem = ""
    for number, kernel in enumerate(kernels):
        text = kernel.text
        head |= {word: max(head.get(word, ""), value) for word, value in _PTX_HEAD.findall(text)}
        smem = smem or next(iter(_SMEM.findall(text)), "")
        numbers = {match[1]: files.number(_name(match, shown)) for match in _FILE.finditer(text)}
        for pattern in (_PTX_HEAD, _PTX_SECTION, _SMEM, _FILE):
            text = pattern.sub("", text)

        def renumbered(match: re.Match[str], numbers: Mapping[str, int] = numbers) -> str:
            outer = f", function_name $L__info_string0, inlined_at {numbers[match[4]]}{match[5]}" if match[4] else ""
            return f"{match[1]}{numbers[match[2]]}{match[3]}{outer}"

        text = _PTX_LOC.sub(renumbered, text)
        others = {name: f"{name}_{number}" for name in _GLOBAL.findall(text)}
        text = _renamed(text, others)
        name = re.escape(kernel.name)
        text = re.sub(rf"(?<=\.entry ){name}(?=\()|(?<![\w$]){name}(?=_param_\d)", kernel.symbol, text)
        parts.append(text)
    top = "".join(f".{word} {head[word]}\n" for word in ("version", "target", "address_size"))
    table = "".join(f'\t.file\t{number} "{name}"\n' for name, number in files.numbers.items())
    return f"{top}\n{smem}{''.join(parts)}{table}{_NO_FUNCTION}"


def _amd_part(kernel: Compiled, code: str, number: int, files: _Files) -> str:
    """The code of one kernel in the joint listing."""
    end = _DEBUG.search(code)
    code = _UNUSED.sub("", code[: end.start()] if end else code)
    own: dict[str, str] = {}  # names in comments
    numbers: dict[str, int] = {}
    for match in _FILE.finditer(code):
        name = _name(match, files.shown)
        own[match[3] or match[2]] = name
        numbers[match[1]] = files.numbers.get(name, 0)

    def declared(match: re.Match[str]) -> str:
        known, name = numbers[match[1]], _name(match, files.shown)
        numbers[match[1]] = files.number(name)
        return "" if known else f'\t.file\t{numbers[match[1]]} "{name}"\n'

    code = _FILE.sub(declared, code)

    def located(match: re.Match[str]) -> str:
        places = _PLACE.sub(lambda place: f"{own.get(place[1], place[1])}{place[2]}", match[4])
        return f"{match[1]}{numbers.get(match[2], 1)}{match[3]};{places}"

    code = _LOC.sub(located, code)
    code = _LABEL.sub(lambda match: f".L{match[1]}{number * _LABELS + int(match[2])}", code)
    names = {name: f"{name}.{number}" for name in _DEFINED.findall(code)}
    return _renamed(code, {**names, kernel.name: kernel.symbol})


def _name(match: re.Match[str], shown: Callable[[Path], str]) -> str:
    return shown(Path(match[2], match[3] or ""))


def _renamed(text: str, names: Mapping[str, str]) -> str:
    """Replace whole names in code, and in local labels that begin with them (``.Lname.num_vgpr``)."""
    if not names:
        return text
    words = "|".join(map(re.escape, sorted(names, key=len, reverse=True)))
    name = re.compile(rf"(?<![\w$])((?:\.L)?)({words})(?![\w$])")
    return _CODE.sub(lambda line: name.sub(lambda match: match[1] + names[match[2]], line[0]), text)
