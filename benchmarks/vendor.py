"""Fetch the JavaScript libraries of the report from npm, in the versions of ``vendor.csv``, and write their digests.

``python -m benchmarks.vendor`` needs npm and a network. A newer version is another number in the table.
"""

from __future__ import annotations

import csv
import hashlib
import subprocess
import tarfile
import tempfile
from pathlib import Path

FOLDER = Path(__file__).parent.parent / "parity" / "report" / "html" / "vendor"


def main() -> None:
    """Replace the files and the digests."""
    table = FOLDER / "vendor.csv"
    with table.open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    with tempfile.TemporaryDirectory() as scratch:
        for row in rows:
            package = f"{row['package']}@{row['version']}"
            packed = subprocess.run(
                ["npm", "pack", package, "--silent"], cwd=scratch, check=True, capture_output=True, text=True
            ).stdout.strip()
            with tarfile.open(Path(scratch, packed)) as archive:
                for member, name in ((row["member"], row["file"]), ("LICENSE", row["notice"])):
                    found = archive.extractfile(f"package/{member}")
                    assert found is not None, member
                    (FOLDER / name).write_bytes(found.read())
            row["sha256"] = hashlib.sha256((FOLDER / row["file"]).read_bytes()).hexdigest()
            print(package, row["file"], row["sha256"][:12])
    with table.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, rows[0], lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


if __name__ == "__main__":
    main()
