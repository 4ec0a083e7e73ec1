"""The order of results from a pool."""

from concurrent.futures import Future

from parity.engine.pool import completed


def test_completed_yields_futures_in_order_of_completion():
    early, late, last = Future(), Future(), Future()
    early.set_result(1)
    found = completed({late: "late", early: "early", last: "last"})
    assert next(found) is early
    last.set_exception(ValueError())
    late.set_result(2)
    assert list(found) == [last, late]
