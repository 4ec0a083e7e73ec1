"""Integers that host code copies into variables."""

import pytest

from parity.inference.host_tables import copied_integers


@pytest.mark.parametrize(
    ("host", "wanted"),
    [
        ("int t[3] = {1, -2, 0x1F};", (1, -2, 31)),
        ("const char t[] = {'a', 010};", (97, 8)),
        ("static const uint64_t t[2][2] = { {1u, 2ULL}, {3, 4} };", (1, 2, 3, 4)),
        ("int t = 7;", (7,)),
        ("int t[2] = {1, N};", ()),
        ("uint64_t t[1] = {0x8000000000000001ull};", (1 - 2**63,)),
        ("float t[2] = {1.5f, 2};", ()),
        ("int t[2]; t[0] = 3;", ()),
        ("int t[2] = {1, 2}; void other() { int t[2] = {3, 4}; }", ()),
    ],
)
def test_integers_are_read_from_initializers(host, wanted):
    assert copied_integers(f"{host}\nvoid f() {{ cudaMemcpyToSymbol(table, t, sizeof(t)); }}", "n::table") == wanted


def test_copies_of_other_variables_and_several_copies_do_not_count():
    once = "int a[1] = {1}, b[1] = {2}; void f() { cudaMemcpyToSymbol(table, a, 4); }"
    assert copied_integers(once, "table") == (1,)
    assert copied_integers(once, "tables") == ()
    assert copied_integers(f"{once} void g() {{ cudaMemcpyToSymbol(table, b, 4); }}", "table") == ()
