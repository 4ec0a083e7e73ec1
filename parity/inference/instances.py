"""Groups the instances of templates into ops, and chooses the instances that get one."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace

from parity.inference.kernel_time_limit import Template
from parity.inference.signature import Signature, read_signature
from parity.inference.structures import Structures
from parity.model.code_object import Kernel, source_name

_MANY, _FEW = 24, 3
"""Ops of a file from which on templates share this number, and instances that a template has at least if small."""
_MOST_CODE = 60_000
"""Characters in the PTX of a template's instances, if these are several: seconds of compilation."""
_CHOICE = re.compile(r"\b(?:\d+|true|false)\b")
"""Matches the arguments of a template that are not types."""
_USUAL = re.compile(r"\bfloat\b")
"""Matches the usual type of an instance."""

Instances = dict[str, list[tuple[str, list[Signature]]]]
"""The ops of each template, by the template's name: the name of an op, and kernels that differ only in dtypes."""


def template_of(module: str, kernel: str) -> Template:
    """Return the module, and the kernel without arguments of its template."""
    return module, kernel.partition("(")[0].partition("<")[0]


def chosen_instances(
    module: str, kernels: Iterable[Kernel], structures: Structures, known: str, size: float = 1
) -> tuple[str, ...] | None:
    """Return the names of those instances of templates that get an op, or None if these are most of them.

    ``size`` is the number of characters in the listing of an instance. Large instances compile for a long time, so
    templates have fewer of them; one if it is infinite.
    """
    signatures = [read_signature(each, None, None, structures) for each in kernels]
    wanted = wanted_instances(re.sub(r"\W+", "_", module), signatures, known)
    few = min(most_ops(wanted), max(1, int(_MOST_CODE / size)))
    names = [source_name(one.symbol) for each in wanted.values() for _, alike in chosen_of(each, few) for one in alike]
    return tuple(names) if len(signatures) > 2 * len(names) else None


def wanted_instances(name: str, signatures: Sequence[Signature], known: str) -> Instances:
    """Return the ops that the text of a case file does not have. ``name`` is the module in names of ops."""
    groups: dict[tuple[str, tuple[str, ...], str], list[Signature]] = {}
    counts = Counter(source_name(one.symbol) for one in signatures)
    overloaded = {one.pattern for one in signatures if counts[source_name(one.symbol)] > 1}
    for one in signatures:
        overload = "" if one.types and one.pattern not in overloaded else one.text
        groups.setdefault((one.pattern, tuple(each.name for each in one.args), overload), []).append(one)
    patterns = Counter(pattern for pattern, *_ in groups)
    bases = Counter(pattern.partition("<")[0] for pattern, *_ in groups)
    titles, wanted = Counter[str](), Instances()
    for (pattern, *_), alike in groups.items():
        base = pattern.partition("<")[0]
        long, title = _title(pattern), _title(base if bases[base] == 1 else pattern)
        titles[title] += 1
        title += f"_{titles[title]}" * (titles[title] > 1)
        # Overloads get the types of their arguments.
        if patterns[pattern] > 1 and (pattern in overloaded or not alike[0].types):
            alike = [replace(each, pattern=each.text, types=()) for each in alike]
        ends = (f'"{name}.{title}"', f'"{name}.{long}"', f"# {alike[0].text}: ")
        if not any(each in known for each in ends):
            wanted.setdefault(base, []).append((f"{name}.{title}", alike))
    return wanted


def most_ops(wanted: Instances) -> int:
    """Return the largest number of ops that a template gets."""
    return max(_FEW, _MANY // max(1, len(wanted)))


def chosen_of(instances: Sequence[tuple[str, list[Signature]]], most: int) -> list[tuple[str, list[Signature]]]:
    """Return instances of a template: first those with different types, ``float`` before others, then some more."""
    instances = sorted(instances, key=lambda each: not _USUAL.search(each[1][0].text.partition("(")[0]))
    firsts = dict[str, tuple[str, list[Signature]]]()
    for each in instances:
        firsts.setdefault(_CHOICE.sub("", each[1][0].pattern), each)
    others = [each for each in instances[:: -(-len(instances) // most)] if each not in firsts.values()]
    return [*firsts.values(), *others][:most]


def _title(pattern: str) -> str:
    """Return the name of an op without type variables, with underscores for what is not a letter or digit."""
    return re.sub(r"\W+", "_", re.sub(r"_?<?\{\w\}>?", "", pattern)).strip("_")


def widest(alike: Sequence[Signature]) -> Signature:
    """Return the kernel with the most elements of an access. It needs sizes that suit the other kernels as well."""
    return max(alike, key=most_lanes)


def most_lanes(one: Signature) -> int:
    """Return the most elements of an access."""
    return max((each.lanes for each in one.tensors), default=1)
