"""Removes code that does not compile and that the kernels do not need.

Clang parses host code even if it only generates device code, and host code needs libraries that the kernels do not:
torch, cuBLAS, argument parsers. An absent header becomes an empty file. Host functions, variables and macro calls that
then fail to compile are blanked; lines keep their numbers. An error in device code remains an error, with these
exceptions:

* Code that nvcc accepts and clang refuses is rewritten (see ``repair_rules``).
* Device functions that AMD GPUs cannot execute (untranslated PTX) are removed together with the functions that call
  them, and the build names them. If nothing else helps, so are functions that need an absent header or a name that
  HIP does not have.
* A call or launch that AMD's device code cannot make is replaced by code that fails when it is executed.
* In a partial build, device functions with errors are removed, so that the other kernels of a source can be tested.

A kernel template that only removed code launched is instantiated if its arguments are plain types and numbers.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from parity.compilers.diagnostics import Diagnostic, Place, quoted
from parity.compilers.lexing import WORD
from parity.porting.host_code import HostCode, LeftOut
from parity.porting.host_pieces import definition_edits, host_edits
from parity.porting.kernel_templates import INSTANTIATIONS, launched
from parity.porting.repair_rules import find_repair
from parity.porting.repair_sites import ErrorSite, Module
from parity.porting.source_tree import SourceEdit, parse

_FAILED_ASSERTION = re.compile(r"^static assertion failed")
_UNSUPPORTED = re.compile(r"declared with 'error' attribute: (inline PTX.*)|^(inline assembly that no AMD GPU has.*)")
"""Matches clang's and the assembler's errors for operations that no AMD GPU has (``compilers.assembler``)."""
_DEVICE_CALL = re.compile(r"device-side kernel call/launch|no matching function for call to '(?P<name>hip\w+)'")
"""Matches clang's errors for a kernel that launches kernels or calls the runtime."""
_NESTED = re.compile(r"requires separate compilation mode")
"""Matches nvcc's error for a kernel that launches kernels."""
_IN_TOOLKIT = re.compile(
    r'^function ".*" has already been defined \(previous definition at line \d+ of .*/cuda_\w+\.hp?p?\)'
)
"""Matches nvcc's error for a function that CUDA's headers define, too. Older ones lack it."""
_MISREAD = re.compile(r"^(?:expected a declaration|this declaration has no storage class)")
"""Matches nvcc's errors for the rest of a file, which it misreads after an error in the head of a function."""
_FAILING_CALL = '(__assert_fail("{}", __FILE__, __LINE__, __func__), hipSuccess)'
_DECLARED = re.compile(r"[^=;\[({]*\b([A-Za-z_]\w*)\s*(?:[=;\[({]|$)")
"""Matches the first line of a declaration up to the declared name."""
_LACKING = re.compile(
    r"undeclared|no matching|no (?:member|type|template) named|undefined template|unknown (?:type|class)"
    r"|incomplete type|does not refer to|\bdeleted\b|out-of-line definition|explicit specialization"
    r"|is undefined|no instance of|has no member|is not a template"  # nvcc's words
)

Pieces = dict[tuple[str, int], LeftOut]
"""Pieces to leave out, by file and first byte."""


@dataclass(frozen=True)
class _Outcome:
    """The analysis of an error: alternative edits, a refused instantiation, or the place of a user's error."""

    edits: Sequence[tuple[str, SourceEdit]] = ()
    refused: int | None = None
    stuck: Place | None = None


def repair(
    host: HostCode,
    texts: Mapping[str, str],
    errors: Sequence[Diagnostic],
    *,
    coarse: bool = False,
    lacks: Callable[[str], bool] | None = None,
    guessed: bool = False,
    partial: bool = False,
) -> HostCode | None:
    """Leave out more code so that these errors disappear; None if all errors are about device code.

    Args:
        host: The code that is left out already.
        texts: The translated files, complete, by the names that the errors use.
        errors: The compiler's errors.
        coarse: Remove whole functions instead of the smallest piece that contains an error. This is also done if the
            previous round had the same errors in device code.
        lacks: Returns whether HIP lacks a name. If given, device code is removed that needs such names or absent
            headers.
        guessed: Nobody asked for the instantiated templates. If nothing else can be removed, a template that leads
            to an error is.
        partial: If nothing else can be removed, device functions with errors are.
    """
    module = Module(texts, host)
    missing = {
        error.missing_header: f"{':'.join(map(str, error.places[0]))}: error: {error.text}"
        for error in errors
        if error.missing_header and error.missing_header not in host.empty_headers
    }
    errors = [error for error in errors if not error.missing_header]
    outcomes = [(error, _outcome(error, module)) for error in errors]
    refused = {each.refused for _, each in outcomes if each.refused is not None and not guessed}
    stuck = frozenset(
        (error.text, each.stuck)
        for error, each in outcomes
        if each.stuck and not (lacks or _UNSUPPORTED.search(error.text) or _DEVICE_CALL.search(error.text))
    )
    pieces: Pieces = {}
    for error, each in outcomes:
        if each.edits:
            file, edit = each.edits[-1 if coarse or stuck & host.stuck else 0]
            pieces.setdefault((file, edit.start), LeftOut.of(file, edit, error.text))
    _keep_innermost(pieces)
    if guessed and not pieces:
        refused |= {line - 1 for error in errors for file, line, _ in error.places if file == INSTANTIATIONS}
    if not missing and (lacks or not (pieces or refused)):
        pieces = {**_unsupported(module, errors, lacks), **pieces}
    if partial and not (missing or pieces or refused):
        pieces = _faulty(module, errors)
    if not missing and not pieces and not refused:
        return None
    kept = [each for i, each in enumerate(host.instantiated) if i not in refused]
    # A refused template is not instantiated again: the code that launches it is left out already.
    wanted = [name for piece in pieces.values() for name in launched(texts[piece.file], piece.start, piece.end)]
    return replace(
        host,
        stuck=stuck,
        left_out=(*host.left_out, *pieces.values()),
        empty_headers=(*host.empty_headers, *missing),
        missing=(*host.missing, *missing.values()),
        instantiated=tuple(dict.fromkeys((*kept, *wanted))),
    )


