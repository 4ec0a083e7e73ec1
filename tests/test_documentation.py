"""README and docs/: links, commands, declarations and figures match the repository and the program."""

from __future__ import annotations

import ast
import csv
import json
import re
import shlex
import tomllib
import zipfile
from collections import Counter
from pathlib import Path

import msgspec
import pytest
import yaml

from parity import reference
from parity.cli.shared.parser import build_parser
from parity.compilers import headers
from parity.data.sampling import sample
from parity.op import Op
from parity.reference import Limits
from parity.report.failures import CLASSES, Reproduction
from parity.report.folder import write_reports
from parity.report.matrix import make_matrix
from parity.runners import Evidence
from parity.suite.options import read_options
from parity.suite.settings import ProjectSettings

ROOT = Path(__file__).parent.parent
DOCS = sorted((ROOT / "docs").glob("*.md"))
REPORTS = [ROOT / "reports" / "README.md", ROOT / "reports" / "measurements.md"]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *REPORTS, *DOCS]
PAGE = pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
FENCED = re.compile(r"^```(\w*)[^\n]*\n(.*?)^```$", re.MULTILINE | re.DOTALL)
OURS = re.compile(r"`((?:parity|tests|cases|kernels|examples|reports|benchmarks|docs|\.github)/[\w./-]+)`")


def blocks(page, language):
    return [text for kind, text in FENCED.findall(page.read_text()) if kind == language]


def headings(page):
    """Return the anchors that GitHub generates for the headings of a page."""
    found = re.findall(r"^#+ (.+)$", FENCED.sub("", page.read_text()), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in found}


def test_readme_is_short_and_starts_with_summary_and_usage():
    text = (ROOT / "README.md").read_text()
    assert len(text.splitlines()) <= 150
    assert text.startswith("# parity\n\n**Find where your HIP port differs from its CUDA original")
    sections = re.findall(r"^## .+$", FENCED.sub("", text), re.MULTILINE)
    assert sections[:2] == ["## Try it on your kernels", "## Try it on this repository"]


@PAGE
def test_page_has_no_conflict_markers(page):
    assert not re.findall(r"^(?:<{7}|={7}|>{7})(?: .*)?$", page.read_text(), re.MULTILINE)


@PAGE
def test_page_links_exist(page):
    prose = re.sub(r"`[^`]*`|^    .*$", "", FENCED.sub("", page.read_text()), flags=re.MULTILINE)
    for target in re.findall(r"\]\(([^)]+)\)", prose):
        if "://" not in target:
            path, _, anchor = target.partition("#")
            there = page.parent / path if path else page
            assert (there / "README.md" if there.is_dir() else there).exists(), target
            assert not anchor or anchor in headings(there), target


def test_readme_links_every_page():
    linked = set(re.findall(r"\]\((docs/[^)#]+\.md)", (ROOT / "README.md").read_text()))
    assert linked == {page.relative_to(ROOT).as_posix() for page in DOCS}


def test_site_navigation_lists_every_page_once():
    placed = re.findall(r"^ +- .*: ([\w/-]+\.md)$", (ROOT / "mkdocs.yml").read_text(), re.MULTILINE)
    assert {page.name for page in DOCS} <= set(placed) and len(placed) == len(set(placed))


def test_failure_classes_page_explains_every_class():
    text = (ROOT / "docs" / "failure-classes.md").read_text()
    rows = re.findall(r"^\| ([\w -]+) \| (\w[^|`]+\.) \|$", text, re.MULTILINE)
    meanings = {name: row["meaning"] for name, row in CLASSES.items()}
    assert dict(rows) == meanings, "\n".join(f"| {name} | {meaning} |" for name, meaning in meanings.items())


@pytest.fixture(scope="module")
def matrix():
    """Return the rows of the reported matrix, a dictionary for each kernel."""
    with (ROOT / "reports" / "matrix.csv").open(newline="") as file:
        return list(csv.DictReader(file))


