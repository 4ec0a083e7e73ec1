"""Generates the JSON Schemas of ``matrix.json`` and ``record.jsonl``: ``python -m parity.report.schema FOLDER``."""

from __future__ import annotations

import sys
from pathlib import Path

from parity.engine.case_records import CaseRecord
from parity.engine.record_file import RecordEnd, RecordHead
from parity.platform.serialization import json_schema, json_text
from parity.report.document import MatrixFile
from parity.report.folder import output_folder, write_texts


def schemas() -> dict[str, str]:
    """Return the text of each schema by file name, generated from the types that parity reads and writes."""
    found = {
        "matrix": json_schema([MatrixFile], "matrix.json of parity run", "The results of a run, kernel by kernel."),
        "record": json_schema(
            [RecordHead, CaseRecord, RecordEnd],
            "A line of record.jsonl of parity run",
            "The first line has the environment, each following line a case; the last line marks the end of the run.",
        ),
    }
    return {f"{name}.schema.json": json_text(schema, indent=2).decode() + "\n" for name, schema in found.items()}


if __name__ == "__main__":
    with output_folder(Path(sys.argv[1])):
        write_texts(Path(sys.argv[1]), schemas())
