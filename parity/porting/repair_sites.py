"""The place of an error and its module, for the repairs."""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping
from dataclasses import dataclass

import tree_sitter

from parity.compilers.diagnostics import Diagnostic
from parity.porting.device_words import DEVICE_ONLY, DEVICE_WORD, HOST_WORD, KERNEL_WORD, SIDE_WORD, device_macros
from parity.porting.host_code import HostCode
from parity.porting.source_tree import SourceEdit, SourceTree, parse

WORD_BYTES = re.compile(rb"[A-Za-z_]\w*")

Located = tuple[str, SourceEdit]
"""A file, and an edit of it."""


@dataclass(frozen=True)
class Module:
    """The translated files of a module, by the names that errors use, and the code that is left out of them."""

    texts: Mapping[str, str]
    host: HostCode

    @functools.cached_property
    def device_macros(self) -> frozenset[str]:
        """Macros that mark device code."""
        return device_macros(self.texts.values()) | self._macros(KERNEL_WORD)

    @functools.cached_property
    def maybe_device_macros(self) -> frozenset[str]:
        """Macros that mark device code in at least one of their definitions."""
        return self._macros(DEVICE_ONLY)

    @functools.cached_property
    def both_sides_macros(self) -> frozenset[str]:
        """Macros that stand for ``__host__ __device__``."""
        return self._macros(HOST_WORD) & self._macros(DEVICE_WORD)

    @functools.cached_property
    def side_macros(self) -> frozenset[str]:
        """Macros that stand for ``__host__``, ``__device__`` or ``__global__``."""
        return self._macros(SIDE_WORD)

    def _macros(self, words: re.Pattern[str]) -> frozenset[str]:
        return device_macros(self.texts.values(), anywhere=True, words=words)


@dataclass(frozen=True)
class ErrorSite:
    """An error at one of its places."""

    error: Diagnostic
    module: Module
    file: str
    line: int
    column: int

    @property
    def is_in_module(self) -> bool:
        """True if the place is in a file of the module. The linker may report another file of the same name."""
        text = self.module.texts.get(self.file)
        return text is not None and self.line <= text.count("\n") + 1

    @property
    def tree(self) -> SourceTree:
        return parse(self.module.texts[self.file])

    @property
    def is_of_hip(self) -> bool:
        """True if the error is about a redeclaration of something in HIP's headers."""
        return self.error.previous is not None and self.error.previous[0] not in self.module.texts

    def enclosing(self, kind: str) -> tree_sitter.Node | None:
        """Return the smallest node of a type around the place."""
        return self.tree.enclosing(self.line, self.column, kind)

    def word(self, pattern: re.Pattern[bytes] = WORD_BYTES) -> SourceEdit | None:
        """Return an edit of the word at the place, or of another pattern's match there."""
        return self.tree.match_at(pattern, self.line, self.column)

    def here(self, *edits: SourceEdit | None) -> list[Located]:
        """Return edits of the site's file."""
        return [(self.file, each) for each in edits if each is not None]
