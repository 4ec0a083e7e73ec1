"""The table of repairs: the example of each row has the row's error and compiles after the row's edit."""

import pytest

from parity.build.modules import build
from parity.platform.cache import Cache
from parity.porting import staging
from parity.porting.repair import repair
from parity.porting.repair_rules import REPAIRS, find_repair
from parity.porting.repair_sites import ErrorSite, Module


@pytest.mark.parametrize("row", REPAIRS, ids=lambda row: row.name.replace(" ", "-"))
def test_repair_rule_edit_makes_its_example_compile(row, tmp_path, monkeypatch):
    applied = []

    def recording(host, texts, errors, **options):
        for error in errors:
            place = next(place for place in error.places if place[0] in texts)
            found, edits = find_repair(ErrorSite(error, Module(texts, host), *place))
            applied.append((found, error.text, {(file, edit.start, edit.end) for file, edit in edits}))
        return repair(host, texts, errors, **options)

    monkeypatch.setattr(staging, "repair", recording)
    (tmp_path / "m.cu").write_text(row.example)
    (one,) = build(tmp_path, targets=["gfx1100"], cache=Cache(tmp_path / "cache"))
    assert not one.error, one.error
    assert len(one.entries) == 1
    own = [(text, edits) for found, text, edits in applied if found is row]
    assert own and all(row.pattern.search(text) for text, _ in own)
    left_out = {(piece.file, piece.start, piece.end) for piece in one.translation.left_out}
    assert all(edits & left_out for _, edits in own)
    assert left_out <= {edit for _, edits in own for edit in edits}, "no other row is needed"
