"""Records the files that case files import and read, so that changes of these files are noticed."""

from __future__ import annotations

import functools
import importlib.util
import os
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from parity.platform.cache import file_digest
from parity.platform.files import is_file
from parity.platform.time_limit import refuse_own_end
from parity.platform.version import PACKAGE

_INSTALLED = ("site-packages", "dist-packages")
_STANDARD_LIBRARY = Path(os.__file__).parent

_digests: dict[Path, str] = {}
"""The digest of each file that case files have read in this process."""

_opened: set[str] | None = None
"""The names of the files that the process opens while it imports a case file."""


@contextmanager
def recording(cases: Path) -> Iterator[set[Path]]:
    """Record the files that are opened in the block, which imports a file of ``cases``.

    The yielded set receives them at the end of the block: modules, and data files of the project. Installed packages
    and the standard library are left out.
    """
    global _opened
    _add_hook()
    _opened = set()
    found: set[Path] = set()
    try:
        yield found
    finally:
        opened, _opened = _opened, None
        found.update(_project_files(opened, _project_root(cases)))
        _digests.update((path, file_digest(path)) for path in found)


def forget_changed_modules() -> None:
    """Remove all modules that case files imported from ``sys.modules`` if one of the recorded files has changed."""
    if all(file_digest(path) == before for path, before in _digests.items()):
        return
    for name, module in list(sys.modules.items()):
        file = getattr(module, "__file__", None)
        if file and Path(file) in _digests:
            del sys.modules[name]
    _digests.clear()


@functools.cache
def _add_hook() -> None:
    sys.addaudithook(_note)


def _note(event: str, arguments: tuple[Any, ...]) -> None:
    refuse_own_end(event, arguments)
    if event == "open" and _opened is not None and isinstance(arguments[0], str):
        name, _, flags = arguments
        if not flags & (os.O_WRONLY | os.O_RDWR):
            _opened.add(str(Path(name).absolute()))


def _project_files(names: Iterable[str], root: Path) -> Iterator[Path]:
    """Yield the files that belong to a project: Python modules that are not installed, and files below the root."""
    for name in names:
        with suppress(ValueError):  # a .pyc without a source
            path = Path(importlib.util.source_from_cache(name) if name.endswith(".pyc") else name)
            parts = path.relative_to(root).parts if path.is_relative_to(root) else path.parts
            is_hidden = any(part.startswith(".") for part in parts)
            wanted = not is_hidden if path.is_relative_to(root) else path.suffix == ".py"
            if wanted and not _is_installed(path) and is_file(path):
                yield path


def _is_installed(path: Path) -> bool:
    return (
        path.is_relative_to(_STANDARD_LIBRARY)
        or path.is_relative_to(PACKAGE)
        or any(part in _INSTALLED for part in path.parts)
    )


def _project_root(cases: Path) -> Path:
    """Return the nearest folder above the cases that looks like the root of a project."""
    folders = cases.absolute().parents
    return next(
        (each for each in folders if (each / "pyproject.toml").exists() or (each / ".git").exists()), folders[0]
    )
