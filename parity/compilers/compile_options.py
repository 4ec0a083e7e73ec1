"""The compiler settings of each side of a port: CUDA's and AMD's."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

__all__ = ["CompileOptions", "Sides"]

_FOLDERS = ("-I", "-isystem", "-iquote", "-idirafter", "--include-directory")
_FORCED = ("-include", "--include")


@dataclass(frozen=True)
class CompileOptions:
    """Folders with headers, further options of the compiler, and headers that are included before everything else.

    A header in ``forced`` is a path, or a name that is looked for as ``#include <NAME>`` is.
    """

    include: tuple[Path, ...] = ()
    flags: tuple[str, ...] = ()
    forced: tuple[str, ...] = ()

    @classmethod
    def of(
        cls, folder: Path, include: Sequence[str] = (), flags: Sequence[str] = (), forced: Sequence[str] = ()
    ) -> CompileOptions:
        """The side that these settings describe; their paths are relative to ``folder``.

        Folders and headers that ``flags`` name (``-I``, ``-isystem``, ``-include``) become those of the side: what is
        in them is translated, and belongs to the key of the cache.
        """
        folders, headers, others = [*include], [*forced], list[str]()
        for what, value in _parsed(flags):
            (folders if what in _FOLDERS else headers if what in _FORCED else others).append(value)
        names = (str(path) if (path := folder / name).is_file() else name for name in headers)
        return cls(tuple(folder / name for name in folders), tuple(others), tuple(names))


@dataclass(frozen=True)
class Sides:
    """Both sides. ``ported`` is the folder of AMD's sources; without it they are made of CUDA's by hipify.

    ``cuda_arch`` is what ``__CUDA_ARCH__`` is in hipified sources that mention it; without it, it is not defined there,
    as hipcc has it.
    """

    cuda: CompileOptions = field(default_factory=CompileOptions)
    amd: CompileOptions = field(default_factory=CompileOptions)
    ported: Path | None = None
    cuda_arch: int | None = None

    @classmethod
    def both(cls, side: CompileOptions) -> Sides:
        """The same for both."""
        return cls(side, side)


def _parsed(flags: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Each flag as ``("", flag)``, or the option that it is and its value, written as one word or as two."""
    words = iter(flags)
    for word in words:
        if word in (*_FOLDERS, *_FORCED):
            yield word, next(words, "")
        elif option := next((each for each in (*_FOLDERS, "--include") if _joined(word, each)), ""):
            yield option, word.removeprefix(option).removeprefix("=")
        else:
            yield "", word


def _joined(word: str, option: str) -> bool:
    return word.startswith(f"{option}=" if option.startswith("--") else option)
