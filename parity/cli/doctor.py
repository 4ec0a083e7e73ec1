"""Show what this machine can do: compilers, GPUs, libraries, cache and runners, with instructions for missing parts."""

from __future__ import annotations

import argparse
import importlib.metadata
import importlib.util
import itertools
import os
import platform
import shutil
import sys
import sysconfig
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

from rich.text import Text

from parity.cli.shared.terminal import output, print_json
from parity.compilers import zig
from parity.compilers.cuda_toolkit import located as located_nvcc
from parity.compilers.device_library import present_library
from parity.compilers.disassembler import find_disassembler
from parity.compilers.header_folders import installed_headers
from parity.compilers.headers import COMPILER, DEVICE_LIBRARY, NEWER, WHEELS, cached_headers
from parity.compilers.rocm import OLDEST, TOOLCHAINS, VARIABLE
from parity.compilers.rocm import chosen as chosen_rocm
from parity.compilers.rocm import installed as installed_rocm
from parity.compilers.targets import TARGETS
from parity.errors import MissingTool, ParityError, UsageError
from parity.footprint.sass import nvdisasm
from parity.platform.cache import default_root
from parity.platform.cache_eviction import LIMIT, folder_size, limit
from parity.platform.subprocesses import processors
from parity.platform.version import PACKAGE, __version__
from parity.report.tables import Cell, coloured
from parity.runners import device_description, plugin_conflicts, probe_runner, runner, runners
from parity.runners.capabilities import UNKNOWN
from parity.runners.registry import BUILT_IN
from parity.suite.loading import find_suite

LIBRARIES = (
    *("numpy", "ml_dtypes", "gmpy2", "hypothesis", "packaging", "msgspec", "PyYAML", "platformdirs", "pyelftools"),
    *("rich", "rich-argparse", "tabulate"),
)


LARGE = ("ziglang", "nvidia", "numpy", "quadrants")
"""The packages that take most of an environment."""

CACHED = {
    "build": "listings and code objects of modules",
    "emulator": "kernels compiled for this processor",
    "prelude": "AMD's headers, precompiled",
    "headers": "clang, AMD's headers and device libraries from wheels; never evicted",
    "cases": "drawn cases",
}
"""What the folders of the cache contain."""


@dataclass(frozen=True)
class Check:
    """One check: the result, or advice on how to install what is missing. ``needed`` marks required parts."""

    group: str
    name: str
    found: str
    advice: str = ""
    needed: bool = False

    @property
    def ok(self) -> bool:
        return not self.advice


def main(arguments: argparse.Namespace) -> int:
    """Print the checks; always return 0, because a missing tool is not an error."""
    found = list(checks())
    if arguments.json:
        print_json([{**asdict(check), "ok": check.ok} for check in found])
    else:
        output().print(_table(found))
    return 0


def checks() -> Iterator[Check]:
    """Check everything that parity can use."""
    for group in (_machine, _environment, _compilers, _gpus, _libraries, _cache, _runners, _suite):
        yield from group()


def _machine() -> Iterator[Check]:
    yield Check("machine", "parity", f"{__version__} in {PACKAGE}")
    yield Check("machine", "Python", f"{platform.python_version()}, {sys.executable}")
    yield Check("machine", "system", f"{platform.system()} {platform.machine()}, {processors()} processors")


def _found(group: str, name: str, what: object, advice: str) -> Check:
    """Return a check with what was found, or with advice if it is missing."""
    return Check(group, name, str(what), "") if what else Check(group, name, "", advice)


def _tool(name: str, find: Callable[[], object], purpose: str = "") -> Check:
    """Look for a tool. A tool with a ``purpose`` is optional: the purpose says when it is needed."""
    try:
        return Check("compilers", name, str(find()))
    except ParityError as error:
        advice = f"{purpose}: {error.install}" if purpose and isinstance(error, MissingTool) else str(error)
        return Check("compilers", name, "", advice, needed=not purpose)


def _compilers() -> Iterator[Check]:
    fetched = "not in the cache; the first build extracts them from {}, with pip"
    compiler = zig.present()
    yield _found("compilers", "ziglang", compiler and f"{zig.version()}, {compiler}", fetched.format(COMPILER))
    yield _found("compilers", "device libraries", present_library(), fetched.format(DEVICE_LIBRARY))
    installed = installed_headers()
    headers = installed or cached_headers()
    advice = "" if installed else f"; {NEWER}"
    from_wheels = fetched.format(" and ".join(map(str, WHEELS)))
    yield _found("compilers", "HIP headers", headers and f"{headers}, {headers.folder}{advice}", from_wheels)
    yield _tool("nvcc", located_nvcc, "only for CUDA targets")
    yield _tool("nvdisasm", nvdisasm, "only for the instructions of CUDA code")
    yield _tool("llvm-objdump", find_disassembler, "only for projects with code objects instead of sources")
    yield from _rocm()


