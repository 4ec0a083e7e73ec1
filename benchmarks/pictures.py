"""Draws the pictures of README and docs: runs parity, and writes its output as SVG and views of its report as PNG."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from io import StringIO
from pathlib import Path

from playwright.sync_api import sync_playwright
from rich.console import Console
from rich.terminal_theme import MONOKAI
from rich.text import Text

ROOT = Path(__file__).parents[1]
PICTURES = ROOT / "docs" / "pictures"
WIDTH = 100
CHROMIUMS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
FAILING = ("run", "--hip", "before")
PASSING = ("run", "affine", "fill", "sort", "--target", "gfx1100,gfx90a", "--examples", "2")

FONT = re.compile(r"@font-face \{.*?\}\s*", re.DOTALL)
"""Fonts that the SVG would load from another host."""


def run(folder: Path, output: str, *arguments: str, code: int) -> str:
    """Run parity in a folder, and return what it prints. It must end with this exit code."""
    environment = {**os.environ, "FORCE_COLOR": "1", "COLUMNS": str(WIDTH)}
    command = [sys.executable, "-m", "parity", *arguments, "--output", output]
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    if done.returncode != code:
        sys.exit(f"{' '.join(command)} ended with exit code {done.returncode}: {done.stderr}")
    return done.stdout.replace(output, "parity-out").rstrip()


def draw_terminal(name: str, title: str, text: str) -> None:
    """Write coloured text as a picture of a terminal."""
    console = Console(record=True, width=WIDTH, file=StringIO())
    console.print(Text.from_ansi(text))
    svg = console.export_svg(title=title, theme=MONOKAI, unique_id=name)
    (PICTURES / f"{name}.svg").write_text(FONT.sub("", svg))


def draw_pages(pages: Mapping[str, str]) -> None:
    """Write views of reports, given as file and address by the name of their picture."""
    with sync_playwright() as started:
        found = next(filter(None, map(shutil.which, CHROMIUMS)), None)
        browser = started.chromium.launch(executable_path=found, args=["--no-sandbox"])
        for name, address in pages.items():
            tab = browser.new_page(viewport={"width": 1280, "height": 720}, reduced_motion="reduce")
            tab.goto(f"file://{address}")
            tab.wait_for_selector("body[data-ready]")
            tab.screenshot(path=PICTURES / f"{name}.png")
        browser.close()


def main() -> None:
    folder = ROOT / "gallery" / "rms-norm"
    with tempfile.TemporaryDirectory() as failing, tempfile.TemporaryDirectory() as passing:
        text = run(folder, failing, *FAILING, code=1)
        draw_terminal("failure", "gallery/rms-norm", f"$ parity {' '.join(FAILING)}\n{text}")
        run(ROOT, passing, *PASSING, code=0)
        page = "report.html#view=failures"
        draw_pages({"report-failure": f"{failing}/{page}", "report-matrix": f"{passing}/report.html"})


if __name__ == "__main__":
    main()
