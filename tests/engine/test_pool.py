"""The order in which results of a pool are taken."""

from concurrent.futures import Future

from parity.engine.pool import completed


def test_futures_come_as_they_finish():
    early, late, last = Future(), Future(), Future()
    early.set_result(1)
    found = completed({late: "late", early: "early", last: "last"})
    assert next(found) is early
    last.set_exception(ValueError())
    late.set_result(2)
    assert list(found) == [last, late]
