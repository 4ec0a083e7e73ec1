"""The kernels that ``parity init`` declares."""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from parity.captures.file import read_capture
from parity.captures.observations import CapturedKernels
from parity.model.code_object import spelled, unqualified


@dataclass(frozen=True)
class ChosenKernels:
    """The modules and kernels to declare; without names, all kernels of the sources or of a capture."""

    names: Collection[str]
    captured: CapturedKernels | None = None

    def templates(self, text: str) -> Sequence[str]:
        """Return the captured kernels with template arguments that a source mentions."""
        words = set(re.findall(r"\w+", text)) if self.captured else set()
        return [name for name in (self.captured.templates if self.captured else ()) if unqualified(name) in words]

    def has_source(self, text: str) -> bool:
        """Return True if a source mentions a captured kernel."""
        return self.captured is None or not self.captured.words.isdisjoint(re.findall(r"\w+", text))

    def modules(self, modules: Mapping[str, Path]) -> dict[str, Path]:
        """Return the modules to compile: the named ones, or all if a name may belong to a kernel of any module."""
        named = {name: {each for each in modules if _contains(each, name)} for name in self.names}
        if not self.names or any("." not in name and not found for name, found in named.items()):
            return {**modules}
        chosen = set().union(*named.values())
        return {name: path for name, path in modules.items() if name in chosen}

    def named(self, module: str, text: str) -> set[str]:
        """Return the names that belong to a module, or that its sources mention."""
        words = set(re.findall(r"\w+", text)) if self.names else ()
        return {
            name for name in self.names if _contains(module, name) or fnmatch.filter(words, name.rpartition(".")[2])
        }

    def has_kernel(self, module: str, symbol: str) -> bool:
        """Return True if the kernel is chosen by its module, its name, or both, and was captured."""
        if self.captured and not self.captured.has(symbol):
            return False
        kernel = unqualified((spelled(symbol) or (symbol,))[0]).partition("<")[0]
        known = (module, plain_name(module), kernel, f"{module}.{kernel}", f"{plain_name(module)}.{kernel}")
        return not self.names or any(fnmatch.fnmatchcase(each, name) for each in known for name in self.names)


def _contains(module: str, name: str) -> bool:
    """Return True if a name stands for a module, or for a kernel together with its module."""
    patterns = (name, name.rpartition(".")[0])
    return any(fnmatch.fnmatchcase(each, one) for each in (module, plain_name(module)) for one in patterns)


def chosen_kernels(names: Collection[str], captured: Path | None) -> ChosenKernels:
    """Return the choice of ``--only`` and ``--captured``.

    Raises:
        UsageError: the capture cannot be read.
    """
    return ChosenKernels(names, CapturedKernels(read_capture(captured)) if captured else None)


def plain_name(module: str) -> str:
    """Return the name of a module in the names of its ops."""
    return re.sub(r"\W+", "_", module)
