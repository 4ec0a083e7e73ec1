"""Known issues: failures that a project expects, in a TOML file, each with its signature and an expiry date.

    [[issue]]
    cases = "unary.gelu"                 # selectors as of parity run; a list of them, or one
    runner = "torch"                     # patterns; left out: every runner
    target = ["gfx10*", "gfx90a"]        # patterns; left out: every target
    toolchain = "ziglang >=0.17,<0.18"   # left out: every version
    failure = "value"                    # the class or classes that the matrix and the failures name
    ulps = 4                             # for "value": how far an element may be off, at most 2**64
    reason = "tanh of the device library"
    link = "https://example.org/42"      # may be left out
    expires = 2027-06-30

A failure is known if all its wrong elements have the signature. The classes "nan" and "infinity" may state a direction:
"nan for a number", "a number for nan". ``says`` is a text that the message of a fault contains, or the message of the
compiler if the failure is a "compile error". ``toolchain`` names a Python package, or a fact that the runner reports
about its device (``nvcc``, ``driver``).

An issue needs a review if it has expired, if a case that it covers fails differently, or if it is stale because no case
fails any more. An issue that names cases is stale if these cases pass; they run whenever their kernel runs. Other
issues are stale if all cases drawn for their kernels pass.
"""

from __future__ import annotations

import datetime
import functools
import math
import re
import tomllib
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from importlib import metadata
from typing import TYPE_CHECKING, Annotated, Any

from msgspec import Meta, Struct

from parity.compare.verdict import Verdict, general_class
from parity.compilers.headers import EXTRACTED
from parity.engine.case_records import COMPILE_ERROR, DECLARATION, CaseRecord, Column, Task, add_cases
from parity.engine.sensitivity import VACUOUS
from parity.errors import UsageError, display_path, nearest
from parity.platform.files import read_text
from parity.platform.serialization import SchemaError, checked
from parity.runners import device_description, replayed_recording, runner
from parity.suite.loading import Suite

if TYPE_CHECKING:
    from packaging.requirements import Requirement

SIGNATURE = {"value": "ulps", "error": "says", "crash": "says", COMPILE_ERROR: "says", DECLARATION: "says"}
"""The key that a signature must have in addition to a class that alone would hide different failures."""
_FURTHEST = 2.0**64
"""The largest distance of two numbers of 64 bits."""
_HEADER = re.compile(r"\s*\[\[\s*issue\s*\]\]")
_VERSION = re.compile(r"\d+(?:\.\d+)*")


_Texts = Annotated[str | Annotated[list[str], Meta(min_length=1)], Meta(description="a text or a list of texts")]


class IssueDeclaration(Struct, frozen=True, forbid_unknown_fields=True):
    """An entry of the file."""

    cases: _Texts
    failure: _Texts
    reason: str
    expires: Annotated[datetime.date, Meta(description="a date; write it as 2027-06-30, unquoted")]
    runner: _Texts = "*"
    target: _Texts = "*"
    toolchain: _Texts = []
    ulps: Annotated[float, Meta(gt=0, le=_FURTHEST, description="a number above 0 and at most 2**64")] = math.inf
    says: str = ""
    link: str = ""


@dataclass(frozen=True)
class Issue:
    """An issue from the entry at ``location``.

    Covers all cases of ``kernels`` (op, kernel) and the texts in ``cases``, on ``columns`` (runner, target).
    """

    location: str
    entry: IssueDeclaration
    expired: bool
    kernels: frozenset[tuple[str, str]] = field(default=frozenset(), repr=False)
    cases: frozenset[str] = field(default=frozenset(), repr=False)
    columns: frozenset[tuple[str, str]] = field(default=frozenset(), repr=False)

    @property
    def selectors(self) -> tuple[str, ...]:
        return _several(self.entry.cases)

    def covers(self, record: CaseRecord) -> bool:
        """Return True if the issue is about this case on this runner and target."""
        here = (record.runner, record.target) in self.columns
        return here and ((record.op, record.kernel) in self.kernels or record.case in self.cases)

    def difference(self, verdict: Verdict) -> str:
        """Describe how a failure differs from the known failure; empty if it does not."""
        kinds = verdict.kinds or (verdict.kind or str(verdict.status),)
        known, entry = _several(self.entry.failure), self.entry
        other = [kind for kind in kinds if not {kind, general_class(kind)} & set(known)]
        if other:
            return f"{' and '.join(other)}, not {' or '.join(known)}"
        if "value" in kinds and verdict.ulps > entry.ulps:
            return f"{verdict.ulps:.6g} ULP, more than {entry.ulps:.6g}"
        if entry.says not in verdict.detail:
            return f"its message does not contain {entry.says!r}"
        return ""


