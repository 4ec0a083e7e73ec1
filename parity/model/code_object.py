"""Code objects: the compiled form of a module for a target, with the metadata of its kernels."""

from __future__ import annotations

import functools
import re
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from msgspec import Struct

from parity.errors import UsageError, nearest
from parity.model.finding import Finding
from parity.platform.cache import digest
from parity.platform.serialization import checked

_BEGIN, _END = "\t.amdgpu_metadata\n", "\t.end_amdgpu_metadata"
# Demanglers write functions, booleans and integers as template arguments differently from sources.
_FUNCTION = re.compile(r"&(?:[^<>(),]+[ *&])?([\w:]+(?:<(?:[^<>]|<[^<>]*>)*>)?)\([^()]*\)")
_BOOLEAN = re.compile(r"\(bool\)([01])")
STACK_BYTES = 1024
"""The stack of a kernel whose calls the compiler does not know all: HIP's default of hipLimitStackSize."""
_NUMBER = re.compile(r"\((?:(?:un)?signed )?(?:char|short|int|long|long long|__int128)\)([n-]?)(\d+)")
_PREBUILT = re.compile(r"(?P<module>.+?)(?:[-.](?P<target>gfx\w+))?\.(?:hsaco|co)")
_FILE = re.compile(r'^\t\.file\t\d+ (?:"(?P<folder>[^"]*)" )?"(?P<name>[^"]*)"', re.MULTILINE)
_VECTOR = re.compile(r"HIP_vector_type<([a-z ]+), (\d)>")
_HIP_NAMES = {
    re.compile(r"\b(?:__)?nv_(?=bfloat162?\b)|\b__nv_(?=fp8)"): "__hip_",
    re.compile(r"\bcurand(?=State)"): "hiprand",
    re.compile(r"\bnvcuda::wmma\b"): "rocwmma",
}
"""HIP's names for CUDA's types; ``as_in_cuda`` of ``parity.porting`` is the inverse."""
_INTERNAL = re.compile(r"\b_INTERNAL_[0-9a-f]{8}_\d+_\w+?_[0-9a-f]{8}::")
"""Matches the namespace that nvcc adds to variables with internal linkage in namespaces; it identifies the file."""
_VERSIONED = re.compile(r"\b(?:THRUST|CUB)_\w+_NS::")
"""Matches the namespaces in which CUDA's libraries keep versions apart."""
_SUFFIXED = re.compile(r"(?<![\w.])(\d+)(?:[uU][lL]{0,2}|[lL]{1,2}[uU]?)\b")


_ENTRY = re.compile(r"^(?:([\w$.]+):[^\n;]*; @|(?:\.\w+ )*\.entry ([\w$]+)\()", re.MULTILINE)
"""Matches the start of a function in AMD assembly, or of a kernel in PTX."""
_INSTRUCTION = re.compile(r"^\t(?:@!?%\w+\s+)?([a-z]\w*)", re.MULTILINE)


_SHOWN_KERNELS = 8
"""Kernels that the message about a missing one lists."""


@dataclass(frozen=True)
class Argument:
    """An argument of a kernel: ``size`` bytes at byte ``offset`` of the kernarg segment.

    ``kind`` is the value kind of the metadata (``by_value``, ``global_buffer``, ``dynamic_shared_pointer``, ...). It is
    empty if the argument may be a pointer or a value, which PTX does not always distinguish. ``name`` is empty if the
    compiler did not keep it.
    """

    name: str
    offset: int
    size: int
    kind: str


@dataclass(frozen=True)
class Kernel:
    """A kernel entry.

    Attributes:
        args: the arguments in the source.
        lds_bytes: static LDS of a workgroup.
        scratch_bytes: private memory of a work-item.
        wavefront: lanes of a wavefront.
        spills: registers (SGPR and VGPR) that were spilled.
        max_threads: the largest workgroup that the code supports.
        hidden: arguments that the runtime fills in, named by their kind.
        dynamic_lds: dynamic LDS that every launch needs. Only Triton's kernels state it.
        converged: the threads of a warp execute all instructions together, so that the order of the instructions is the
            order of their accesses. Triton generates such code, and relies on it.
        lds_zeros: bytes at the begin of the LDS that are 0 when a workgroup begins. Only PTX has such memory.
    """

    name: str
    args: tuple[Argument, ...]
    kernarg_bytes: int
    sgprs: int
    vgprs: int
    lds_bytes: int
    scratch_bytes: int
    wavefront: int
    spills: int = 0
    max_threads: int = 1024
    hidden: tuple[Argument, ...] = ()
    dynamic_lds: int = 0
    lds_zeros: int = 0
    converged: bool = False

    @property
    def explicit_bytes(self) -> int:
        """Size of the part of the kernarg segment that ``args`` occupy."""
        return max((argument.offset + argument.size for argument in self.args), default=0)