def _outcome(error: Diagnostic, module: Module) -> _Outcome:
    for place in error.places:
        site = ErrorSite(error, module, *place)
        if site.file == INSTANTIATIONS:
            return _Outcome(refused=site.line - 1)
        if site.is_in_module and _FAILED_ASSERTION.search(error.text):
            return _Outcome()  # it may be about device code
        if (found := find_repair(site)) is None:
            continue
        if not found[1]:
            return _Outcome(stuck=place)
        if edits := [each for each in found[1] if not module.host.covers(*each)]:
            return _Outcome(edits)
    return _Outcome()


def _keep_innermost(pieces: Pieces) -> None:
    """Drop replacements that contain another piece: the inner error may be the cause of the outer one."""
    for key, outer in [*pieces.items()]:
        if outer.instead and any(each is not outer and each.is_in(outer) for each in pieces.values()):
            del pieces[key]


def _unsupported(module: Module, errors: Sequence[Diagnostic], lacks: Callable[[str], bool] | None) -> Pieces:
    """Return device code that AMD GPUs cannot execute or that needs an absent name, and the code that uses it."""
    host = module.host

    def is_lacking(because: str) -> bool:
        names = quoted(because) or WORD.findall(because)[:1]  # nvcc quotes not all names
        return bool(lacks and _LACKING.search(because) and any(map(lacks, names)))

    gone = {piece.function for piece in host.left_out if piece.function and not piece.is_call}
    faulty = {piece.function for piece in host.left_out if piece.is_faulty}
    if lacks:  # a texture reference, for example, is a host variable
        declared = (_DECLARED.match(piece.name) for piece in host.left_out if is_lacking(piece.because))
        gone |= {match[1] for match in declared if match}
    found: Pieces = {}
    is_misread = any(_MISREAD.search(error.text) for error in errors)
    for error in errors:
        file, line, column = error.place_in(module.texts)
        if file not in module.texts or (is_misread and found):
            continue
        if call := _failing_call(error, module.texts[file], (file, line, column)):
            if not any(map(call.is_in, host.left_out)):
                found.setdefault((file, call.start), call)
            continue
        if _IN_TOOLKIT.search(error.text) and (repeated := _definition_edit(module.texts[file], line, column)):
            if not host.covers(file, repeated):
                found.setdefault((file, repeated.start), LeftOut.of(file, repeated, error.text))
            continue
        unsupported = _UNSUPPORTED.search(error.text)
        words = {word for name in error.names for word in WORD.findall(name)}
        used = sorted(gone & words) if _LACKING.search(error.text) else []
        is_nested = bool(lacks and _NESTED.search(error.text))
        is_removable = unsupported or used or is_nested or (lacks and (host.empty_headers or is_lacking(error.text)))
        if not is_removable or host_edits(module.texts[file], line, column, module.device_macros):
            continue
        because, is_faulty = error.text, False
        if unsupported:
            because = unsupported[1] or unsupported[2]
        elif used:
            is_faulty = used[0] in faulty
            because = f"uses {used[0]}, which {'does not compile' if is_faulty else 'is left out'}"
        if removed := _removed_definition(module, because, (file, line, column)):
            found.setdefault((file, removed.start), replace(removed, is_faulty=is_faulty))
    return found


def _faulty(module: Module, errors: Sequence[Diagnostic]) -> Pieces:
    """Return the definitions of device code that contain these errors; none if it is unclear which of two is meant."""
    if any(error.previous for error in errors):
        return {}
    found: Pieces = {}
    for error in errors:
        file, line, column = error.place_in(module.texts)
        if file in module.texts and (removed := _removed_definition(module, error.text, (file, line, column))):
            found.setdefault((file, removed.start), replace(removed, is_faulty=True))
    return found


def _removed_definition(module: Module, because: str, place: Place) -> LeftOut | None:
    """Return the piece that removes the definition at a place; None if it is left out already."""
    file, line, column = place
    for name, edit in definition_edits(parse(module.texts[file]), line, column):
        if not module.host.covers(file, edit):
            return replace(LeftOut.of(file, edit, because), line=line, function=name)
    return None


def _definition_edit(text: str, line: int, column: int) -> SourceEdit | None:
    """Return the edit that removes a definition, or a macro call that fills a line and defines a function."""
    edits = [edit for _, edit in definition_edits(parse(text), line, column)]
    edits = edits or list(host_edits(text, line, column, frozenset()))
    return edits[-1] if edits else None


def _failing_call(error: Diagnostic, text: str, place: Place) -> LeftOut | None:
    """Return an edit that makes a launch or call impossible on AMD GPUs fail when executed."""
    match = _DEVICE_CALL.search(error.text)
    if match is None or (match["name"] and not error.host_only):
        return None
    file, line, column = place
    tree = parse(text)
    call = tree.enclosing(line, column, "call_expression")
    if call is None:
        return None
    what = f"call {match['name']}" if match["name"] else "launch kernels"
    because = f"a kernel cannot {what} on AMD GPUs"
    function = next((name for name, _ in definition_edits(tree, line, column)), "")
    return replace(LeftOut.of(file, tree.edit(call, _FAILING_CALL.format(because)), because), function=function)