def _rocm() -> Iterator[Check]:
    """The installed ROCm, and the compiler for each AMD target."""
    rocm = installed_rocm()
    yield _found("compilers", "ROCm", rocm, "optional: install it to compile with AMD's compiler")
    if rocm:
        known = " ".join(name for name, target in TARGETS.items() if rocm.supports(target))
        hipifiers = " ".join(map(str, rocm.hipifiers))
        yield _found("compilers", "ROCm: clang", rocm.clang, "this ROCm has no clang")
        yield _found("compilers", "ROCm: libraries", rocm.library, "not found: install rocm-device-libs")
        yield _found("compilers", "ROCm: targets", known, "it supports none of parity's targets")
        yield _found("compilers", "ROCm: hipify", hipifiers, "not installed; parity uses its built-in translator")
    try:
        tools = {name: chosen_rocm(target) for name, target in TARGETS.items()}
    except ParityError as error:
        yield Check("compilers", "used for AMD", "", str(error), needed=True)
        return
    lacking = [name for name, tool in tools.items() if tool and not tool.supports(TARGETS[name])]
    by_rocm = [name for name, tool in tools.items() if tool and name not in lacking]
    by_wheels = [name for name, tool in tools.items() if not tool]
    groups = (("ROCm", by_rocm), ("wheels", by_wheels), ("not supported by this ROCm", lacking))
    parts = [f"{what}: {' '.join(names)}" for what, names in groups if names]
    asked = os.environ.get(VARIABLE) or TOOLCHAINS[0]
    if rocm and rocm.version < OLDEST and asked == TOOLCHAINS[0]:
        parts.append(f"{rocm.described} is too old for auto, --toolchain rocm uses it")
    yield Check("compilers", "used for AMD", f"{'; '.join(parts)} ({VARIABLE}={asked})")


def _gpus() -> Iterator[Check]:
    smi = shutil.which("nvidia-smi")
    nvidia = ", ".join(sorted(str(path) for path in Path("/dev").glob("nvidia[0-9]*")))
    yield _found("GPUs", "NVIDIA", nvidia, f"no device node{'' if smi else ', no nvidia-smi'}")
    amd = Path("/dev/kfd")
    usable = amd.exists() and os.access(amd, os.R_OK | os.W_OK)
    advice = "" if usable else "join the group render to use /dev/kfd" if amd.exists() else "no /dev/kfd"
    yield Check("GPUs", "AMD", str(amd) if amd.exists() else "", advice)
    for name, module in (("cupy", "cupy"), ("hip-python", "hip")):
        spec = importlib.util.find_spec(module)
        yield _found("GPUs", name, spec and spec.origin, f"only for a GPU: install {name}")


def _libraries() -> Iterator[Check]:
    for name in LIBRARIES:
        try:
            yield Check("libraries", name, importlib.metadata.version(name))
        except importlib.metadata.PackageNotFoundError:
            yield Check("libraries", name, "", f"python -m pip install {name}", needed=True)


def _environment() -> Iterator[Check]:
    """The size of the Python environment, and of the packages that take most of it."""
    place = sysconfig.get_path("purelib")
    specs = filter(None, map(importlib.util.find_spec, LARGE))
    sizes = {spec.name: sum(map(folder_size, spec.submodule_search_locations or ())) for spec in specs}
    parts = ", ".join(f"{name} {sizes[name] / 2**20:.0f}" for name in sorted(sizes, key=lambda name: -sizes[name]))
    yield Check("machine", "environment", f"{folder_size(place) / 2**20:.0f} MiB in {place}: {parts}")


def _cache() -> Iterator[Check]:
    root = default_root()
    try:
        root.mkdir(parents=True, exist_ok=True)
        tempfile.TemporaryFile(dir=root).close()
        advice = ""
    except OSError as error:
        advice = f"cannot be written ({error.strerror}); set PARITY_CACHE to a writable folder"
    yield Check("cache", "folder", f"{root}", advice, needed=True)
    held = f"{folder_size(root) / 2**20:.1f} MiB"
    try:
        allowed = limit()
    except UsageError as error:
        yield Check("cache", "size", held, str(error), needed=True)
        return
    most = "no limit" if allowed is None else f"at most {allowed / 2**20:.0f} MiB"
    origin = f"{LIMIT}={os.environ[LIMIT]}" if os.environ.get(LIMIT) else f"{LIMIT} sets another limit"
    yield Check("cache", "size", f"{held}, {most} ({origin})")
    sizes = {name: size for name in CACHED if (size := folder_size(root / name))}
    for name in sorted(sizes, key=lambda name: -sizes[name]):
        yield Check("cache", f"size: {name}", f"{sizes[name] / 2**20:.1f} MiB, {CACHED[name]}")


def _runners() -> Iterator[Check]:
    for name in runners():
        try:
            found = runner(name)
            probe = probe_runner(found)
            what = ", ".join(filter(None, (str(found.evidence), " ".join(found.targets() if probe.available else ()))))
            device = device_description(found) if probe.available else {}
        except ParityError as error:
            yield Check("runners", name, "", str(error))
            continue
        advice = "" if probe.available else "; ".join(text for text in (probe.reason, probe.install) if text)
        yield Check("runners", name, what, advice)
        for part, value in device.items():
            is_unknown = value.startswith(UNKNOWN)
            yield Check("runners", f"{name}: {part}", "" if is_unknown else value, value if is_unknown else "")
    yield from (Check("runners", name, "", problem) for name, problem in plugin_conflicts() if name in BUILT_IN)


def _suite() -> Iterator[Check]:
    try:
        suite = find_suite()
    except ParityError as error:
        yield Check("suite", "kernels", "", str(error))
        return
    kernels = f"{len(suite.modules)} modules, {len(suite.kernel_entries)} kernels"
    yield Check("suite", "kernels", f"{suite.kernels}: {kernels}")
    yield Check("suite", "cases", f"{suite.cases}: {len(suite.ops)} ops")


def _table(found: list[Check]) -> Text:
    groups = []
    for group, each in itertools.groupby(found, key=lambda check: check.group):
        rows: list[list[Cell]] = []
        for check in each:
            mark, style = ("ok", "green") if check.ok else ("!!", "bold red") if check.needed else ("--", "yellow")
            text = ": ".join(part for part in (check.found, check.advice) if part)
            rows.append([Text.assemble((mark, style), f" {check.name}"), text])
        groups.append(Text.assemble((f"{group}\n", "bold"), coloured((), rows, indent=2)))
    return Text("\n\n").join(groups)