def _dotted(name: str) -> str:
    return f".{name}"


class _Argument(Struct, rename=_dotted):
    """The metadata of an argument in a listing."""

    offset: int
    size: int
    value_kind: str
    name: str = ""


class _Kernel(Struct, rename=_dotted):
    """The metadata of a kernel in a listing."""

    name: str
    kernarg_segment_size: int
    sgpr_count: int
    vgpr_count: int
    group_segment_fixed_size: int
    private_segment_fixed_size: int
    wavefront_size: int
    uses_dynamic_stack: bool = False
    sgpr_spill_count: int = 0
    vgpr_spill_count: int = 0
    max_flat_workgroup_size: int = 1024
    args: list[_Argument] = []


class _Metadata(Struct):
    """The metadata of a listing, without the prefix ``amdhsa.`` of the names."""

    target: str
    kernels: list[_Kernel] | None = None


@dataclass(frozen=True)
class CodeObject:
    """The compiled form of a module for a target.

    Attributes:
        stored: the listing, or its compressed bytes.
        digest: SHA-256 that identifies the code object.
        sources: files that it was compiled from.
        binary: loadable file (HSACO, cubin), if it was built.
        made_by: text that names the kind of source (hipified or ported), the compiler and the headers.
        refused: functions of the source that the vendor's GPUs cannot execute: name, with place and reason.
        skipped: kernels that are configurations for other targets, each with the reason. Only Triton has such kernels.
        defects: uses of functions in AMD's headers that are known to differ from CUDA's documentation.
        copy: tells apart code objects with the same content that a program loaded several times: each has variables.
    """

    module: str
    target: str
    stored: str | bytes = field(repr=False)
    kernels: Mapping[str, Kernel]
    digest: str
    sources: tuple[Path, ...] = ()
    binary: Path | None = None
    made_by: str = ""
    refused: Mapping[str, str] = field(default_factory=dict)
    skipped: Mapping[str, str] = field(default_factory=dict)
    defects: tuple[Finding, ...] = ()
    copy: int = 0

    @functools.cached_property
    def listing(self) -> str:
        """Assembly text (AMD) or PTX (CUDA). A run that finds all of its kernels in the cache never decompresses it."""
        return self.stored if isinstance(self.stored, str) else zlib.decompress(self.stored).decode()

    def symbol(self, name: str) -> str:
        """Return the symbol of a kernel, given the symbol or the name in the source.

        A kernel with C++ linkage is named ``scale<float>`` or ``ops::scale<__half>``, or by its full signature if that
        name is ambiguous. An unknown name is returned unchanged.
        """
        return name if name in self.kernels else self._called.get(plain(name), name)

    def kernel(self, symbol: str) -> Kernel:
        """Return a kernel.

        Raises:
            MissingKernel: the code object has no such kernel.
        """
        if symbol not in self.kernels:
            raise MissingKernel(symbol, self)
        return self.kernels[symbol]

    def variable(self, name: str) -> str:
        """Return the symbol of a variable, given its name in the source. An unknown name is returned unchanged."""
        return self._mangled.get(name, name)

    @functools.cached_property
    def _mangled(self) -> Mapping[str, str]:
        """The first mangled symbol of each name in the source. Launches need it again and again."""
        symbols = [*dict.fromkeys(re.findall(r"\b_Z\w+", self.listing))]
        return {name: symbol for symbol in reversed(symbols) for name in spelled(symbol)}

    @functools.cached_property
    def _called(self) -> Mapping[str, str]:
        """The symbols of kernels with C++ linkage, by their unambiguous names in the source."""
        found: dict[str, str] = {}
        several: set[str] = set()
        for symbol in self.kernels:
            for name in map(plain, spelled(symbol)):
                if found.setdefault(name, symbol) != symbol:
                    several.add(name)
        return {name: symbol for name, symbol in found.items() if name not in several}


class MissingKernel(UsageError):
    """A code object does not have a kernel of this name."""

    def __init__(self, name: str, code: CodeObject) -> None:
        names = [source_name(symbol) for symbol in code.kernels]
        hint = nearest(name, names) or f"; it has {', '.join(names[:_SHOWN_KERNELS]) or 'no kernels'}"
        if reason := code.refused.get(unqualified(name)):
            hint = f", which is left out: {reason}"
        super().__init__(f"{code.module} has no {name}{hint}")