@pytest.fixture(scope="module")
def recorded():
    """Return the number of cases in the recording of the suite."""
    with zipfile.ZipFile(ROOT / "reports" / "h200.zip") as archive:
        return len(archive.read("cases.jsonl").splitlines())


def test_coverage_figures_match_reported_matrix(matrix):
    shown = re.findall(
        r"([\d,]+) of ([\d,]+)(?: basic blocks)? on (gfx\w+)", (ROOT / "docs" / "coverage.md").read_text()
    )
    assert len(shown) == 3
    for *figures, target in shown:
        names = (f"{target}_emulated_blocks_reached", f"{target}_emulated_blocks")
        assert figures == [f"{sum(int(row[name] or 0) for row in matrix):,}" for name in names]


def test_readme_run_matches_reported_matrix(matrix):
    (run,) = re.findall(r"^parity [\d.]+: .*?^```$", (ROOT / "README.md").read_text(), re.MULTILINE | re.DOTALL)
    shown = {
        name: (int(kernels), cases) for name, kernels, cases in re.findall(r"^(\w+) +(\d+) +([\d,]+) +ok", run, re.M)
    }
    whole, *ops = re.findall(r"`nox -s matrix -- (.+?)`", (ROOT / "README.md").read_text())[0].split()
    selected = [row for row in matrix if row["module"] in (whole, *ops) or row["op"] in ops]
    cases = dict.fromkeys(shown, 0)
    for row in selected:
        cases[row["module"]] += sum(int(value or 0) for key, value in row.items() if key.endswith("_run"))
    kernels = Counter(row["module"] for row in selected)
    assert shown == {name: (kernels[name], f"{number:,}") for name, number in cases.items()}
    assert f"PASS  {len(selected)} kernels, {sum(cases.values()):,} cases, {sum(cases.values()):,} passed" in run


RECALL = re.compile(r"they are ([\d.]+) % and ([\d.]+) %")


def test_recall_figures_match_reported_recall():
    found = json.loads((ROOT / "reports" / "recall.json").read_text())["kernels"]
    caught, survived, unknown = (
        sum(each[name] for name in names for each in found)
        for names in (("caught",), ("survived",), ("equivalent", "beyond"))
    )
    shares = caught / (caught + survived), caught / (caught + survived - unknown)
    (shown,) = RECALL.findall((ROOT / "docs" / "recall.md").read_text())
    assert list(shown) == [f"{100 * share:.1f}" for share in shares]


def test_installation_page_lists_downloaded_wheels():
    text = (ROOT / "docs" / "installation.md").read_text()
    shown = dict(re.findall(r"^\| (\w+ [\d.]+) \| (\d+) \|", text, re.MULTILINE))
    shown |= dict(re.findall(r"(nvidia-curand [\d.]+\d), of (\d+) MiB", text))
    wheels = (*headers.WHEELS, headers.CURAND, headers.COMPILER, headers.DEVICE_LIBRARY)
    assert shown == {str(wheel): str(wheel.mebibytes) for wheel in wheels}


NUMBER = re.compile(r"(?<![\w.,^])\d{1,3}(?:,\d{3})+(?![\w,])|\b\d+(?= kernels\b)")
CONSTANTS = {
    "docs/matrix-cores.md": {"272,512", "65,536", "4,096"},  # extents of one comparison each, which the page describes
    "docs/tolerance-model.md": {"100,000"},  # the terms of a sum
}


@pytest.mark.parametrize("page", [ROOT / "README.md", *DOCS], ids=lambda page: page.name)
def test_large_numbers_on_page_come_from_reports(page, matrix, recorded):
    """Results of the suite are renewed in reports/. Results of single experiments belong in reports/measurements.md."""
    known = {f"{recorded:,}", str(sum(row["gfx1100_emulated_run"] not in ("", "0") for row in matrix))}
    known |= {
        f"{sum(int(row[key] or 0) for row in matrix):,}" for key in matrix[0] if key.endswith(("_blocks", "_reached"))
    }
    known |= CONSTANTS.get(page.relative_to(ROOT).as_posix(), set())
    prose = re.sub(r"`[^`]*`|^    .*$", "", FENCED.sub("", page.read_text()), flags=re.MULTILINE)
    assert set(NUMBER.findall(prose)) - known == set()


