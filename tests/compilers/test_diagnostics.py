"""Parsing of errors in a compiler's log."""

from parity.compilers.diagnostics import diagnostics


def test_diagnostics_note_belongs_to_preceding_message():
    log = (
        "k.cu:3:7: error: no member named 'x' in 'A'\n"
        "k.cu:9:1: note: in instantiation of function template specialization 'f<A>' requested here\n"
        "k.cu:4:2: warning: unused variable 'y'\n"
        "k.cu:8:1: note: in instantiation of function template specialization 'g<A>' requested here\n"
    )
    assert [each.places for each in diagnostics(log)] == [(("k.cu", 3, 7), ("k.cu", 9, 1))]