@functools.cache
def spelled(symbol: str) -> tuple[str, ...]:
    """Return the names of a mangled symbol in source code: without and with its arguments.

    The result is empty for symbols with C linkage and for symbols that the demangler cannot read.
    """
    text = _demangled(symbol) if symbol.startswith("_Z") else ""
    text = _FUNCTION.sub(r"\1", _literals(_INTERNAL.sub("", text)))
    if not text.endswith(")"):
        return (text,) if text else ()
    begin, depth = len(text), 0
    while depth or begin == len(text):  # back to the start of the arguments
        begin -= 1
        depth += {")": 1, "(": -1}.get(text[begin], 0)
    depth, start = 0, 0  # the name follows the result type, which only templates have
    for i, letter in enumerate(text[:begin]):
        depth += (letter in "<(") - (letter in ">)")
        if letter == " " and not depth:
            start = i + 1
    return text[start:begin], text[start:]


def source_name(symbol: str) -> str:
    """Return the name of a symbol in source code, without arguments; the symbol itself if it is not mangled."""
    return (spelled(symbol) or (symbol,))[0]


def idle(code: CodeObject) -> tuple[str, ...]:
    """Return the kernels whose first instruction (AMD or PTX) ends them."""
    found = []
    for match in _ENTRY.finditer(code.listing):
        first = _INSTRUCTION.search(code.listing, match.end())
        if (name := match[1] or match[2]) in code.kernels and first and first[1] in ("s_endpgm", "ret"):
            found.append(name)
    return tuple(found)


def unqualified(name: str) -> str:
    """Return the name of a function without namespaces and template arguments."""
    return name.partition("<")[0].rpartition("::")[2]


def mangled(variable: str) -> tuple[str, ...]:
    """Return the symbols that a variable may have (Itanium C++ ABI), whether it is static or not.

    ``variable`` is a name such as ``table``, or ``ops::table`` in a namespace. If ``ops::table`` is static, nvcc adds a
    namespace that depends on the file: ``CodeObject.variable`` finds that symbol.
    """
    *outer, last = [_mangled_part(part) for part in variable.split("::")]
    return (variable, f"_ZL{last}") if not outer else (f"_ZN{''.join(outer)}{last}E", f"_ZN{''.join(outer)}L{last}E")


def _mangled_part(name: str) -> str:
    name = "_GLOBAL__N_1" if name == "(anonymous namespace)" else name
    return f"{len(name)}{name}"


def _demangled(symbol: str) -> str:
    """Demangle a symbol; empty if that fails. The better demangler does not exist for every machine."""
    try:
        from cpp_demangle import demangle
    except ImportError:
        import itanium_demangler

        try:
            return str(itanium_demangler.parse(symbol) or "")
        except (NotImplementedError, KeyError):  # expressions, local names, types such as _Float16
            return ""
    try:
        return str(demangle(symbol))
    except ValueError:
        return ""


def _literals(name: str) -> str:
    """Write template arguments as in sources: ``1024`` for ``(int)1024``, ``true``, ``float4`` for HIP's type."""
    name = _BOOLEAN.sub(lambda match: "true" if match[1] == "1" else "false", name)
    name = _NUMBER.sub(lambda match: ("-" if match[1] else "") + match[2], name)
    return _VECTOR.sub(
        lambda match: match[1].replace("unsigned ", "u").replace("long long", "longlong") + match[2], name
    )


def plain(name: str) -> str:
    """Normalize a name for comparison: no spaces, no suffixes of numbers, no versions, HIP's names for CUDA's types."""
    name = _VERSIONED.sub("", _SUFFIXED.sub(r"\1", name))
    for pattern, hip in _HIP_NAMES.items():
        name = pattern.sub(hip, name)
    return name.replace(" ", "")


def parse(listing: str, module: str, *, binary: Path | None = None) -> CodeObject:
    """Parse an assembly listing for ``amdgcn-amd-amdhsa``.

    Raises:
        UsageError: the listing has no metadata, is cut off, or its metadata cannot be read.
    """
    metadata = _metadata(listing, module)
    target = metadata.target.rpartition("-")[2]
    kernels = {kernel.name: kernel for kernel in map(_kernel, metadata.kernels or ())}
    return CodeObject(module, target, listing, kernels, digest(listing), tuple(_sources(listing)), binary)


def kernels_of(metadata: Mapping[str, Any], module: str) -> tuple[Kernel, ...]:
    """Return the kernels that the metadata of a code object describes.

    Raises:
        UsageError: the metadata cannot be read.
    """
    return tuple(map(_kernel, _checked(metadata, module).kernels or ()))