QUESTIONS = {
    "Do I need an AMD GPU, an NVIDIA GPU, ROCm or CUDA?": "Compiled AMD code and PTX run on the CPU",
    "What does a pass prove?": "values within the error bounds",
    "Was this compared with real hardware?": "match emulated PTX bit for bit",
    "How do I declare my kernels?": "parity init --kernels src",
    "Do I have to write references?": "the results of the CUDA kernel judge the port",
    "My kernel passes on NVIDIA GPUs. Why does it fail on gfx90a only?": "wavefronts of 64 lanes",
    "The values differ a little. Is that a failure?": "Only if the difference exceeds the error bound",
    "How do I accept a failure that I know?": "known-issues.toml",
    "Why is a case not judged?": "prevented a verdict",
    "How do I make it faster?": "Select targets and kernels",
}


@pytest.mark.parametrize(("question", "answer"), QUESTIONS.items(), ids=QUESTIONS)
def test_question_is_answered_within_two_clicks_of_readme(question, answer):
    """One click leads to a page, and one to the heading in its list of contents."""
    linked = re.findall(r"\]\((docs/[\w-]+\.md)\)", (ROOT / "README.md").read_text())
    sections = [each for page in linked for each in (ROOT / page).read_text().split("\n## ")]
    (found,) = (each for each in sections if each.startswith(f"{question}\n"))
    assert re.search(answer, found)


def test_tables_of_features_page_are_generated():
    text = (ROOT / "docs" / "features.md").read_text()
    hooks = (ROOT / "docs" / "hooks.py").read_text()
    names = re.findall(r"<!-- ([\w .]+) -->", text)
    assert len(names) == 9 and [name for name in names if f'"{name}": ' not in hooks] == []


def test_formats_page_lists_every_setting():
    settings = (ROOT / "docs" / "formats.md").read_text().partition("\n## Settings\n")[2].partition("\n## ")[0]
    named = re.findall(r"`([\w-]+)`", "".join(re.findall(r"^\| (`.+?) \|", settings, re.MULTILINE)))
    assert set(named) == {field.encode_name for field in msgspec.structs.fields(ProjectSettings)}


def test_formats_page_names_every_file_of_a_run(tmp_path):
    page = (ROOT / "docs" / "formats.md").read_text().partition("\n## What belongs")[0]
    write_reports(tmp_path, make_matrix([], [], []), [], Reproduction())
    assert [path.name for path in tmp_path.iterdir() if f"`{path.name}`" not in page] == []


@PAGE
def test_files_named_on_page_exist(page):
    text = page.read_text()
    written = re.findall(r'^```\w+ title="(.+)"$', text, re.MULTILINE)  # files that the reader creates
    assert [name for name in OURS.findall(text) if not (ROOT / name).exists() and name not in written] == []


def commands(page):
    """Yield the commands on a page, from indented lines and inline code."""
    text = FENCED.sub("", page.read_text())
    lines = [line.strip() for line in text.splitlines() if line.startswith("    ")]
    lines += [code.replace("\n", " ") for code in re.findall(r"`([^`]+)`", text)]
    for line in lines:
        inner = re.search(r"\$\((.+)\)", line)
        for command in (inner[1] if inner else line).split(" && "):
            yield shlex.split(command.partition(" > ")[0], comments=True) if re.match(r"(parity|nox) ", command) else []


@PAGE
def test_parity_commands_on_page_parse(page):
    for name, *arguments in filter(None, commands(page)):
        if name == "parity" and "--help" not in arguments and not any("[" in a and "(" not in a for a in arguments):
            try:
                build_parser(arguments).parse_args(arguments)
            except SystemExit as error:
                if error.code:
                    pytest.fail(f"parity {shlex.join(arguments)}: exit code {error.code}")


