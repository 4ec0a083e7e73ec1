"""Print a script that lets a shell complete commands, options, targets, runners and ops.

Write it to the folder from which the shell loads completions:

    parity completion bash > ~/.local/share/bash-completion/completions/parity
    parity completion zsh > "${fpath[1]}/_parity"
    parity completion fish > ~/.config/fish/completions/parity.fish
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path

import shtab

from parity.cli.shared.parser import build_parser, commands
from parity.compilers.targets import TARGETS
from parity.model.dtypes import DTYPES
from parity.runners import runners

SHELLS = ("bash", "zsh", "fish")

SELECTORS = shtab.cmd("parity list 2>/dev/null | grep -oE '^[^ ]+[.][^ ]+'")


def main(arguments: argparse.Namespace) -> int:
    print(completion_script(build_parser(commands()), arguments.shell))
    return 0


def completion_script(parser: argparse.ArgumentParser, shell: str) -> str:
    """Return the script that completes commands, options and their values. ``parser`` must have all commands."""
    choices = {"--target": list(TARGETS), "--runner": list(runners()), "--dtype": list(DTYPES)}
    for action in _actions(parser):
        named = next((choices[option] for option in action.option_strings if option in choices), None)
        if named is not None:
            action.choices = named
        elif action.dest == "selectors":
            action.complete = SELECTORS  # type: ignore[attr-defined]
        elif action.type is Path:
            is_folder = "DIR" in str(action.metavar or "")
            action.complete = shtab.DIRECTORY if is_folder else shtab.FILE  # type: ignore[attr-defined]
    return shtab.complete(parser, shell)


def _actions(parser: argparse.ArgumentParser) -> Iterator[argparse.Action]:
    """All arguments of a parser and its commands."""
    for action in parser._actions:
        yield action
        if isinstance(action, argparse._SubParsersAction):
            for command in action.choices.values():
                yield from _actions(command)
