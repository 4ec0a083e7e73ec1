"""Formats failures as text with the information that is needed to start debugging."""

from __future__ import annotations

import math
import os
import re
import shlex
import textwrap
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from parity.compare.arbitration import Conclusion
from parity.compare.verdict import Fact, Status
from parity.engine.case_records import DECLARATION, CaseRecord
from parity.errors import first_names, pluralize
from parity.model.divergences import divergences
from parity.platform.files import read_table
from parity.porting import LITERAL, chosen_hipifier
from parity.report.excerpts import NO_SOURCES, SourceFolders
from parity.report.matrix import NOTHING_COMPARED, by_cell, failure_class, uncompared_records
from parity.suite.options import DEFAULT_RUNNER, as_arguments

SHOWN_PER_KERNEL = 2
KERNELS_NAMED = 8
"""Kernels that did not compile to list by name."""
_PLACE = re.compile(r"[\w./+-]+\.\w+:\d+")
"""Matches a line of source in a reason."""
_OF_DECLARATION = re.compile(r".*\.py:\d+: op \S+: ")
"""Matches an error of a function of the declaration, such as the reference."""
WRONG_DECLARATIONS = ("missing kernel", "error", DECLARATION)
"""Failure classes whose cause may be the declaration of the op."""
CLASSES = {row["class"]: row for row in read_table(Path(__file__).with_name("classes.csv"))}
"""The ``meaning`` of each failure class, and the ``next`` step, with ``{explain}`` and others in place of commands."""
LABELS = (
    *("kernels", "where", "because", "who", "next", "element", "expected", "got", "apart", "wrong", "judged by"),
    *("case", "found as", "named", "about", "launch", "printed", "declared", "again"),
)
"""The labels of a failure in their order."""
PROSE = ("because", "who", "about", "declared")
"""Labels of values that may be wrapped."""
INDENT = 12
"""The width of the column of labels, in characters."""
PROVEN = {
    Fact.PASSES_HELPFUL: "make these changes in the source, or translate with --hipify helpful",
    Fact.PASSES_AT_OTHER_WIDTH: (
        "let shuffles, votes and loops over lanes state their width, as in __shfl_xor(x, 16, 32)"
    ),
}
"""The next step by a fact that further launches have proven."""
_CONTROLS = (*range(9), *range(11, 32), *range(127, 160), *range(0x2028, 0x202F), *range(0x2066, 0x206A))
"""Characters that control a terminal or the direction of text, other than tabs and ends of lines."""
BRIEF = 4
"""A reason of more lines, such as a compiler's message, is shown after the next step."""


@dataclass(frozen=True)
class Reproduction:
    """The command that runs one case again: how to call parity here, and the relevant options."""

    command: str = "parity run"
    options: tuple[str, ...] = ()

    @classmethod
    def with_options(cls, given: Mapping[str, Any], *flags: str) -> Reproduction:
        """Build the command with the given options that differ from the defaults; the keys are option names.

        The environment variable ``PARITY_COMMAND`` replaces "parity run", for example in a nox session.
        """
        runners = given["runner"] if given["runner"] != [DEFAULT_RUNNER] else ()
        hipifier = chosen_hipifier()
        others = {"runner": runners, "hipify": hipifier if hipifier != LITERAL else ""}
        return cls(os.environ.get("PARITY_COMMAND") or cls.command, (*as_arguments({**given, **others}), *flags))

    def of(self, record: CaseRecord) -> str:
        """Return the command line for the case of a record, quoted for a POSIX shell."""
        return f"{self.command} {shlex.join([record.case or record.kernel, *self.options])}"

    def alone(self, record: CaseRecord) -> str:
        """Return the command that writes a stand-alone reproducer of the case; empty if the record has no case."""
        return self.other("reproduce", record.case) if record.case and record.where.side else ""

    def other(self, command: str, *words: str) -> str:
        """Return another command of parity with the same options."""
        return shlex.join(["parity", command, *words, *self.options])


