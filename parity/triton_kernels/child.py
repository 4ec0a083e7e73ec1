"""Runs in a child process: compiles specializations with Triton, and writes the code of each.

``python child.py REQUEST OUTPUT`` compiles. The request is JSON: ``root`` (the kernels folder), ``backend``, ``arch``,
``wavefront`` and ``kernels``, the fields of ``Specialization``. ``OUTPUT/N.s`` and ``OUTPUT/N.bin`` are the text and
the code object of kernel N, and ``OUTPUT/result.json`` describes all kernels.

``python child.py REQUEST LISTING HSACO`` assembles a listing with Triton's LLVM, which may know instructions that
parity's clang does not.

If the request has ``targets`` instead of a target, ``OUTPUT/result.json`` describes the functions of the request, and
the first of the ``kernels`` of each function that compiles for all targets. If it has ``decorated``,
``OUTPUT/result.json`` describes the decorators of a function. Of parity, this file imports only ``loading.py`` and what
runs host code.
"""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import re
import sys
import sysconfig
import tempfile
import traceback
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

if not __package__:
    sys.path[0] = str(Path(__file__).parents[2])  # so that a project may have a file kernel.py
from parity.triton_kernels.decorators import described_decorators
from parity.triton_kernels.host_records import layers, smallest
from parity.triton_kernels.host_runs import launches, set_driver
from parity.triton_kernels.host_torch import importer
from parity.triton_kernels.loading import Loader, Placeholder

DIVISIBLE = 16
_LLVM_ERROR = re.compile(r"^error: (.+)", re.MULTILINE)
_SKIPPED = ("OutOfResources", "CompileTimeAssertionFailure", "PTXASError")
"""Errors for which Triton's autotuner skips a configuration."""
_NEEDED = 2
"""Targets for which a kernel must compile. The launch of host code should also fit into the memory of further ones."""
_MOST_LAUNCHES = 8
"""Launches by host code to compile for each function."""


def main(request: Path, output: Path) -> None:
    """Compile everything that the request names, or describe functions."""
    asked = json.loads(request.read_text())
    import triton

    from parity.triton_kernels import block_pointers

    block_pointers.install()
    root = Path(asked["root"])
    found: dict[str, Any]
    if "decorated" in asked:
        loader = new_loader(asked, target(asked))
        one = asked["decorated"]
        found = described_decorators(*defined(one, root, loader), one["given"])
        found["files"] = own_files(root, loader)
    elif "targets" in asked:
        loaders = [(target(each), new_loader(asked, target(each)), each["shared"]) for each in asked["targets"]]
        found = {"functions": [described(each, root, loaders, output) for each in asked["functions"]]}
    else:
        loader = new_loader(asked, target(asked))
        found = {"version": triton.__version__, "package": str(Path(triton.__file__).parent), "kernels": []}
        found["ptxas"] = ptxas(asked["arch"]) if asked["backend"] == "cuda" else ""
        for number, kernel in enumerate(asked["kernels"]):
            try:
                found["kernels"].append(compiled(kernel, root, target(asked), output / str(number), loader))
            except Exception as error:
                skips = type(error).__name__ in _SKIPPED
                found["kernels"].append({"error": explained(error, root), "skips": skips})
        found["files"] = own_files(root, loader)
    (output / "result.json").write_text(json.dumps(found))


def target(asked: Mapping[str, Any]) -> Any:
    """Return the target of a request."""
    from triton.backends.compiler import GPUTarget

    return GPUTarget(asked["backend"], asked["arch"], asked["wavefront"])


def new_loader(asked: Mapping[str, Any], where: Any) -> Loader:
    """Return what loads the files of a project for a target, which they may ask for."""
    set_driver(where)
    return Loader([Path(asked["root"]), *map(Path, asked.get("roots", ()))], importer(where.backend))


