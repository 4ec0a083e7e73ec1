"""Draws the pictures of terminals in README: runs a command in a folder, and writes its coloured output as SVG."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from io import StringIO
from pathlib import Path

from rich.console import Console
from rich.terminal_theme import MONOKAI
from rich.text import Text

ROOT = Path(__file__).parents[1]
WIDTH = 100
PICTURES = {"failure": ("gallery/rms-norm", ("run", "--hip", "before"))}
"""The folder and the arguments of parity for each picture in docs/pictures."""

FONT = re.compile(r"@font-face \{.*?\}\s*", re.DOTALL)
"""Fonts that the SVG would load from another host."""


def main() -> None:
    for name, (folder, arguments) in PICTURES.items():
        with tempfile.TemporaryDirectory() as output:
            environment = {**os.environ, "FORCE_COLOR": "1", "COLUMNS": str(WIDTH)}
            command = [sys.executable, "-m", "parity", *arguments, "--output", output]
            done = subprocess.run(
                command, cwd=ROOT / folder, env=environment, capture_output=True, text=True, check=False
            )
            text = done.stdout.replace(output, "parity-out").rstrip()
        if done.returncode != 1:
            sys.exit(f"{' '.join(command)} ended with exit code {done.returncode}: {done.stderr}")
        console = Console(record=True, width=WIDTH, file=StringIO())
        console.print(Text.from_ansi(f"$ parity {' '.join(arguments)}\n{text}"))
        svg = console.export_svg(title=folder, theme=MONOKAI, unique_id=name)
        (ROOT / "docs" / "pictures" / f"{name}.svg").write_text(FONT.sub("", svg))


if __name__ == "__main__":
    main()
