"""Downloads a part of a wheel: ``python wheel_part.py FILE PROJECT VERSION SHA256 PREFIX[,PREFIX...] OPTION...``.

Writes the files of a wheel whose names start with a prefix to a zip file. ``headers.py`` runs this program with a
Python that has pip. It uses internal classes of pip, so that pip chooses the wheel, and pip's configuration applies
(index, proxy, certificates). The exit code is not 0 if the version of pip lacks these classes, or if the index does not
support range requests or states another digest of the wheel.
"""

from __future__ import annotations

import sys
import zipfile
from collections.abc import Iterator, Sequence
from importlib import import_module
from typing import Any

_GAP = 1 << 16
"""Bytes to download needlessly rather than to send another request."""


def main(target: str, project: str, version: str, sha256: str, prefixes: str, *options: str) -> int:
    """Write the part of the wheel to the file ``target``. ``options`` are options of ``pip download``."""
    command: Any = import_module("pip._internal.commands").create_command("download")
    with command.main_context():
        chosen, _ = command.parse_args(list(options))
        session = command.get_default_session(chosen)
        python = import_module("pip._internal.cli.cmdoptions").make_target_python(chosen)
        finder = command._build_package_finder(options=chosen, session=session, target_python=python)
        specifier = import_module("pip._vendor.packaging.specifiers").SpecifierSet(f"=={version}")
        hashes = import_module("pip._internal.utils.hashes").Hashes({"sha256": [sha256]})
        found = finder.find_best_candidate(project, specifier, hashes).best_candidate
        if found is None or found.link.hash != sha256:
            return 1
        lazy = import_module("pip._internal.network.lazy_wheel").LazyZipOverHTTP
        with lazy(found.link.url_without_fragment, session) as remote:
            _copy(remote, target, tuple(prefixes.split(",")))
    return 0


def _copy(remote: Any, target: str, prefixes: tuple[str, ...]) -> None:
    """Copy the files from the remote file of a wheel, with one request for files that lie close to each other."""
    with zipfile.ZipFile(remote) as wheel, zipfile.ZipFile(target, "w") as part:
        members = sorted(wheel.infolist(), key=lambda each: each.header_offset)
        ends = [*(each.header_offset for each in members[1:]), wheel.start_dir]
        wanted = [(each, end) for each, end in zip(members, ends, strict=True) if each.filename.startswith(prefixes)]
        for start, stop in _joined([(each.header_offset, end) for each, end in wanted]):
            remote.seek(start)
            remote.read(stop - start)  # what the remote file has downloaded stays
        for each, _ in wanted:
            part.writestr(each, wheel.read(each))


def _joined(ranges: Sequence[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """Yield sorted ranges, joined across small gaps."""
    start, stop = ranges[0]
    for next_start, next_stop in ranges[1:]:
        if next_start - stop > _GAP:
            yield start, stop
            start = next_start
        stop = next_stop
    yield start, stop


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
