"""Selection of the cases that a coverage-guided search keeps. ``tests/cli`` covers the search itself."""

from parity.engine.coverage_search import FoundCase, _needed


def test_needed_keeps_few_cases_that_reach_all_new_points(suite):
    op = suite.op("affine.affine")
    texts = [f"affine.affine[f32](x={n}~normal@0 mul=1.0 add=0.0)" for n in (1, 2, 33, 4)]
    one, two, both, short = map(op.parse, texts)
    before = 0b000011
    masks = {one: 0b000111, two: 0b001011, both: 0b001111, short: 0b110000}
    assert _needed(masks, before) == {both: [2, 3], short: [4, 5]}
    assert _needed({one: 0b000111, short: 0b000111}, before) == {one: [2]}
    assert _needed({one: 0b1}, before) == {}


def test_found_case_title_names_reached_line():
    assert FoundCase("m.op", ("f32",), "case", ("mine.cu:7", "mine.cu:9")).title == "reaches mine.cu:7"
    assert FoundCase("m.op", ("f32",), "case", ()).title == "reaches more"
