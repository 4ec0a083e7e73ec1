"""Pages that are walked through: their files are written, edited and run as they say, and print what they show."""

from __future__ import annotations

import doctest
import re
import shlex
from pathlib import Path

import pytest

from parity.cli import main
from parity.errors import MissingTool
from parity.toolchain import nvcc

DOCS = Path(__file__).parent.parent / "docs"
FENCED = re.compile(r'^```(\w+)(?: title="([^"]+)")?\n(.*?)^```$', re.MULTILINE | re.DOTALL)
COMMAND = re.compile(r"^\$ (.+)\n((?:(?!\$ ).*\n)*)", re.MULTILINE)


@pytest.fixture
def walk(tmp_path, monkeypatch, capfd):
    """Does what a page says, in an empty folder.

    A block with a title is (a further part of) the file of that name, a diff an edit of it. In a block ``console``, a
    line that begins with ``$`` is a command, and what follows is printed by it; ``...`` is any text.
    """
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.delenv("PARITY_COMMAND", raising=False)

    def printed(command: str) -> str:
        parity, *arguments = shlex.split(command)
        assert parity == "parity"
        capfd.readouterr()
        code = main(arguments)
        out, err = capfd.readouterr()
        return f"{err}{out}exit code {code}\n"

    def follow(page: str) -> None:
        same = doctest.OutputChecker().check_output
        for language, title, text in FENCED.findall((DOCS / page).read_text()):
            if language == "console":
                for command, shown in COMMAND.findall(text):
                    got = printed(command)
                    shown = shown if "exit code" in shown else f"{shown}exit code 0\n"
                    assert same(shown, got, doctest.ELLIPSIS), f"{page}: {command} prints\n{got}"
            elif language == "diff":
                before, after = (
                    "".join(f"{line[1:]}\n" for line in text.splitlines() if line[0] in kept) for kept in (" -", " +")
                )
                content = Path(title).read_text()
                assert content.count(before) == 1, f"{page}: {title} has not (or not once)\n{before}"
                Path(title).write_text(content.replace(before, after))
            elif title:
                Path(title).parent.mkdir(parents=True, exist_ok=True)
                with Path(title).open("a") as file:
                    file.write(text)

    return follow


def test_the_tutorial_comes_to_the_verdicts_that_it_shows(walk):
    try:
        nvcc()
    except MissingTool as error:
        pytest.skip(str(error))
    walk("tutorial.md")
