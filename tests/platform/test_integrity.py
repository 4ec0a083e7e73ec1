"""Detection of replaced functions, methods and tables."""

from __future__ import annotations

import numpy as np
import pytest

from parity.compare import comparison
from parity.compare.verdict import Status, Verdict
from parity.engine import judging
from parity.errors import UsageError
from parity.platform.integrity import check_integrity, protect


def test_check_integrity_accepts_unchanged_code():
    protect()
    check_integrity()


@pytest.mark.parametrize(
    ("target", "name", "value", "named"),
    [
        (comparison, "compare", lambda *_: None, "parity.compare.comparison.compare"),
        (judging, "compare", lambda *_: None, "parity.engine.judging.compare"),
        (judging, "CheckedCase", Verdict, "parity.engine.judging.CheckedCase"),
        (Verdict, "failed", property(lambda _: False), "parity.compare.verdict.Verdict.failed"),
        (comparison.compare.__wrapped__, "__code__", (lambda *_: None).__code__, "parity.compare.comparison.compare"),
        (comparison.compare.__wrapped__, "__kwdefaults__", {"vendor": "amd"}, "parity.compare.comparison.compare"),
        (Status.FAIL, "_value_", "pass", "parity.compare.verdict.Status.FAIL._value_"),
        (np, "isnan", np.isinf, "numpy.isnan"),
        (comparison, "MISTAKES", {}, "parity.compare.comparison.MISTAKES"),
        (comparison, "any", lambda _: False, "parity.compare.comparison.any"),
        (Verdict, "__getattribute__", object.__getattribute__, "parity.compare.verdict.Verdict.__getattribute__"),
    ],
    ids=[
        *("function", "imported-function", "class", "property", "code", "defaults", "enum", "numpy"),
        *("constant", "hidden-builtin", "new-method"),
    ],
)
def test_check_integrity_names_replacement(monkeypatch, target, name, value, named):
    protect()
    monkeypatch.setattr(target, name, value, raising=False)
    with pytest.raises(UsageError, match=f"a case file replaces .*{named}"):
        check_integrity()
    monkeypatch.undo()
    check_integrity()


def test_check_integrity_names_entry_of_table(monkeypatch):
    protect()
    monkeypatch.setitem(judging._STATUS, "timeout", judging.Status.PASS)
    with pytest.raises(UsageError, match=r"parity\.engine\.judging\._STATUS\.timeout"):
        check_integrity()