@dataclass(frozen=True)
class ReviewedIssue:
    """The state of an issue after a run: the number of explained cases, their columns, and a complaint if it needs a
    review.
    """

    issue: Issue
    cases: int
    columns: tuple[str, ...]
    complaint: str = ""

    def __str__(self) -> str:
        issue = self.issue
        head = f"{issue.location}: {' '.join(issue.selectors)}"
        if self.complaint:
            return f"{head} {self.complaint}"
        count = f"{self.cases} {'cases' if self.cases > 1 else 'case'}"
        why = f"{issue.entry.reason} ({issue.entry.link})" if issue.entry.link else issue.entry.reason
        return f"{head}, {count} on {', '.join(self.columns)}: {why}; until {issue.entry.expires}"


@dataclass(frozen=True)
class KnownIssues:
    """The known issues of a suite on the columns of a run. ``mistakes`` are errors in the file with their locations."""

    issues: tuple[Issue, ...] = ()
    mistakes: tuple[str, ...] = ()

    def mark(self, record: CaseRecord) -> CaseRecord:
        """Return the record, with the location of the known issue that explains its failure."""
        if not record.verdict.failed:
            return record
        found = (i for i in self.issues if not i.expired and i.covers(record) and not i.difference(record.verdict))
        return replace(record, known=next((issue.location for issue in found), ""))

    def with_cases(self, tasks: Iterable[Task], suite: Suite) -> tuple[Task, ...]:
        """Add the cases that issues name to the tasks."""
        texts = (text for issue in self.issues for text in sorted(issue.cases))
        return add_cases(tasks, ((suite.parse(text), "", text) for text in texts))

    def review(self, records: Sequence[CaseRecord], drawn: Container[str]) -> tuple[ReviewedIssue, ...]:
        """Return the state of every issue whose cases ran.

        ``records`` must be marked. ``drawn`` are the kernels for which every case of a default run was drawn.
        """
        executed = [record for record in records if record.verdict.executed]
        found = ((issue, [record for record in executed if issue.covers(record)]) for issue in self.issues)
        reviewed = (_reviewed(issue, covered, drawn) for issue, covered in found if covered)
        return tuple(each for each in reviewed if each.cases or each.complaint)


def _reviewed(issue: Issue, covered: Sequence[CaseRecord], drawn: Container[str]) -> ReviewedIssue:
    mine = [record for record in covered if record.known == issue.location]
    others = [record for record in covered if record.failed]
    columns = tuple(dict.fromkeys(record.column for record in mine))
    complaint = ""
    if issue.expired:
        failing = f"{_count(others)} failed; fix that, or set another date" if others else "nothing failed; remove it"
        complaint = f"expired on {issue.entry.expires}: {failing}"
    elif others:
        first = others[0]
        other = issue.difference(first.verdict)
        complaint = f"has another signature on {first.target}: {other} in {first.case or first.kernel}"
    elif not mine and _all_ran(issue, covered, drawn):
        where = ", ".join(dict.fromkeys(record.column for record in covered))
        complaint = f"no longer fails on {where}: none of {_count(covered)} did so; remove the entry"
    return ReviewedIssue(issue, len(mine), columns, complaint)


def _count(records: Sequence[CaseRecord]) -> str:
    return f"{len(records)} {'case' if len(records) == 1 else 'cases'}"


def _all_ran(issue: Issue, covered: Sequence[CaseRecord], drawn: Container[str]) -> bool:
    if issue.cases:
        return issue.cases <= {record.case for record in covered}
    return all(kernel in drawn for _, kernel in issue.kernels)


def load_known_issues(suite: Suite, columns: Iterable[Column], today: datetime.date | None = None) -> KnownIssues:
    """Load the known issues of a suite on these columns.

    A mistake disables its entry, or all entries if the file is not TOML. ``KnownIssues.mistakes`` lists the mistakes.
    """
    if suite.known is None:
        return KnownIssues()
    file = display_path(suite.known)
    try:
        text = read_text(suite.known)
        document = tomllib.loads(text)
    except UsageError as error:
        message = str(error).replace("cannot read ", "cannot read the known issues ").replace(str(suite.known), file)
        return KnownIssues(mistakes=(message,))
    except RecursionError:
        return KnownIssues(mistakes=(f"{file}: brackets are nested too deeply; no known issue applies in this run",))
    except ValueError as error:
        at = re.search(r"\(at line (\d+), column (\d+)\)", str(error))
        location = f"{file}, line {at[1]}, column {at[2]}" if at else file
        reason = str(error).partition(" (at ")[0]
        return KnownIssues(mistakes=(f"{location}: {reason}; no known issue applies in this run",))
    lines = text.splitlines()
    mistakes = [
        f"{file}, line {_find_line(lines, name)}: unknown {name!r}{nearest(name, ['issue'])}; entries begin with "
        "[[issue]]"
        for name in document
        if name != "issue"
    ]
    tables = document.get("issue", [])
    if not (isinstance(tables, list) and all(isinstance(table, dict) for table in tables)):
        mistakes.append(f"{file}, line {_find_line(lines, 'issue')}: write [[issue]], with two brackets")
        tables = []
    issues = []
    everywhere = tuple(columns)
    for table, (start, end) in zip(tables, _spans(lines, len(tables)), strict=True):
        try:
            issues.append(_issue(table, f"{file}, line {start}", suite, everywhere, today or datetime.date.today()))
        except _Mistake as mistake:
            line = _find_line(lines[:end], mistake.key, start)
            mistakes.append(f"{file}, line {line}: {mistake}; the entry is left out")
    return KnownIssues(tuple(issues), tuple(mistakes))