@dataclass(frozen=True)
class Failure:
    """A failure to show: one case, with the same failure on the target of each of the ``records``.

    ``more`` counts failing cases of the kernel that are omitted after this one. A module that is missing or does not
    compile is one failure of all its kernels.
    """

    records: tuple[CaseRecord, ...]
    more: int = 0

    def __str__(self) -> str:
        """The text that ``parity run`` prints."""
        return failure_text(self, Reproduction())

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        """Print the text in a notebook."""
        printer.text(str(self))

    @property
    def targets(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(record.target for record in self.records))

    @property
    def kernels(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(record.kernel for record in self.records))


def shown_failures(records: Iterable[CaseRecord]) -> list[Failure]:
    """Select the failures to show for each kernel, minimized cases first. Equal failures on several targets are one."""
    kernels: dict[tuple[str, str, str], list[CaseRecord]] = {}
    for record in (record for record in records if record.failed):
        kernels.setdefault((record.kernel, record.runner, record.target), []).append(record)
    chosen: list[Failure] = []
    for failures in kernels.values():
        # One per class; minimized cases come first.
        classes: dict[str, CaseRecord] = {}
        for record in sorted(failures, key=lambda r: r.minimal is None):
            classes.setdefault(failure_class(record), record)
        shown = list(classes.values())[:SHOWN_PER_KERNEL]
        for record in shown:
            more = len(failures) - len(shown) if record is shown[-1] else 0
            same = next((n for n, f in enumerate(chosen) if _alike(f.records[0], record)), None)
            if same is None:
                chosen.append(Failure((record,), more))
            else:
                chosen[same] = Failure((*chosen[same].records, record), chosen[same].more + more)
    return chosen


def by_cause(failures: Iterable[Failure]) -> list[list[Failure]]:
    """Group failures that probably have the same cause: one class at one line of source, on the same targets.

    Failures without a line of source belong together if they have the same op.
    """
    causes: dict[tuple[object, ...], list[Failure]] = {}
    for failure in failures:
        record = failure.records[0]
        place = _PLACE.search((record.minimal or record).verdict.detail)
        cause = place[0] if place else record.op
        causes.setdefault((failure_class(record), failure.targets, cause), []).append(failure)
    return list(causes.values())


def not_judged(records: Iterable[CaseRecord]) -> list[str]:
    """Return each reason why cases were not judged, with the numbers of cases and kernels and an example."""
    reasons: dict[tuple[str, str], list[CaseRecord]] = {}
    for cell in by_cell(records).values():
        for record in cell:
            if record.verdict.status is Status.NOT_JUDGED:
                whose = record.op if record.verdict.kind == "reference" else ""
                reasons.setdefault((record.verdict.kind, whose), []).append(record)
        if uncompared := uncompared_records(cell):
            reasons.setdefault((NOTHING_COMPARED, ""), []).extend(uncompared)
    return [
        f"not judged: {pluralize(len(each), 'case')} of {pluralize(len({r.kernel for r in each}), 'kernel')}, "
        f"such as {each[0].case or each[0].kernel}: {_visible(each[0].verdict.detail or kind)}"
        for (kind, _), each in reasons.items()
    ]


def _alike(one: CaseRecord, other: CaseRecord) -> bool:
    """True for the same failure on another target, or on the other vendor's side if neither has a value to show.

    Reasons are compared without listing lines, because instruction names differ between targets.
    """
    if _without_target(one) == _without_target(other):
        return True
    if one.without_code or _seen(one) != _seen(other):
        return False
    if one.where.side != other.where.side:
        return _both_fail(one) and _both_fail(other)
    return _reason(one) == _reason(other)


def _seen(record: CaseRecord) -> tuple[object, ...]:
    """Everything that the text of a failure shows, except for the reason."""
    small = record.minimal or record
    verdict = small.verdict
    against = small.against or record.against
    other = (against.conclusion, against.value) if against else ()
    place = (record.kernel, record.where.kind, record.title)
    seen = (small.case, small.launch, small.inputs, failure_class(record))
    return *place, *seen, verdict.first, verdict.wrong, verdict.total, verdict.pattern, other


def _reason(record: CaseRecord) -> str:
    """The reason of a failure without listing lines, which differ between targets."""
    lines = (record.minimal or record).verdict.detail.splitlines()
    return "\n".join(re.sub(r", listing line \d+.*", "", line) for line in lines if not line.startswith("  "))


