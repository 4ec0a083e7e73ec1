"""Builds the modules of a run. Of many instances of a kernel template, only those with an op are compiled."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from parity.build.modules import build_suite
from parity.build.result import Built
from parity.build.settings import BuildCallbacks
from parity.compilers.targets import target
from parity.inference.case_file import is_inferred
from parity.model.code_object import idle
from parity.platform.files import read_text
from parity.porting import as_in_cuda, closure, has_dependent, is_cuda_source
from parity.suite.loading import Suite

_INSTANCE = re.compile(r"\b(\w+)\s*<([^<>;]+)>\s*<<<")
"""Matches an instance of a kernel template that host code launches."""
_MANY = 8
"""Instances of a source that may take long to compile."""


def build_named(
    suite: Suite,
    modules: Iterable[str],
    targets: Iterable[str],
    *,
    jobs: int | None = None,
    progress: BuildCallbacks | None = None,
) -> tuple[Suite, list[Built]]:
    """Build modules of a suite. Instances of templates that no op names are empty, if parity init declared the ops.

    A module that lacks a kernel with an op this way is built with all instances, unless another target of the vendor
    has it. Returns the suite with the instances that were chosen.

    Raises:
        UsageError, MissingTool: as ``parity.build.modules.build``.
    """
    modules, targets = [*modules], [*targets]
    named = {module: names for module, names in _named(suite) if module in modules and module not in suite.instantiated}
    few = replace(suite, chosen={**suite.chosen, **named})
    built = build_suite(few, modules, targets, jobs=jobs, progress=progress)
    if whole := {module for module, names in named.items() if _lacks([e for e in built if e.module == module], names)}:
        again = build_suite(suite, [each for each in modules if each in whole], targets, jobs=jobs)
        better = {(each.module, each.target): each for each in again}
        built = [better.get((each.module, each.target), each) for each in built]
        few = replace(few, chosen={name: names for name, names in few.chosen.items() if name not in whole})
    return few, built


def has_many_instances(text: str) -> bool:
    """Return True if host code chooses the instances of kernel templates, or launches many of few templates."""
    found = {*_INSTANCE.findall(text)}
    return has_dependent(text) or len(found) > max(_MANY, 2 * len({name for name, _ in found}))


def _named(suite: Suite) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yield the modules whose host code chooses instances, with the instances that ops of parity init name."""
    names: dict[str, dict[str, None]] = {}
    python = {file for file in suite.case_files.values() if file.suffix == ".py"}  # others are captures
    written = {file for file in python if is_inferred(read_text(file))}
    for entry in suite.kernel_entries:
        if suite.case_files.get(entry.op.name) in written and is_cuda_source(suite.files[entry.op.module]):
            templates = (as_in_cuda(name) for name in entry.kernels if "<" in name)
            names.setdefault(entry.op.module, {}).update(dict.fromkeys(templates))
    texts = dict[Path, str]()
    for module, found in names.items():
        if found and module not in suite.missing:
            path, folder = suite.files[module].absolute(), suite.kernels.absolute()
            if has_many_instances("\n".join(closure(path, suite.sides.cuda, folder, texts).files.values())):
                yield module, tuple(found)


def _lacks(built: Sequence[Built], names: Collection[str]) -> bool:
    """Return True if all targets of a vendor lack one of these kernels, or if one does nothing on any target.

    ``built`` are the results of a module. A kernel that does nothing on some targets does not for another reason.
    """
    missing, nothing = dict[str, set[str]](), {*names}
    for one in built:
        code = one.code_object
        found = {name for name in names if code and code.symbol(name) in code.kernels}
        missing.setdefault(target(one.target).vendor, {*names}).difference_update(found)
        idles = {*idle(code)} if code else set[str]()
        nothing &= {name for name in names if not code or code.symbol(name) in idles}
    return bool(nothing) or any(missing.values())
