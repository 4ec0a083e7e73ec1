"""The journal of a run of mutants: what was tried so far, so that an interrupted run goes on where it ended.

The first line is the plan, which is everything that decides what becomes of mutants; then a line for each that was
tried. A journal of another plan is begun anew; a line that was cut off counts as not written.
"""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from pathlib import Path
from typing import IO, Any

from parity.documents import json_text, plain, read_json
from parity.errors import UsageError, unwritable
from parity.interrupts import held
from parity.mutation.mutant import Tried

__all__ = ["MutantJournal"]

FORMAT = "parity mutants, version 1"


class MutantJournal:
    """The journal at ``path``; ``tried`` are the mutants of this plan that it has, by key. A context manager.

    Raises:
        UsageError, SystemLacks: the file cannot be written.
    """

    def __init__(self, path: Path, plan: Mapping[str, Any]) -> None:
        self.path = path
        self.tried: dict[str, Tried] = {}
        wanted = json_text({"format": FORMAT, **plain(plan)})
        try:
            lines = path.read_bytes().splitlines(keepends=True) if path.exists() else []
            same = bool(lines) and lines[0].rstrip(b"\n") == wanted
            self._file: IO[bytes] = path.open("ab" if same else "wb")
            if not same:
                self._write(wanted)
                return
            end = len(lines[0])
            for line in lines[1:]:
                try:
                    tried = read_json(line, Tried, str(path))
                except UsageError:
                    break
                if not line.endswith(b"\n"):
                    break
                end += len(line)
                self.tried[tried.mutant.key] = tried
            self._file.truncate(end)
        except OSError as error:
            raise unwritable(path, error, "choose another folder with --output") from error

    def add(self, tried: Tried) -> None:
        """Write what became of a mutant to the disk.

        Raises:
            UsageError, SystemLacks: it cannot be written.
        """
        try:
            with held():
                self._write(json_text(tried))
                self.tried[tried.mutant.key] = tried
        except OSError as error:
            raise unwritable(self.path, error, "choose another folder with --output") from error

    def _write(self, text: bytes) -> None:
        self._file.write(text + b"\n")
        self._file.flush()

    def __enter__(self) -> MutantJournal:
        return self

    def __exit__(self, *_: object) -> None:
        with contextlib.suppress(OSError):
            self._file.close()
