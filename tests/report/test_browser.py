"""The HTML report in Chromium, opened from disk, including hostile texts."""

from __future__ import annotations

import datetime
import re
import shutil
from dataclasses import replace

import pytest

from parity.compare.arbitration import Conclusion
from parity.compare.verdict import Mismatch, Status, Verdict
from parity.engine.case_records import CaseRecord, Column, CrossVendorComparison, Provenance
from parity.report.changes import compare_runs
from parity.report.document import IssueEntry, document
from parity.report.excerpts import SourceFolders
from parity.report.failures import Reproduction
from parity.report.history import history_content, summarize_run
from parity.report.html.content import PageInput, comparison_content, page_content
from parity.report.html.page import render_page
from parity.report.matrix import make_matrix

playwright = pytest.importorskip(
    "playwright.sync_api", reason="no Playwright: python -m pip install playwright, and a Chromium"
)
CHROMIUMS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
CUDA = Column("recorded", "sm_90", "recorded", vendor="cuda", device="NVIDIA H200")
COLUMNS = (CUDA, Column("emulated", "gfx1100"), Column("emulated", "gfx90a"))
MADE_OF = {"sources": {}, "code objects": {"unary gfx1100 emulated": "code"}}
GELU = ["ugelu_f16", "ugelu_bf16", "ugelu_f32", "ugelu_f64", "ugelu_fp8_e4m3"]
"""Unfolded by themselves, because one of few fails."""
UNFOLDED = ["affine", "unary", "exp", "tanh", "gelu", *GELU, "sort"]
HOSTILE = "<script>window.hacked = 1</script><img src=x onerror='window.hacked = 2'>"
WRONG = Verdict(
    Status.FAIL,
    "value",
    31.0,
    4,
    12,
    Mismatch((1, 0), "1.5", "1.25", 2097152.0, 31.0),
    HOSTILE,
    shape=(3, 4),
    picture=("9009", "0090"),
    detail=f"at unary.cu:3 {HOSTILE}",
)


@pytest.fixture(scope="module")
def browser():
    with playwright.sync_playwright() as started:
        found = next(filter(None, map(shutil.which, CHROMIUMS)), None)
        try:
            chromium = started.chromium.launch(executable_path=found, args=["--no-sandbox"])
        except playwright.Error as error:
            pytest.skip(
                "no Chromium: apt-get install chromium (Debian), or python -m playwright install chromium: "
                f"{str(error).splitlines()[0]}"
            )
        yield chromium
        chromium.close()


class Run:
    """The parts of a run that a comparison reads."""

    def __init__(self, matrix, records):
        self.matrix, self.records = matrix, records


def run_of(entries, broken):
    """Return a run with two cases per kernel and column; the ``broken`` kernels fail on gfx1100."""
    records = []
    for n, entry in enumerate(entries):
        for column in COLUMNS:
            budget = round(0.01 * n, 4)
            case = f"{entry.op.name}[{entry.dtypes[0]}](x=3~mixed@{n})"
            against = (
                CrossVendorComparison(Conclusion.RIGHT, 1, 3, 2.0, column=str(CUDA)) if column.vendor == "amd" else None
            )
            passing = Verdict(Status.PASS, budget=budget, ulps=1.5, total=3, allowed=True)
            records.append(CaseRecord.of(entry, column, case, passing, HOSTILE, against=against))
            fails = entry.kernel in broken and column.target == "gfx1100"
            verdict = WRONG if fails else replace(passing, budget=budget / 2)
            records.append(CaseRecord.of(entry, column, f"{entry.op.name}[{HOSTILE}]", verdict))
    matrix = make_matrix(entries, COLUMNS, records, provenance=Provenance(2.0, 7, 5))
    return Run(document(matrix), records)


@pytest.fixture(scope="module")
def file(suite, tmp_path_factory):
    """Write a report of 32 kernels with one broken kernel and hostile texts wherever possible."""
    entries = suite.select(["affine", "unary.exp", "unary.tanh", "unary.gelu", "sort.argsort_asc"]).entries
    before, after = run_of(entries, ()), run_of(entries, ("ugelu_f32",))
    issue = IssueEntry(HOSTILE, ("unary.exp",), HOSTILE, "", datetime.date(2026, 1, 20), 1, ("gfx1100",), "")
    runs = [
        summarize_run(replace(each.matrix, known_issues=(issue,)), MADE_OF, HOSTILE, f"2026-01-0{n}T00:00:00+00:00")
        for n, each in enumerate((before, after, before), 1)
    ]
    more = {
        "comparison": comparison_content(compare_runs(before, after), HOSTILE),
        "history": history_content(runs),
    }
    told = {"date": HOSTILE, "more": more, "sources": SourceFolders.of(suite)}
    unjudged = CaseRecord.of(entries[0], COLUMNS[0], "", Verdict(Status.NOT_JUDGED, "system", detail=HOSTILE))
    shown = PageInput(after.matrix, [*after.records, unjudged], Reproduction(), **told)
    path = tmp_path_factory.mktemp("report") / "report.html"
    path.write_text(render_page(page_content(shown), HOSTILE))
    return path


