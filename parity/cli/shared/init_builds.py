"""Builds the modules that ``parity init`` declares: few of many instances of templates, and within a time limit."""

from __future__ import annotations

import math
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from parity.application.named_instances import has_many_instances
from parity.build.modules import build
from parity.build.result import Built
from parity.build.settings import BuildCallbacks, BuildSettings
from parity.cli.shared.chosen_kernels import ChosenKernels, plain_name
from parity.compilers.cuda_toolkit import has_nvcc
from parity.compilers.targets import CUDA_TARGET, DEFAULT_TARGETS
from parity.errors import ResourceExhausted
from parity.inference.host_launches import HostTexts
from parity.inference.instances import chosen_instances
from parity.inference.kernel_time_limit import COMPILING, TimeLimit
from parity.model.code_object import Kernel, source_name, unqualified
from parity.platform import subprocesses
from parity.platform.files import read_text
from parity.porting import guess_instantiations, is_cuda_source, kernels_of
from parity.suite.settings import Project

_LEAST = 60.0
"""The least limit for compiling in seconds, even if inference has less."""
_POLL = 0.1
"""Seconds between two looks at the clock."""


@dataclass
class InitBuilds:
    """The builds of ``modules``, whose sources are ``texts``. Only ``chosen`` kernels count.

    ``limit`` is the time for each kernel. All builds of a module share the part of it for compiling. ``slow`` are the
    modules that took longer. Their compilers are killed, and later builds leave them out.
    """

    project: Project
    modules: Mapping[str, Path]
    texts: HostTexts
    chosen: ChosenKernels
    limit: TimeLimit
    slow: dict[str, float] = field(default_factory=dict)
    _times: dict[str, float] = field(default_factory=dict)

    def build(
        self,
        modules: Iterable[str],
        targets: Iterable[str],
        settings: BuildSettings,
        done: Callable[[Built], None] | None = None,
    ) -> list[Built]:
        """Build modules for targets. Modules that take too long are missing in the result.

        The time of a module begins when other modules end. If none ends in time, each of the rest is built alone,
        because some have not begun.
        """
        targets = [*targets]
        paths = {module: self.modules[module] for module in modules if module not in self.slow}
        self._times |= {module: self._seconds(path) for module, path in paths.items() if module not in self._times}
        found, ended, over, begin = list[Built](), threading.Event(), threading.Event(), time.monotonic()

        def collect(one: Built) -> None:
            found.append(one)
            if done:
                done(one)

        def unfinished() -> dict[str, float]:
            counts = Counter(one.module for one in [*found])
            return {module: self._left(module) for module in paths if counts[module] < len(targets)}

        def watch() -> None:
            count, end = -1, 0.0
            while not ended.wait(_POLL):
                if len(found) != count:
                    count, end = len(found), time.monotonic() + max(unfinished().values(), default=0.0)
                elif time.monotonic() >= end:
                    over.set()
                    with subprocesses.killed():
                        ended.wait()

        thread = threading.Thread(target=watch, daemon=True)
        thread.start()
        try:
            return build(self.project.kernels, paths, targets, settings=settings, progress=BuildCallbacks(collect))
        except ResourceExhausted:
            if not over.is_set():
                raise
        finally:
            ended.set()
            thread.join()
            self._charge(found, time.monotonic() - begin)
        rest, order = [*unfinished()], [*paths]
        found = [one for one in found if one.module not in rest]
        if rest and len(order) == 1:
            self.slow[rest[0]] = self._times[rest[0]]
        else:
            found += [one for module in rest for one in self.build([module], targets, settings, done)]
        return sorted(found, key=lambda one: order.index(one.module))

    def _charge(self, built: Sequence[Built], seconds: float) -> None:
        """Divide the time of a build among the kernels of its modules."""
        whole = sum(one.seconds for one in built) or 1.0
        for one in built:
            share = seconds * one.seconds / whole / self._count(self.modules[one.module])
            self.limit.compile(plain_name(one.module), share)

    def _left(self, module: str) -> float:
        used = self.limit.compiled.get(plain_name(module), 0.0) * self._count(self.modules[module])
        return self._times[module] - used

    def _seconds(self, path: Path) -> float:
        return COMPILING * max(_LEAST, self.limit.seconds) * self._count(path)

    def _count(self, path: Path) -> int:
        return max(1, len(kernels_of(self.texts.whole(path))))

    def choose(self, settings: BuildSettings) -> BuildSettings:
        """Choose instances to compile in modules with many of them. Empty instances, which compile fast, show names.

        The first few instances of each template show how much code an instance has. A module whose chosen instances do
        not compile gets all instances.
        """
        target = CUDA_TARGET if has_nvcc() else DEFAULT_TARGETS[0]
        sources = {name: path for name, path in self.modules.items() if is_cuda_source(path)}
        names = {name: () for name, path in sources.items() if has_many_instances(self.texts.whole(path))}
        surveyed = self._built_with(names, target, settings)
        first = self._names(surveyed, dict.fromkeys(surveyed, math.inf))
        large = {
            name: (_size(one) - _size(surveyed[name])) / len(first[name])
            for name, one in self._built_with(first, target, settings).items()
        }
        few = self._names(surveyed, large)
        built = self.build(few, {target, DEFAULT_TARGETS[0]}, replace(settings, chosen=few))
        failed = {one.module for one in built if one.error}
        return replace(settings, chosen={name: each for name, each in few.items() if name not in failed})

    def _built_with(
        self, names: Mapping[str, tuple[str, ...]], target: str, settings: BuildSettings
    ) -> dict[str, Built]:
        return {one.module: one for one in self.build(names, [target], replace(settings, chosen=names))}

    def _names(self, surveyed: Mapping[str, Built], sizes: Mapping[str, float]) -> dict[str, tuple[str, ...]]:
        """Return the instances to compile, by module, if an instance has so many characters."""
        names = dict[str, tuple[str, ...]]()
        for module, size in sizes.items():
            kernels = [
                each for name, each in kernels_in(surveyed[module]).items() if self.chosen.has_kernel(module, name)
            ]
            structures, (_, known) = self.texts.structures(self.modules[module]), case_file_of(self.project, module)
            if found := chosen_instances(module, kernels, structures, known, max(1, size)):
                names[module] = found
        return names

    def with_templates(self, settings: BuildSettings, built: Sequence[Built]) -> tuple[BuildSettings, list[Built]]:
        """Build modules again with the kernel templates that nothing in their sources instantiates, if these compile.

        Templates that a source which includes a module's file instantiates are declared there.
        The settings then also name the templates that builds guessed, so that CUDA's side has the same kernels, and
        trials build nothing again.
        """
        guesses = dict[str, tuple[str, ...]]()
        included = {one.module: self.texts.included_sources(self.modules[one.module]) for one in built}
        for each in built:
            path = self.modules[each.module]
            whole = [one for one in built if path in included[one.module]]
            known = {unqualified(source_name(symbol)) for one in (each, *whole) for symbol in one.entries}
            if each.entries and not each.guessed and path.suffix == ".cu":
                found = guess_instantiations(self.texts.own(path), (self.texts.whole(path),), known)
                guesses[each.module] = tuple(dict.fromkeys(map(str, found)))
        modules = [module for module, names in guesses.items() if names]
        with_guesses = _with_kernels(settings, guesses)
        better = {each.module: each for each in self.build(modules, [DEFAULT_TARGETS[0]], with_guesses) if each.entries}
        guesses = {module: names for module, names in guesses.items() if module in better}
        for each in (each for each in built if each.guessed):
            guesses[each.module] = tuple(name for name in map(source_name, each.entries) if "<" in name)
        return _with_kernels(settings, guesses), [better.get(each.module, each) for each in built]

    def build_cuda(
        self, built: Sequence[Built], settings: BuildSettings, done: Callable[[Built], None]
    ) -> tuple[BuildSettings, dict[str, Built]]:
        """Build CUDA's side of modules, by name.

        The code that launches a template may be left out on this side alone. Then it gets the instances of AMD's side,
        and so do the settings.
        """
        cuda = {one.module: one for one in self.build((one.module for one in built), [CUDA_TARGET], settings, done)}
        lacking = {one.module: names for one in built if (names := _lacking(one, cuda.get(one.module)))}
        more = self.build(lacking, [CUDA_TARGET], _with_kernels(settings, lacking))
        better = {one.module: one for one in more if not one.error}
        return _with_kernels(settings, {module: lacking[module] for module in better}), {**cuda, **better}


def case_file_of(project: Project, module: str) -> tuple[Path, str]:
    """Return the case file of a module, and its text, which is empty if it does not exist."""
    path = project.cases / f"{plain_name(module)}.py"
    return path, read_text(path) if path.exists() else ""


def kernels_in(built: Built) -> Mapping[str, Kernel]:
    """Return the kernels of a module by symbol; none if it does not compile."""
    return built.code_object.kernels if built.code_object else {}


def _lacking(built: Built, cuda: Built | None) -> tuple[str, ...]:
    """Return the instances of the kernel templates of which CUDA's side, which compiles, has no instance."""
    if cuda is None or cuda.error:
        return ()
    known = {unqualified(source_name(symbol)) for symbol in kernels_in(cuda)}
    names = map(source_name, kernels_in(built))
    return tuple(name for name in names if "<" in name and unqualified(name) not in known)


def _with_kernels(settings: BuildSettings, more: Mapping[str, tuple[str, ...]]) -> BuildSettings:
    kernels = {module: (*settings.kernels[module], *names) for module, names in more.items()}
    return replace(settings, kernels={**settings.kernels, **kernels})


def _size(built: Built) -> int:
    return len(built.code_object.listing) if built.code_object else 0