def described(
    function: Mapping[str, Any], root: Path, targets: list[tuple[Any, Loader, int]], output: Path
) -> dict[str, Any]:
    """Describe a function: its first kernel that compiles for most targets, and the error for the next target.

    Launches that the project's host code makes are preferred: one that compiles for all targets if possible, and
    otherwise for the first two, as all other kernels do. Launches with larger tensors are not compiled, which may take
    minutes: they replace the first launch only if that fails.
    """
    found: dict[str, Any] = {"chosen": -1, "targets": 0, "error": "", "constants": {}, "options": {}, "launches": []}
    if function["kernels"]:
        found["configurations"] = configurations(function["kernels"][0], root, targets[0][1])
    for launch in itertools.islice(made_launches(function, root, targets[0][1]), _MOST_LAUNCHES):
        is_larger, options = launch.pop("larger", False), launch["kernel"]["options"]
        if found["launches"]:
            if not is_larger:
                break
            launch["kernel"]["options"] = {**options, **_stages(options)[-1]}
            found["launches"].append(launch)
            continue
        best, chosen = _NEEDED - 1, {}
        for stages in _stages(options):
            kernel = {**launch["kernel"], "options": {**options, **stages}}
            done, error = _tried(kernel, root, output, targets)
            if done > best:
                best, chosen = done, kernel
            if done == len(targets):
                break
            found["error"] = error
        if chosen:
            found |= {"chosen": 0, "targets": _NEEDED, "launches": [launch | {"kernel": chosen}]}
    if found["launches"]:
        return found
    targets = targets[:_NEEDED]
    for number, kernel in enumerate(function["kernels"]):
        done, tuned = 0, dict[str, Any]()
        try:
            tuned = tuned_values(kernel, root, targets[0][1])
        except Exception as error:
            message = explained(error, root)
        else:
            for name, values in tuned.items():
                kernel = {**kernel, name: {**kernel[name], **values}}
            done, message = _tried(kernel, root, output, targets)
        if done > found["targets"]:
            found |= {"chosen": number, "targets": done, "error": "", **tuned}
        if done == len(targets):
            return found
        if done == found["targets"] and not found["error"]:
            found["error"] = message
    return found


def _stages(options: Mapping[str, Any]) -> list[dict[str, int]]:
    """Return the options to try: as given, and without software pipelining, which needs much shared memory."""
    return [{}, {"num_stages": 1}] if options.get("num_stages", 2) > 1 else [{}]


def _tried(
    kernel: Mapping[str, Any], root: Path, output: Path, targets: list[tuple[Any, Loader, int]]
) -> tuple[int, str]:
    """Compile a kernel for targets. Return for how many it compiles and fits, and the error for the next one."""
    for done, (where, loader, most) in enumerate(targets):
        set_driver(where)
        try:
            needed = compiled(kernel, root, where, output / "trial", loader)["shared"]
        except Exception as error:
            return done, explained(error, root)
        if needed > most:
            return done, f"the kernel needs {needed} bytes of shared memory; {where.arch} has {most}"
    return len(targets), ""


def made_launches(function: Mapping[str, Any], root: Path, loader: Loader) -> Iterator[dict[str, Any]]:
    """Yield the launches that host code makes, each with the ``kernel`` to compile for it."""
    one = function["kernels"][0]
    asked = {"file": str(root / one["file"]), "function": one["function"], **function["roles"]}
    for launch in launches(asked, [Path(each) for each in function["callers"]], function["dtypes"], loader):
        types = [each["type"] for each in launch["arguments"]]
        yield launch | {
            "kernel": {
                **one,
                "signature": types,
                "aligned": [i for i, each in enumerate(types) if each.startswith("*")],
                "constants": launch["constants"],
                "options": launch["options"],
            }
        }


def tuned_values(kernel: Mapping[str, Any], root: Path, loader: Loader) -> dict[str, dict[str, Any]]:
    """Return what the smallest configuration of ``@triton.autotune``, and ``@triton.heuristics`` set."""
    found: dict[str, dict[str, Any]] = {"constants": {}, "options": {}}
    for layer in defined(kernel, root, loader)[0]:
        if configs := getattr(layer, "configs", None):
            chosen = smallest(configs)
            found["constants"] |= {name: v for name, v in chosen.kwargs.items() if name in kernel["constants"]}
            found["options"] |= {"num_warps": chosen.num_warps}
        if rules := getattr(layer, "values", None):
            given = {**dict.fromkeys(layer.arg_names, 64), **kernel["constants"]}
            for name, rule in rules.items():
                try:
                    value = rule(given)
                except Exception:
                    continue
                if isinstance(value, int | float | str) and value is not True and name in kernel["constants"]:
                    found["constants"][name] = value
    return found