@pytest.fixture
def opened(browser, file):
    """Return a function that opens the report; fail if the console has output or a text was executed."""
    context = browser.new_context(viewport={"width": 1280, "height": 900}, reduced_motion="reduce")
    told = []

    def at(address=""):
        tab = context.new_page()
        tab.set_default_timeout(15_000)
        tab.on("console", lambda message: told.append(message.text))
        tab.on("pageerror", lambda error: told.append(str(error)))
        tab.on(
            "request",
            lambda request: None if request.url.startswith(("file:", "data:", "blob:")) else told.append(request.url),
        )
        tab.goto(f"{file.as_uri()}{address}")
        tab.wait_for_selector("body[data-ready]")
        return tab

    yield at
    hacked = [tab.evaluate("window.hacked") for tab in context.pages]
    context.close()
    assert (told, [each for each in hacked if each]) == ([], [])


def heads(tab):
    """Return the locator of the names of the matrix rows."""
    return tab.locator(".matrix tbody th .label")


def expect_heads(tab, names):
    """Wait until the matrix has rows with these names."""
    playwright.expect(heads(tab)).to_have_text(names)


ROUTES = {
    "view of failures": ("nav [data-view=failures]",),
    "cell": (".matrix td[data-state=fail][data-row]",),
    "folded module": (
        ".folds button:has-text('collapse all')",
        "[data-fold=unary] th",
        ".matrix td[data-state=fail][data-row]",
    ),
}


@pytest.mark.parametrize("clicks", ROUTES.values(), ids=ROUTES)
def test_failing_source_line_and_reproducer_are_at_most_three_clicks_away(opened, clicks):
    tab = opened()
    for selector in clicks:
        tab.locator(selector).first.click()
    card = tab.locator(".card:visible").first
    playwright.expect(card.locator(".source figcaption")).to_have_text("unary.cu, line 3")
    playwright.expect(card.locator(".source .meant")).to_be_visible()
    playwright.expect(card).to_contain_text("parity reproduce 'unary.gelu")
    playwright.expect(card).to_contain_text("print all values")
    assert len(clicks) <= 3


def test_legend_explains_words_of_cells(opened):
    tab = opened()
    terms = tab.locator(".legend dt").all_inner_texts()
    for term in ("n cases", "n % of bound", "n ULP", "not identical to CUDA"):
        assert term in [each.strip() for each in terms]
    assert "% of bound" in tab.locator(".matrix").inner_text() and "bits" not in tab.locator(".matrix").inner_text()


def test_page_from_disk_shows_verdict(opened):
    tab = opened()
    assert tab.locator("h1").inner_text() == "parity failed"
    assert "1 failed" in tab.locator(".headline").inner_text()
    assert tab.locator(".matrix thead .badge").all_inner_texts() == ["recorded", "emulated", "emulated"]
    states = {each.get_attribute("data-state") for each in tab.locator(".matrix td").all()}
    assert states == {"pass", "fail"} and "✕" in tab.locator(".matrix").inner_text()


def test_modules_fold_with_mouse_and_keys(opened):
    tab = opened("#open=-affine|-unary|-sort")
    expect_heads(tab, ["affine", "unary", "sort"])
    assert tab.locator("i[data-row]").count() == 3 * 32  # one square per kernel and column
    tab.locator("th", has_text="unary").click()
    expect_heads(tab, UNFOLDED)
    tab.keyboard.press("ArrowDown")
    tab.keyboard.press("ArrowRight")
    playwright.expect(heads(tab).filter(has_text="uexp_f32")).to_have_count(1)
    for key in ("ArrowLeft", "ArrowUp", "ArrowLeft"):
        tab.keyboard.press(key)
    expect_heads(tab, ["affine", "unary", "sort"])


def test_keys_continue_after_redraw(opened):
    tab = opened("#open=-affine|-unary|-sort")
    tab.locator("th", has_text="unary").click()
    keys = ["ArrowLeft", "ArrowRight"]
    tab.evaluate(
        """keys => {
            for (const key of keys)
                document.activeElement.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true }));
        }""",
        keys,
    )
    assert heads(tab).all_inner_texts() == UNFOLDED
    tab.go_back()
    expect_heads(tab, ["affine", "unary", "sort"])
    tab.go_forward()
    expect_heads(tab, UNFOLDED)


