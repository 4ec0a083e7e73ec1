"""Finds kernels that no op calls, so that no case tests them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from parity.errors import UsageError
from parity.model.code_object import CodeObject, spelled, unqualified
from parity.platform.files import read_text
from parity.porting import cuda_code, find_modules, kernels_of
from parity.suite.loading import Suite


def undeclared_kernels(
    suite: Suite, built: Mapping[str, Iterable[CodeObject]], *, everywhere: bool
) -> dict[str, tuple[str, ...]]:
    """Return the kernels without an op, by the path of their file below the folder of kernels.

    ``built`` are the code objects of each module. ``everywhere`` also reads the files that no op names. A kernel of a
    header needs an op in one of the modules that include it.
    """
    called: dict[str, set[str]] = {}
    for entry in suite.kernel_entries:
        called.setdefault(entry.op.module, set()).update(entry.kernels)
    found: dict[str, dict[str, None]] = {}
    compiled: set[str] = set()
    for module, objects in built.items():
        for code in objects:
            names = {symbol: (*spelled(symbol), symbol)[0] for symbol in code.kernels}
            compiled.update(map(unqualified, names.values()))
            missing = names.keys() - {code.symbol(name) for name in called.get(module, ())}
            if tested := missing & {code.symbol(name) for names_of in called.values() for name in names_of}:
                own = _kernels_of_file(suite.files[module])
                missing -= {symbol for symbol in tested if unqualified(names[symbol]) not in own}
            if missing:
                file = suite.files[module].relative_to(suite.kernels).as_posix()
                found.setdefault(file, {}).update(dict.fromkeys(names[symbol] for symbol in sorted(missing)))
    if everywhere:
        found |= {file: dict.fromkeys(names) for file, names in _other_files(suite, compiled)}
    return {file: tuple(names) for file, names in sorted(found.items())}


def _other_files(suite: Suite, compiled: set[str]) -> Iterator[tuple[str, list[str]]]:
    """Yield each source that no op names, with its kernels that are not compiled as a part of another source."""
    used = set(suite.files.values())
    for path in find_modules(suite.kernels, ported=suite.sides.ported, declared=used).values():
        if path in used or not path.is_file():
            continue
        names = [name for name in _kernels_of_file(path) if name not in compiled]
        if names:
            yield path.relative_to(suite.kernels).as_posix(), names


def _kernels_of_file(path: Path) -> tuple[str, ...]:
    try:
        text = read_text(path)
    except UsageError:  # not UTF-8
        return ()
    return kernels_of(cuda_code(text) if path.suffix == ".py" else text)