def configurations(kernel: Mapping[str, Any], root: Path, loader: Loader) -> int:
    """Return how many configurations ``@triton.autotune`` lists for a function."""
    try:
        decorators = defined(kernel, root, loader)[0]
    except ValueError:
        return 0
    return sum(len(getattr(each, "configs", None) or ()) for each in decorators)


def defined(kernel: Mapping[str, Any], root: Path, loader: Loader) -> tuple[list[Any], Any]:
    """Return the decorators of a function of a file, and the function itself.

    Raises:
        ValueError: the file does not have it.
    """
    path = root / kernel["file"]
    function: Any = getattr(loader.module(path), kernel["function"], None)
    if isinstance(function, Placeholder):
        raise ValueError(f"{path.name}: {kernel['function']} cannot be defined here")
    try:
        return layers(function)
    except AttributeError:
        raise ValueError(f"{path.name} has no @triton.jit function {kernel['function']}") from None


def compiled(kernel: Mapping[str, Any], root: Path, target: Any, stem: Path, loader: Loader) -> dict[str, Any]:
    """Compile one kernel, write its code, and return its metadata."""
    import triton
    from triton.compiler import ASTSource

    function, kernel = jit_function(kernel, root, loader)
    names = [name for name in function.arg_names if name not in kernel["constants"]]
    types = dict(zip(names, kernel["signature"], strict=True))
    signature = {name: types.get(name, "constexpr") for name in function.arg_names}
    constants = {(function.arg_names.index(n),): constant(v) for n, v in kernel["constants"].items()}
    aligned = {(function.arg_names.index(names[i]),): [["tt.divisibility", DIVISIBLE]] for i in kernel["aligned"]}
    source = ASTSource(function, signature, constants, aligned)
    options = {name: value for name, value in kernel["options"].items() if value is not None}
    _give_back_math(target)
    with _raising_errors_of_llvm():
        made = triton.compile(source, target=target, options=options)
    text, binary = ("amdgcn", "hsaco") if target.backend == "hip" else ("ptx", "cubin")
    stem.with_suffix(".s").write_text(made.asm[text])
    stem.with_suffix(".bin").write_bytes(made.asm[binary])
    metadata = made.metadata
    return {
        "name": metadata.name,
        "stem": str(stem),
        "shared": metadata.shared,
        "num_warps": metadata.num_warps,
        "scratch": getattr(metadata, "global_scratch_size", 0) or 0,
        "arguments": names,
        "line": getattr(function, "starting_line_number", 0),
    }


_MOVED = set[str]()
"""The functions that ``tl.math`` has from a library."""


def _give_back_math(target: Any) -> None:
    """Let ``tl.math`` and ``tl.libdevice`` have the functions of the target's library, as in Triton 2."""
    import triton.language as tl
    from triton.compiler import make_backend

    for library in make_backend(target).get_module_map().values():
        for name, function in vars(library).items():
            if getattr(function, "__module__", "") == library.__name__ and (
                name in _MOVED or not hasattr(tl.math, name)
            ):
                _MOVED.add(name)
                setattr(tl.math, name, function)
        tl.libdevice = library


@contextlib.contextmanager
def _raising_errors_of_llvm() -> Iterator[None]:
    """Raise the errors that LLVM prints. Triton ignores them and returns wrong code.

    Raises:
        ValueError: LLVM refused something, such as PTX in a kernel for AMD.
    """
    with tempfile.TemporaryFile() as printed:
        before = os.dup(2)
        os.dup2(printed.fileno(), 2)
        try:
            yield
        finally:
            os.dup2(before, 2)
            os.close(before)
            printed.seek(0)
            text = printed.read().decode(errors="replace")
            sys.stderr.write(text)
        if found := _LLVM_ERROR.search(text):
            about = " (assembly for another vendor?)" if "constraint" in found[1] else ""
            raise ValueError(f"LLVM: {found[1]}{about}")