def test_filters_are_stored_in_address(opened):
    tab = opened()
    tab.locator("select[data-filter=module]").select_option("unary")
    tab.locator("select[data-filter=target]").select_option("gfx1100")
    tab.locator("#search").fill("gelu")
    playwright.expect(tab).to_have_url(re.compile("q=gelu"))
    tab.locator("button.chip[data-state=fail]").click()
    other = opened(tab.evaluate("location.hash"))
    for each in (tab, other):
        expect_heads(each, ["unary", "gelu"])
        assert each.locator(".matrix thead .target").all_inner_texts() == ["gfx1100"]
        assert each.locator("#search").input_value() == "gelu"
    other.locator("button.reset").click()
    playwright.expect(heads(other).first).to_have_text("affine")
    assert heads(other).count() > 5 and other.locator(".matrix thead .target").count() == 3


def test_only_differences_shows_differing_kernels(opened):
    tab = opened("#q=affine_f32")
    assert tab.locator(".matrix").count() == 1
    tab.locator("input[data-filter=differ]").check()  # AMD's bits differ from CUDA's
    assert tab.locator(".matrix").count() == 1
    tab = opened("#differ=1&target=sm_90")
    assert tab.locator(".none").inner_text().startswith("No kernel matches")


def test_cell_link_opens_cases_plots_and_failure(opened):
    tab = opened("#cell=unary.gelu/ugelu_f32@gfx1100 emulated")
    panel = tab.locator("#panel")
    panel.locator(".tabulator-row").first.wait_for()
    assert panel.locator("h2").inner_text() == "ugelu_f32"
    assert panel.locator(".cells tbody tr").count() == 3
    assert panel.locator(".plots svg").count() >= 2
    rows = panel.locator(".tabulator-row").all_inner_texts()
    assert len(rows) == 2 and "fail: value" in rows[0] and HOSTILE in rows[0]  # worst case first
    card = panel.locator(".card")
    assert "gfx1100 (emulated): value" in card.inner_text() and card.locator("rect.wrong").count() == 3
    assert "sm_90 recorded pass" in card.locator(".others").inner_text()
    tab.keyboard.press("Escape")
    assert not panel.is_visible() and "cell=" not in tab.evaluate("location.hash")


def test_failure_command_click_copies_it(opened):
    tab = opened("#view=failures")
    tab.context.grant_permissions(["clipboard-read", "clipboard-write"])
    assert tab.locator(".card").count() == 1 and HOSTILE in tab.locator(".card").inner_text()
    buttons = tab.locator(".card .command button")
    for command, button in zip(("run", "reproduce"), buttons.all(), strict=True):
        button.click()
        playwright.expect(tab.locator("#said")).to_have_text("copied")
        start = f"parity {command} 'unary.gelu[<script>"
        tab.wait_for_function("start => navigator.clipboard.readText().then((it) => it.startsWith(start))", arg=start)


def test_comparison_view_lists_changes(opened):
    tab = opened("#view=compare")
    tab.locator(".tabulator-row").first.wait_for()
    assert "1 broken" in tab.locator(".tiles").inner_text()
    assert "ugelu_f32" in tab.locator(".tabulator-row").first.inner_text()
    tab.locator(".tabulator-row").first.click()
    assert tab.locator("#panel h2").inner_text() == "ugelu_f32"


def test_history_view_shows_flaky_and_expiring(opened):
    tab = opened("#view=history")
    playwright.expect(tab.locator(".plots svg").nth(3)).to_be_attached()  # three plots, and legends
    assert "pass fail pass" in tab.locator(".flaky").inner_text()
    assert "2026-01-20" in tab.locator("main").inner_text() and HOSTILE in tab.locator("main").inner_text()
    tab.locator(".flaky button").click()
    assert tab.locator("#panel h2").inner_text() == "ugelu_f32"


def test_theme_follows_choice(opened):
    tab = opened()
    colours = [tab.evaluate("getComputedStyle(document.body).backgroundColor")]
    tab.keyboard.press("t")
    colours.append(tab.evaluate("getComputedStyle(document.body).backgroundColor"))
    tab.emulate_media(media="print")
    assert len(set(colours)) == 2 and not tab.locator(".filters").is_visible()


def test_about_view_shows_notes_and_licences(opened):
    tab = opened("#view=about")
    assert HOSTILE in tab.locator("main").inner_text()
    assert tab.locator("details").count() == 3


@pytest.mark.parametrize("width", [640, 1280])
def test_long_name_stays_in_its_column(opened, width):
    tab = opened("#open=*")
    tab.set_viewport_size({"width": width, "height": 900})
    label = tab.locator(".matrix .level3 > th .label").first
    label.evaluate("each => { each.textContent = 'blocks::reduce<float,(anonymous)::long_name_of_a_functor,128>' }")
    right = "each => each.getBoundingClientRect().right"
    assert label.evaluate(right) <= label.locator("xpath=ancestor::th").evaluate(right)