def test_nox_sessions_on_pages_exist():
    source = (ROOT / "noxfile.py").read_text()
    body = ast.parse(source).body
    functions = [each for each in body if isinstance(each, ast.FunctionDef) and each.decorator_list]
    named = {each.name for each in functions} | set(re.findall(r"nox\.session\(name=\"([^\"]+)\"", source))
    asked = [arguments for page in PAGES for name, *arguments in filter(None, commands(page)) if name == "nox"]
    sessions = [each[each.index("-s") + 1] for each in asked if "-s" in each]
    assert len(sessions) > 10 and {name.partition("(")[0] for name in sessions} <= named


def test_pytest_options_on_pages_exist():
    flags = {f"--parity-{flag[2:]}" for _, options, _ in read_options("pytest", {}) for flag in options}
    asked = set(re.findall(r"`(--parity-[\w-]+)`", "\n".join(page.read_text() for page in PAGES)))
    assert len(asked) == 10 and asked <= flags


@PAGE
def test_code_blocks_on_page_parse(page):
    for text in blocks(page, "python"):
        ast.parse(text)
    for text in blocks(page, "toml"):
        tomllib.loads(text)
    for text in blocks(page, "yaml"):
        yaml.safe_load(text)


@pytest.mark.parametrize("page", [ROOT / "README.md", ROOT / "docs" / "declaring.md"], ids=lambda page: page.name)
def test_declarations_on_page_define_ops_with_cases(page):
    texts = [text for text in blocks(page, "python") if "Op(" in text]
    assert texts
    for text in texts:
        names = {"Op": Op, "swiglu_value": reference.copy}
        exec(compile(text, page.name, "exec"), names)
        entries = [entry for op in names.values() if isinstance(op, Op) for entry in op.entries()]
        assert entries and all(sample(entry.op.cases(entry.dtypes), 0, 2) for entry in entries)


def test_cited_sections_of_tolerance_model_exist():
    model = (ROOT / "docs" / "tolerance-model.md").read_text()
    sections = set(re.findall(r"^#+ ([\d.]+\d|\d)\.? ", model, re.MULTILINE))
    texts = [path.read_text() for folder in ("parity", "cases", "docs") for path in (ROOT / folder).rglob("*.[pm][yd]")]
    cited = [found for text in texts for found in re.findall(r"tolerance-model\.md,\s+sections? ([\d., and]*\d)", text)]
    assert len(cited) >= 2 and {name for each in cited for name in re.findall(r"[\d.]*\d", each)} <= sections


def test_tolerance_model_figures_match_accuracy_table():
    model = (ROOT / "docs" / "tolerance-model.md").read_text()
    rows = re.findall(r"^\| ([a-z, ]+) \| ([\d.]+) \| ([\d.]+) \| ([\d.]+) \|$", model, re.MULTILINE)
    limits = (Limits("cuda"), Limits("amd"), Limits("amd", "observed"))
    shown = {name: tuple(map(float, figures)) for names, *figures in rows for name in names.split(", ")}
    assert shown.keys() >= {"exp", "log", "sin", "cos", "tanh", "erf", "normcdf", "rsqrt", "pow"}
    for name in shown.keys() & {"exp", "log", "sin", "cos", "tanh", "erf", "normcdf", "rsqrt", "pow"}:
        assert shown[name] == tuple(reference.accuracy(name, "f32", each) for each in limits)
    assert {shown[name] for name in ("add", "divide", "square root")} == {(0.5, 0.5, 0.5)}


def test_glossary_lists_every_kind_of_evidence():
    text = (ROOT / "docs" / "glossary.md").read_text()
    assert [each for each in Evidence if f"`{each}`" not in text] == []


def test_source_distribution_includes_docs():
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())
    assert "/docs" in settings["tool"]["hatch"]["build"]["targets"]["sdist"]["include"]
