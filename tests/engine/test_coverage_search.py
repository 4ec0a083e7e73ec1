"""Selection of the cases that a coverage-guided search keeps. ``tests/cli`` covers the search itself."""

from parity.engine.coverage_search import SHRINKS, FoundCase, _needed, smallest


def test_needed_keeps_few_cases_that_reach_all_new_points(suite):
    op = suite.op("affine.affine")
    texts = [f"affine.affine[f32](x={n}~normal@0 mul=1.0 add=0.0)" for n in (1, 2, 33, 4)]
    one, two, both, short = map(op.parse, texts)
    before = 0b000011
    masks = {one: 0b000111, two: 0b001011, both: 0b001111, short: 0b110000}
    assert _needed(masks, before) == {both: [2, 3], short: [4, 5]}
    assert _needed({one: 0b000111, short: 0b000111}, before) == {one: [2]}
    assert _needed({one: 0b1}, before) == {}


def test_large_found_case_shrinks_until_it_is_small(suite):
    op = suite.op("affine.affine")
    attempts = []

    def has_forty_rows(case):
        attempts.append(case)
        return case.layouts["x"].shape[0] >= 40

    found = smallest(op.parse("affine.affine[f32](x=65400x9x5~normal@0 mul=1.0 add=0.0)"), has_forty_rows)
    assert str(found) == "affine.affine[f32](x=63x9x5~normal@0 mul=1.0 add=0.0)"
    assert len(attempts) < SHRINKS


def test_large_found_case_that_no_smaller_one_replaces_is_kept(suite):
    case = suite.op("affine.affine").parse("affine.affine[f32](x=160x90x5~normal@0 mul=1.0 add=0.0)")
    assert smallest(case, lambda each: False) is case


def test_small_found_case_is_kept(suite):
    case = suite.op("affine.affine").parse("affine.affine[f32](x=80x9x5~normal@0 mul=1.0 add=0.0)")
    assert smallest(case, lambda each: True) is case


def test_found_case_title_names_reached_line():
    assert FoundCase("m.op", ("f32",), "case", ("mine.cu:7", "mine.cu:9")).title == "reaches mine.cu:7"
    assert FoundCase("m.op", ("f32",), "case", ()).title == "reaches more"