class _Mistake(Exception):
    """An error in the value of a key."""

    def __init__(self, key: str, text: str) -> None:
        super().__init__(text)
        self.key = key


def _issue(
    table: Mapping[str, Any], location: str, suite: Suite, columns: Sequence[Column], today: datetime.date
) -> Issue:
    for key, value in table.items():
        if any(isinstance(each, str) and not each.strip() for each in (value if isinstance(value, list) else [value])):
            raise _Mistake(key, f"{key} is {value!r}, which is blank")
    try:
        entry = checked(table, IssueDeclaration, location)
    except SchemaError as mismatch:
        raise _Mistake(str(mismatch.where[0]) if mismatch.where else "", mismatch.problem) from mismatch
    for kind in _several(entry.failure):
        if kind == VACUOUS:
            raise _Mistake("failure", "a vacuous kernel proves nothing; allow-vacuous of [tool.parity] can allow an op")
        if (needed := SIGNATURE.get(kind)) and needed not in table:
            what = "how far an element may be off" if needed == "ulps" else "a text that its message contains"
            raise _Mistake("failure", f"the failure {kind!r} needs {needed!r}: {what}")
    try:
        selection = suite.select(_several(entry.cases))
    except UsageError as error:
        raise _Mistake("cases", str(error)) from error
    requirements = _requirements(_several(entry.toolchain))
    return Issue(
        location,
        entry,
        entry.expires < today,
        frozenset((entry.op.name, entry.kernel) for entry in selection.entries),
        frozenset(map(str, selection.cases)),
        frozenset(
            (column.runner, column.target)
            for column in columns
            if any(fnmatchcase(column.runner, pattern) for pattern in _several(entry.runner))
            and any(fnmatchcase(column.target, pattern) for pattern in _several(entry.target))
            and all(_fits(requirement, column) for requirement in requirements)
        ),
    )


def _several(texts: str | list[str]) -> tuple[str, ...]:
    return (texts,) if isinstance(texts, str) else tuple(texts)


def _requirements(texts: Iterable[str]) -> list[Requirement]:
    from packaging.requirements import InvalidRequirement, Requirement

    try:
        found = [Requirement(text) for text in texts]
        for limit in (limit for requirement in found for limit in requirement.specifier):
            limit.contains("0")  # raises for versions with thousands of digits
        return found
    except (InvalidRequirement, ValueError) as error:
        reason = str(error).splitlines()[0]
        raise _Mistake("toolchain", f"{reason}; write it like 'ziglang >=0.17,<0.18'") from error


def _fits(requirement: Requirement, column: Column) -> bool:
    """Return True if the column has the tool or package in one of the versions."""
    version = _VERSION.search(_facts(column).get(requirement.name) or _installed(requirement.name))
    return version is not None and requirement.specifier.contains(version[0], prereleases=True)


@functools.cache
def _facts(column: Column) -> Mapping[str, str]:
    """Return versions that the runner reports; for a replay, the versions at the time of the recording."""
    if not column.runner:  # compiled only
        return {}
    made = runner(column.spec or column.runner)
    recording = replayed_recording(made)
    then = recording.head["environment"].get("versions", {}) if recording else {}
    return {**then, **device_description(made)}


def _installed(package: str) -> str:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return EXTRACTED.get(package, "")


def _spans(lines: Sequence[str], count: int) -> Iterator[tuple[int, int]]:
    """Yield the first and last line of every entry, counted from 1, because tomllib does not report lines."""
    starts = [number for number, line in enumerate(lines, 1) if _HEADER.match(line)]
    if len(starts) != count:  # a header inside a multi-line string, or inline entries
        starts = [_find_line(lines, "issue")] * count
        return zip(starts, [len(lines)] * count, strict=True)
    return zip(starts, [*(start - 1 for start in starts[1:]), len(lines)], strict=False)


def _find_line(lines: Sequence[str], key: str, start: int = 1) -> int:
    """Return the first line, from ``start`` on, that sets a key or opens a table; ``start`` if there is none."""
    pattern = re.compile(rf"\s*\[*\s*[\"']?{re.escape(key)}[\"']?\s*[\]=.]")
    return next((n for n, line in enumerate(lines, 1) if n >= start and key and pattern.match(line)), start)