def _both_fail(record: CaseRecord) -> bool:
    """True if both vendors' sides fail without comparable values."""
    small = record.minimal or record
    against = small.against or record.against
    return bool(against and against.conclusion is Conclusion.BOTH and not against.value and not small.verdict.first)


def _without_target(record: CaseRecord) -> CaseRecord:
    if record.without_code:
        return replace(record, target="", op="", kernel="")
    minimal = _without_target(record.minimal) if record.minimal else None
    return replace(record, target="", instructions=None, printed="", minimal=minimal)


def failure_text(
    failure: Failure,
    reproduction: Reproduction,
    sources: SourceFolders = NO_SOURCES,
    declared: str = "",
    guesses: Sequence[str] = (),
    width: int | None = None,
) -> str:
    """Return a failure as text: a head, and a line for each label and value of ``failure_lines``.

    ``width`` limits the length of lines without commands and cases, in characters.
    """
    head, lines = failure_lines(failure, reproduction, sources, declared, guesses)
    return "\n".join([f"FAIL  {head}", *(_line(label, value, width) for label, value in lines.items())])


def failure_lines(
    failure: Failure,
    reproduction: Reproduction,
    sources: SourceFolders = NO_SOURCES,
    declared: str = "",
    guesses: Sequence[str] = (),
) -> tuple[str, dict[str, str]]:
    """Return the head of a failure, and its labels with values.

    ``declared`` is the location of the op. It is shown if kernel and declaration do not match, or if keywords of the
    declaration are ``guesses`` of parity init.
    """
    record = failure.records[0]
    small = record.minimal or record
    verdict, kind = small.verdict, failure_class(record)
    targets = _and(failure.targets)
    who = f"{record.kernel} on {targets} ({record.evidence})"
    if not record.where.side:
        who, declared = f"{record.case.partition('(')[0]} by {record.runner} on {targets}", ""
    found: dict[str, str] = {"where": sources.where(record), "case": small.case}
    if record.without_code:
        who = f"{record.module} for {targets}"
        found["kernels"] = first_names(failure.kernels, KERNELS_NAMED)
    found["found as"] = record.case if small.case != record.case else ""
    found["about"] = str(divergences()[record.divergence]) if record.divergence in divergences() else ""
    found |= {"named": record.title, "launch": small.launch}
    if verdict.first:
        first = verdict.first
        index = ", ".join(map(str, first.coordinates))
        values = "  ".join(f"{name} = {value}" for name, value in small.inputs.items())
        found |= {"element": f"({index})  {values}".rstrip(), "expected": first.expected, "got": first.got}
        if math.isfinite(first.ulps):
            times = f"{first.budgets:.3g} times the allowed error"
            allowed = times if math.isfinite(first.budgets) else "no error is allowed"
            found["apart"] = f"{first.ulps:.6g} {first.unit}, {allowed}"
        found["wrong"] = f"{verdict.wrong} of {verdict.total}: {verdict.pattern}"
    if verdict.by and verdict.failed:
        found["judged by"] = f"{verdict.by}: the op has no reference"
    found |= {"because": verdict.detail.rstrip(), "printed": small.printed.rstrip()}
    own = _and(list(dict.fromkeys(each.target for each in failure.records if each.where.side == record.where.side)))
    found["who"] = _who(record, small, own)
    may_be_declared_wrongly = kind in WRONG_DECLARATIONS or _both_fail(record)
    guessed = f", where parity init guessed {_and(guesses)}: compare them with the host's launch" if guesses else ""
    found["declared"] = f"{declared}{guessed}" if declared and (may_be_declared_wrongly or guesses) else ""
    found |= {"next": _next(kind, small, reproduction), "again": reproduction.of(small)}
    labels = list(LABELS)
    if len(found["because"].splitlines()) > BRIEF:
        labels.remove("because")
        labels.insert(labels.index("next") + 1, "because")
    return f"{who}: {kind}", {label: _visible(found[label]) for label in labels if found.get(label)}


