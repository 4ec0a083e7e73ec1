"""The compile options of each vendor."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from parity.errors import UsageError
from parity.platform.files import is_file

_FOLDERS = ("-I", "-isystem", "-iquote", "-idirafter", "--include-directory")
_FORCED = ("-include", "--include")
MACROS = "-imacros"
"""The option that takes only the macros of a header. Headers in ``forced`` are different: they are translated."""
_OUTPUTS = re.compile(
    r"-(?:E|S|c|dc|dw|o.*|M.?|MMD|M[FTQ].*|fsyntax-only|emit-\w+|###)"
    r"|--?(?:analyze|compile|cubin|device-(?:c|link|w)|dry-?run|fatbin|help|keep|lib|link|output.*|precompile|preprocess"
    r"|ptx|run|save-temps.*|version)"
)
_OPTION_FILES = re.compile(r"@.*|-optf.*|--?options-file.*|--config.*")
_OTHER_TOOLS = re.compile(
    r"-(?:B.*|isysroot.*|i(?:with)?prefix.*|resource-dir.*|i?vfsoverlay.*|include-pch.*|specs.*|wrapper.*|ldir.*"
    r"|load.*|plugin.*|add-plugin.*|f(?:pass-)?plugin.*|f(?:prebuilt-|implicit-)?modules?.*|fuse-ld.*|working-directory.*"
    r"|fauto-profile.*|fprofile-(?:instr-use|list|remapping-file|sample-use|use).*|mlink-.*bitcode.*)"
    r"|--(?:gcc-(?:toolchain|install-dir|triple)|sysroot|rocm-path|rocm-device-lib-path|hip-(?:path|device-lib-path)"
    r"|cuda-path|ld-path|libdevice-directory|prefix|target-directory)(?:=.*)?"
)
"""Match flags that change which files a compiler writes, flags that read further options from a file, and flags that
replace or extend the compiler itself.
"""
_PARTS = re.compile(r"-X\w+=|-W[alp],|,")
"""Matches what separates the options that one flag passes on to another program."""


@dataclass(frozen=True)
class CompileOptions:
    """The options of one vendor's compiler: header folders, flags, and headers that are included before the source.

    A header in ``forced`` is a path, or a name that the compiler looks up like ``#include <NAME>``.
    """

    include: tuple[Path, ...] = ()
    flags: tuple[str, ...] = ()
    forced: tuple[str, ...] = ()

    @classmethod
    def from_settings(
        cls, folder: Path, include: Sequence[str] = (), flags: Sequence[str] = (), forced: Sequence[str] = ()
    ) -> CompileOptions:
        """Return the options for settings with paths relative to ``folder``.

        Moves header folders and forced headers in ``flags`` (``-I``, ``-isystem``, ``-include``) to ``include`` and
        ``forced``. Their content is translated and affects the cache key.

        Raises:
            UsageError: parity does not accept a flag.
        """
        check_flags(flags, f"{folder / 'pyproject.toml'}: [tool.parity]")
        folders, headers, others = [*include], [*forced], list[str]()
        for option, value in _parsed(flags):
            if option == MACROS:
                others += (MACROS, str(path) if is_file(path := folder / value) else value)
            else:
                (folders if option in _FOLDERS else headers if option in _FORCED else others).append(value)
        names = (str(path) if is_file(path := folder / name) else name for name in headers)
        return cls(tuple(folder / name for name in folders), tuple(others), tuple(names))


@dataclass(frozen=True)
class Sides:
    """The options of both vendors.

    Attributes:
        cuda: Options for CUDA targets.
        amd: Options for AMD targets.
        ported: The folder of AMD's sources. Without it, hipify generates them from the CUDA sources.
        cuda_arch: The value of ``__CUDA_ARCH__`` in hipified sources that use it. Without it, the macro is undefined,
            as with hipcc.
    """

    cuda: CompileOptions = field(default_factory=CompileOptions)
    amd: CompileOptions = field(default_factory=CompileOptions)
    ported: Path | None = None
    cuda_arch: int | None = None

    @classmethod
    def both(cls, options: CompileOptions) -> Sides:
        """Use the same options for both vendors."""
        return cls(options, options)


def check_flags(flags: Sequence[str], where: str) -> None:
    """Check the flags of a setting.

    Raises:
        UsageError: parity chooses the compiler's outputs itself, or would not notice when a file that the flag names
            changes.
    """
    for flag in flags:
        parts = _PARTS.split(flag) if flag.startswith(("-X", "-W")) else [flag]
        if any(map(_OPTION_FILES.fullmatch, parts)):
            raise UsageError(f"{where}: flags has {flag!r}; write the options of that file into flags instead")
        if any(map(_OTHER_TOOLS.fullmatch, parts)):
            raise UsageError(
                f"{where}: flags has {flag!r}, but parity would not notice changes of files that it makes the compiler "
                "use; remove it"
            )
        if any(map(_OUTPUTS.fullmatch, parts)):
            raise UsageError(f"{where}: flags has {flag!r}, but parity chooses what the compiler writes; remove it")


def named_files(flags: Sequence[str]) -> Iterator[Path]:
    """Yield the files and programs that flags name, such as the list of ``-fsanitize-ignorelist=LIST``."""
    for value in (value for flag in flags for value in (flag, *re.split("[=,]", flag)[1:])):
        if is_file(path := Path(value)):
            yield path
        elif "/" not in value and (program := shutil.which(value)):
            yield Path(program)


def _parsed(flags: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Yield ``("", flag)``, or an option and its value, which may be written as one word or as two."""
    words = iter(flags)
    for word in words:
        if word in (*_FOLDERS, *_FORCED, MACROS):
            yield word, next(words, "")
        elif option := next((each for each in (*_FOLDERS, "--include", MACROS) if _joined(word, each)), ""):
            yield option, word.removeprefix(option).removeprefix("=")
        else:
            yield "", word


def _joined(word: str, option: str) -> bool:
    return word.startswith(f"{option}=" if option.startswith("--") else option)
