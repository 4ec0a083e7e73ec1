"""The table of options has a row for each option of a command, and parsers of its values."""

import argparse
import csv
import re
from pathlib import Path

import pytest

from parity.cli.shared.parser import build_parser, commands
from parity.suite import options
from parity.suite.options import KINDS, as_arguments, read_options

ROWS = list(csv.DictReader(Path(options.__file__).with_suffix(".csv").open(encoding="utf-8", newline="")))


def test_rows_name_existing_commands_and_kinds():
    assert {command for row in ROWS for command in row["commands"].split()} <= {*commands(), "pytest"}
    assert {row["kind"] for row in ROWS} == KINDS.keys()


@pytest.mark.parametrize("command", commands())
def test_help_of_command_names_each_option_of_the_table(command, capsys):
    wanted = [row["flags"].split()[-1] for row in ROWS if command in row["commands"].split()]
    with pytest.raises(SystemExit):
        build_parser([command]).parse_args([command, "--help"])
    shown = capsys.readouterr().out
    assert all(flag in shown for flag in wanted if flag.startswith("--"))
    assert not re.search("{[A-Z_]+}", shown)


@pytest.mark.parametrize(
    ("kind", "text", "value"),
    [
        ("names", "f32, f16", ["f32", "f16"]),
        ("count", "3", 3),
        ("natural", "0", 0),
        ("number", "0.5", 0.5),
        ("size", "64M", 64 * 2**20),
        ("tables", "a.json", Path("a.json")),
    ],
)
def test_value_of_kind_is_parsed(kind, text, value):
    assert KINDS[kind]["type"](text) == value


@pytest.mark.parametrize(
    ("kind", "text"),
    [("count", "0"), ("natural", "-1"), ("number", "inf"), ("size", "4 dogs"), ("tables", "a.txt"), ("names", " ,")],
)
def test_malformed_value_is_refused_with_the_text(kind, text):
    with pytest.raises(argparse.ArgumentTypeError, match=text):
        KINDS[kind]["type"](text)


@pytest.mark.parametrize("text", ["100001", "99999999999999999999", "9" * 5000])
@pytest.mark.parametrize("kind", ["count", "natural"])
def test_absurd_count_is_refused_with_the_limit(kind, text):
    with pytest.raises(argparse.ArgumentTypeError, match="limit of 100,000: a command with a larger count takes hours"):
        KINDS[kind]["type"](text)
    assert KINDS[kind]["type"]("100000") == 100_000


def test_options_of_pytest_have_no_unknown_placeholders():
    assert all("{" not in settings["help"] for *_, settings in read_options("pytest", {}))


def test_arguments_repeat_runners_and_join_names():
    given = {"runner": ["cuda", "recorded=a,b"], "target": ["gfx90a", "gfx1100"], "hip": None}
    assert as_arguments(given) == ("--runner", "cuda", "--runner", "recorded=a,b", "--target", "gfx90a,gfx1100")