def _next(kind: str, record: CaseRecord, reproduction: Reproduction) -> str:
    """Return the next step for a failure of this class, with the command that it needs."""
    steps = [step for fact, step in PROVEN.items() if fact in record.verdict.facts]
    kind = DECLARATION if kind == "error" and _OF_DECLARATION.match(record.verdict.detail) else kind
    step = steps[0] if steps else CLASSES[kind]["next"] if kind in CLASSES else ""
    if not record.where.side:
        return ""
    if re.search(r"\.py:\d", record.verdict.detail):  # lines of a Triton function
        step = step.replace("__syncthreads()", "tl.debug_barrier()")
    commands = {name: reproduction.other(name, record.case) for name in ("explain", "reproduce")}
    return step.format(**commands, build=reproduction.other("build", record.module), n="\n")


def _who(record: CaseRecord, shown: CaseRecord, here: str) -> str:
    """Describe which side is wrong, by the other vendor's result for the shown case, or else for the original case."""
    against = shown.against or record.against
    if against is None:
        return ""
    other = against.column
    which = "" if shown.against or shown.case == record.case else "in the case as found, "
    match against.conclusion:
        case Conclusion.CLOSE | Conclusion.APART:
            return ""
        case Conclusion.AMD | Conclusion.CUDA:
            used = f"within {math.ceil(100 * against.budget)} % of its budget" if against.budget else "as expected"
            gives = f"gives {against.value}" if against.value else "passes"
            here_it_is = f"; here it is {record.verdict.first.got}" if which and record.verdict.first else ""
            are = "is" if here == record.target else "are"
            return f"{here} {are} wrong: {which}{other} {gives}, {used}{here_it_is}"
        case Conclusion.REFERENCE:
            near = f"no more than {against.ulps:.6g} ULP away" if against.ulps else "the same"
            return f"the reference is suspect: {which}{other} fails as well and gives {against.value}, {near}"
        case _ if record.verdict.first or against.value:
            gives = f": {which}the latter gives {against.value}" if against.value else ""
            return f"{here} and {other} are wrong, and differ{gives}"
        case _:
            return (
                f"{here} and {other} both fail: either the kernel is wrong, or it is declared in another way than its "
                "host launches it (shapes=, args=, grid= and block= of the op)"
            )


def failures_file(
    records: Sequence[CaseRecord],
    reproduction: Reproduction,
    sources: SourceFolders = NO_SOURCES,
) -> str:
    """Return the text of failures.txt: shown failures in full, and one command for each further failing case."""
    shown = shown_failures(records)
    ids = {id(record) for failure in shown for record in failure.records}
    rest = [record for record in records if record.failed and id(record) not in ids]
    blocks = [failure_text(failure, reproduction, sources) for failure in shown]
    if rest:
        lines = [f"{record.kernel} {failure_class(record)}: {reproduction.of(record)}" for record in rest]
        blocks.append("\n".join(["Further failing cases:", *lines]))
    if known := [record for record in records if record.known]:
        lines = [f"{each.known}: {each.kernel} {failure_class(each)}: {reproduction.of(each)}" for each in known]
        blocks.append("\n".join(["Known issues:", *lines]))
    blocks += not_judged(records)
    return "\n\n".join(blocks) + ("\n" if blocks else "no failures\n")


def _visible(text: str) -> str:
    """Replace control characters by their escapes in Python."""
    return text.replace("\r\n", "\n").translate({code: ascii(chr(code))[1:-1] for code in _CONTROLS})


def _and(names: Sequence[str]) -> str:
    *others, last = names
    return f"{', '.join(others)} and {last}" if others else last


def _line(label: str, value: str, width: int | None) -> str:
    lines = value.splitlines()
    if width and label in PROSE:
        lines = [part for line in lines for part in _wrapped(line, max(width - INDENT, INDENT))]
    first, *more = lines
    return "\n".join([f"  {label:<9} {first}", *(f"  {'':<9} {line}" for line in more)])


def _wrapped(line: str, width: int) -> list[str]:
    indent = " " * (len(line) - len(line.lstrip()) + 2)
    whole = textwrap.TextWrapper(width, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False)
    return whole.wrap(line) or [line]
