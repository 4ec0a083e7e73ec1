"""The compile options of each vendor."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

_FOLDERS = ("-I", "-isystem", "-iquote", "-idirafter", "--include-directory")
_FORCED = ("-include", "--include")


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
        """
        folders, headers, others = [*include], [*forced], list[str]()
        for option, value in _parsed(flags):
            (folders if option in _FOLDERS else headers if option in _FORCED else others).append(value)
        names = (str(path) if (path := folder / name).is_file() else name for name in headers)
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


def _parsed(flags: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Yield ``("", flag)``, or an option and its value, which may be written as one word or as two."""
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
