"""The JSON Schemas of the files that programs read: ``python -m parity.report.schema FOLDER`` writes them."""

from __future__ import annotations

import sys
from pathlib import Path

from parity.engine import CaseRecord
from parity.engine.record_file import RecordEnd, RecordHead
from parity.platform.serialization import json_schema, json_text
from parity.report.document import MatrixFile
from parity.report.folder import check_folder, write_texts

__all__ = ["schemas"]


def schemas() -> dict[str, str]:
    """The text of each schema, by the name of its file. They are made of the types that are written and read."""
    found = {
        "matrix": json_schema([MatrixFile], "matrix.json of parity run", "What a run found, kernel by kernel."),
        "record": json_schema(
            [RecordHead, CaseRecord, RecordEnd],
            "A line of record.jsonl of parity run",
            "The first line has the environment, the others have a case each; the last says that the run ended.",
        ),
    }
    return {f"{name}.schema.json": json_text(schema, indent=2).decode() + "\n" for name, schema in found.items()}


if __name__ == "__main__":
    check_folder(Path(sys.argv[1]))
    write_texts(Path(sys.argv[1]), schemas())
