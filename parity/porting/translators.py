"""Translates CUDA sources to HIP, with parity's translator or a hipify tool of ROCm.

``$PARITY_HIPIFY`` selects the translator: ``literal`` (the default), ``helpful``, ``hipify-perl`` or ``hipify-clang``.
AMD's tools translate each file of a module separately, under the file's own name.
"""

from __future__ import annotations

import contextlib
import functools
import os
import re
import shutil
import subprocess
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from parity.compilers import rocm
from parity.errors import MissingTool, ParityError, UsageError, nearest
from parity.model.finding import Finding
from parity.platform.cache import digest
from parity.porting.asm_statements import macros_of_statements
from parity.porting.conditionals import Conditionals, macros_of
from parity.porting.cuda_names import declared_names, defined_macros
from parity.porting.hipify import LITERAL, STYLES, Hipified, hipify
from parity.porting.includes import included, searched

HIPIFY = "PARITY_HIPIFY"
HIPIFIERS = (*STYLES, *rocm.HIPIFIERS)

# hipify-perl: "  warning: FILE:LINE: unsupported device function "NAME": ..."; hipify-clang: "[HIPIFY] warning: ..."
_WARNING = re.compile(r"warning: [^\n:]*?:#?(?P<line>\d+)(?::(?P<column>\d+))?:? (?P<text>[^\n]*)")
_QUOTED = re.compile(r"[\"']([\w:./]+)[\"']")
_NUMERIC = re.compile(r"\(*-?(?:0[xX][\da-fA-F]+|\d+)[uUlL]*\)*")
_SECONDS = 120
_conditionals = functools.lru_cache(maxsize=256)(Conditionals)
_hipified = functools.lru_cache(maxsize=256)(hipify)  # modules and targets share headers


class TranslationError(ParityError):
    """AMD's tool cannot translate a file. The message contains the tool's output."""


def chosen_hipifier(name: str | None = None) -> str:
    """Return the name of a translator: the given one, or the one that ``$PARITY_HIPIFY`` names.

    Raises:
        UsageError: It is not in ``HIPIFIERS``.
    """
    chosen = name or os.environ.get(HIPIFY) or LITERAL
    if chosen not in HIPIFIERS:
        raise UsageError(f"{HIPIFY}={chosen} is not a translator: {' '.join(HIPIFIERS)}{nearest(chosen, HIPIFIERS)}")
    return chosen


def hipifier_fingerprint(hipifier: str) -> str:
    """Return the part of a cache key that identifies a translator.

    Raises:
        MissingTool: The translator is AMD's, and no installed ROCm has it.
    """
    if hipifier in STYLES:
        return hipifier
    tool = _tool(hipifier)
    return digest(hipifier, str(tool), tool.read_bytes())


def hipified(
    files: Mapping[Path, str],
    name: Callable[[Path], str],
    folders: Sequence[Path],
    flags: Iterable[str] = (),
    hipifier: str = LITERAL,
) -> dict[Path, Hipified]:
    """Return the files of a program, translated to HIP.

    Args:
        files: Texts by path.
        name: Returns the name of a file in findings.
        folders: Folders to search for headers, besides the folder of the including file.
        flags: Compiler options; their ``-D`` decide conditions.
        hipifier: The translator.

    Raises:
        MissingTool: As ``hipifier_fingerprint``.
        TranslationError: AMD's tool cannot translate a file.
    """
    own = frozenset().union(*(_own_names(text) for text in files.values()))
    macros = tuple(sorted((_constants(files.values(), own) | macros_of(flags)).items()))
    assembly = macros_of_statements(files.values())
    found: dict[Path, Hipified] = {}
    for path, text in files.items():
        headers = frozenset(
            each
            for bracket, each in included(text)
            if _is_of_program(each, searched(bracket, path.parent, folders), files)
        )
        style = hipifier if hipifier in STYLES else LITERAL
        asm = assembly if "asm" in text else ""
        each = _hipified(text, name(path), own=own, headers=headers, macros=macros, style=style, assembly=asm)
        found[path] = each if hipifier in STYLES else _by_tool(_tool(hipifier), text, path, name(path), folders, each)
    return found


@functools.lru_cache(maxsize=256)
def _own_names(text: str) -> frozenset[str]:
    return declared_names(text) | defined_macros(text)


def _is_of_program(header: str, folders: Sequence[Path], files: Mapping[Path, str]) -> bool:
    return any(Path(os.path.normpath(place / header)) in files for place in folders)


def _constants(texts: Iterable[str], own: frozenset[str]) -> dict[str, str]:
    """Return macros that the program defines as one number only, outside of conditionals."""
    found: dict[str, str] = {}
    ambiguous: set[str] = set()
    for text in texts:
        conditionals = _conditionals(text, own)
        for name in defined_macros(text):
            value = conditionals.constants.get(name, "")
            if not _NUMERIC.fullmatch(value) or found.setdefault(name, value) != value:
                ambiguous.add(name)
    return {name: value for name, value in found.items() if name not in ambiguous}


def _tool(name: str) -> Path:
    """Return the path of AMD's tool: in the installed ROCm, or on PATH."""
    with contextlib.suppress(MissingTool):
        for path in rocm.find().hipifiers:
            if path.name == name:
                return path
    if found := shutil.which(name):
        return Path(found).resolve()
    hint = f"the package of ROCm that has it, or use --hipify {LITERAL}"
    raise MissingTool(name, "the bin folder of a ROCm, PATH", hint)


def _by_tool(tool: Path, text: str, path: Path, name: str, folders: Sequence[Path], own: Hipified) -> Hipified:
    """Translate a file with AMD's tool, and add the branches that parity's translator (``own``) found."""
    with tempfile.TemporaryDirectory(prefix="parity-hipify-") as folder:
        source, output = Path(folder, path.name), Path(folder, "output")
        source.write_bytes(text.encode("utf-8", "surrogateescape"))
        command = [str(tool), str(source)]
        if tool.name == "hipify-clang":
            include = [part for place in (path.parent, *folders) for part in ("-I", str(place))]
            command += ["-o", str(output), "--", "-x", "cuda", *include]
        try:
            run = subprocess.run(
                command, capture_output=True, check=False, stdin=subprocess.DEVNULL, timeout=_SECONDS
            )  # fmt: skip
        except (OSError, subprocess.TimeoutExpired) as error:
            raise TranslationError(f"{tool} cannot translate {name}: {error}") from error
        log = run.stderr.decode("utf-8", "replace").replace(str(source), name)
        hip = output.read_bytes() if output.is_file() else run.stdout
    if run.returncode or (text.strip() and not hip.strip()):
        reason = log.strip() or f"exit code {run.returncode}"
        raise TranslationError(f"{tool} cannot translate {name}: {reason}")
    findings = tuple(_warning(match, name) for match in _WARNING.finditer(log))
    return replace(
        own, text=hip.decode("utf-8", "surrogateescape"), replaced=Counter(), unmapped=findings, hazards=()
    )  # fmt: skip


def _warning(match: re.Match[str], file: str) -> Finding:
    quoted = _QUOTED.search(match["text"])
    return Finding(
        quoted[1] if quoted else "hipify", file, int(match["line"]), int(match["column"] or 1), match["text"]
    )  # fmt: skip