def prebuilt(source: Path) -> dict[str, Path]:
    """Return the code objects that replace a missing source, by target.

    ``unary-gfx1100.hsaco`` or ``unary.gfx1100.co`` replaces ``unary.cu`` for a target; ``unary.hsaco`` is for ``""``.
    """
    if source.is_file() or not source.parent.is_dir():
        return {}
    matches = ((_PREBUILT.fullmatch(path.name), path) for path in sorted(source.parent.iterdir()))
    return {match["target"] or "": path for match, path in matches if match and match["module"] == source.stem}


def replaced_source(path: Path) -> Path:
    """Return the source that a code object replaces (see ``prebuilt``); other files are returned unchanged."""
    match = _PREBUILT.fullmatch(path.name)
    return path.with_name(f"{match['module']}.cu") if match else path


def first_difference(kernel: Kernel, given: Sequence[tuple[int, bool | None]]) -> str:
    """Return the first difference between arguments and the kernel's metadata, or an empty string.

    ``given`` holds the size of each argument in bytes, and whether it is a pointer (None: unknown).
    """
    for i, (size, pointer) in enumerate(given):
        if i >= len(kernel.args):
            return f"kernel {kernel.name!r} takes {len(kernel.args)} arguments, not {len(given)}"
        argument, problem = kernel.args[i], ""
        if size != argument.size:
            problem = f"has {argument.size} bytes, not {size}"
        elif pointer is not None and argument.kind and pointer != (argument.kind != "by_value"):
            problem = f"is {'passed by value, not a pointer' if pointer else 'a pointer, not passed by value'}"
        if problem:
            return f"argument {i} {argument.name!r} at byte {argument.offset} of kernel {kernel.name!r} {problem}"
    if len(given) < len(kernel.args):
        argument = kernel.args[len(given)]
        return (
            f"kernel {kernel.name!r} takes {len(kernel.args)} arguments, not {len(given)}: the first one missing is "
            f"{argument.name!r} ({argument.size} bytes at byte {argument.offset})"
        )
    return ""


def _metadata(listing: str, module: str) -> _Metadata:
    # Search from the end: the block follows the code, which can be megabytes long.
    begin = listing.rfind(_BEGIN)
    if begin < 0:
        raise UsageError(
            f"the listing of module {module!r} has no .amdgpu_metadata block: it is not an assembly listing for "
            "amdgcn-amd-amdhsa, or it is cut off; compile again (clang -S --offload-device-only)"
        )
    end = listing.find(_END, begin)
    if end < 0:
        line = listing.count("\n", 0, begin) + 1
        raise UsageError(
            f"the listing of module {module!r} is cut off: the .amdgpu_metadata block of line {line} has no "
            ".end_amdgpu_metadata; compile again"
        )
    import yaml  # slow to import, and not needed for code objects from the cache

    base: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    loader: Any = type("Loader", (base,), {})
    # LLVM 21 marks names such as n and y, which could mean no and yes.
    loader.add_constructor("!str", base.construct_yaml_str)
    try:
        data = yaml.load(listing[begin + len(_BEGIN) : end], Loader=loader)
    except yaml.YAMLError as error:
        raise UsageError(f"the metadata of module {module!r} is not YAML: {error}") from error
    return _checked(data, module)


def _checked(data: Any, module: str) -> _Metadata:
    if isinstance(data, Mapping):
        data = {str(name).removeprefix("amdhsa."): value for name, value in data.items()}
    place = f"the metadata of module {module!r}"
    return checked(data, _Metadata, place, "parity reads code object version 5 of clang 22")


def _kernel(data: _Kernel) -> Kernel:
    args = [Argument(a.name, a.offset, a.size, a.value_kind) for a in data.args]
    return Kernel(
        name=data.name,
        args=tuple(a for a in args if not a.kind.startswith("hidden_")),
        kernarg_bytes=data.kernarg_segment_size,
        sgprs=data.sgpr_count,
        vgprs=data.vgpr_count,
        lds_bytes=data.group_segment_fixed_size,
        scratch_bytes=max(data.private_segment_fixed_size, STACK_BYTES * data.uses_dynamic_stack),
        wavefront=data.wavefront_size,
        spills=data.sgpr_spill_count + data.vgpr_spill_count,
        max_threads=data.max_flat_workgroup_size,
        hidden=tuple(Argument(a.kind, a.offset, a.size, a.kind) for a in args if a.kind.startswith("hidden_")),
    )


def _sources(listing: str) -> Iterator[Path]:
    for match in _FILE.finditer(listing):
        yield Path(match["folder"] or "", match["name"])