def assemble(request: Path, listing: Path, hsaco: Path) -> None:
    """Assemble and link an AMD listing."""
    asked = json.loads(request.read_text())
    from triton._C.libtriton import llvm
    from triton.compiler import make_backend

    llvm.init_targets()  # before Triton 3.9, only a compilation does
    backend = make_backend(target(asked))
    hsaco.write_bytes(backend.make_hsaco(listing.read_text(), {}, backend.parse_options({"arch": asked["arch"]})))


def ptxas(arch: int) -> str:
    """Return the ptxas that Triton uses for an architecture."""
    from triton.backends.nvidia import compiler

    try:
        return str(compiler.get_ptxas(arch).path)
    except (AttributeError, TypeError):  # older versions have only one
        return str(compiler.get_ptxas().path)


def jit_function(kernel: Mapping[str, Any], root: Path, loader: Loader) -> tuple[Any, Mapping[str, Any]]:
    """Return the function of a file below its decorators, and the kernel.

    A constexpr parameter may have the name of an option, such as ``num_stages``. The option is its value.
    """
    function = defined(kernel, root, loader)[1]
    function._repr = None  # a function of the project that names the kernel, which parity renames
    shared = {name: value for name, value in kernel["options"].items() if name in function.arg_names}
    kernel = {**kernel, "constants": {**shared, **kernel["constants"]}}
    missing = [name for name in kernel["constants"] if name not in function.arg_names]
    if missing:
        raise ValueError(f"{kernel['function']} has no parameter {missing[0]}")
    left = [name for name in function.arg_names if name not in kernel["constants"]]
    if len(left) != len(kernel["signature"]):
        given = f"args of the declaration has {len(kernel['signature'])}"
        raise ValueError(f"{kernel['function']} takes {len(left)} arguments ({' '.join(left)}); {given}")
    return function, kernel


def constant(value: Any) -> Any:
    """Return the value of a constexpr parameter."""
    if isinstance(value, str) and value.startswith("tl."):
        import triton.language as tl

        return getattr(tl, value[3:])
    return value


def explained(error: BaseException, root: Path) -> str:
    """Return an error in the form of a compiler: ``file:line:column: error: text``."""
    nested: BaseException | None = error
    place = ""
    while nested is not None:
        node = getattr(nested, "node", None)
        source = getattr(nested, "src", None)
        if node is not None and source is not None:
            line = getattr(node, "lineno", 0)
            place = f"line {line} of the function: {source.splitlines()[line - 1].strip()}" if line else ""
        nested = nested.__cause__
    last = (str(error.__cause__ or error).strip() or type(error).__name__).splitlines()[-1]
    for frame in reversed(traceback.extract_tb(error.__traceback__)):
        if Path(frame.filename).is_relative_to(root):
            return f"{Path(frame.filename).relative_to(root)}:{frame.lineno}:1: error: {last}"
    return f"{last} ({place})" if place else last


def own_files(root: Path, loader: Loader) -> list[str]:
    """Return the imported Python files outside of Triton, parity, Python's library and other installed packages."""
    import triton

    installed = [Path(sysconfig.get_path(name)) for name in ("stdlib", "platstdlib", "purelib", "platlib")]
    others = (Path(triton.__file__).parent, Path(__file__).resolve().parents[1])
    found = {str(path) for path in loader.files}
    for module in list(sys.modules.values()):
        file = module.__dict__.get("__file__")
        if not file or not file.endswith(".py"):
            continue
        path = Path(file).resolve()
        foreign = any(map(path.is_relative_to, installed)) and not path.is_relative_to(root)
        if not (foreign or any(map(path.is_relative_to, others))):
            found.add(str(path))
    return sorted(found)


if __name__ == "__main__":
    (main if len(sys.argv) == 3 else assemble)(*map(Path, sys.argv[1:]))
