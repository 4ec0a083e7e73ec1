"""Removal of the host code around a compile error."""

import pytest

from parity.compilers.diagnostics import Diagnostic
from parity.porting.host_code import HostCode, LeftOut
from parity.porting.host_pieces import host_edits
from parity.porting.repair import repair


def left(text, line, column, error="unknown"):
    """Repair an error at a location and return the remaining text, or None if the error is kept."""
    host = repair(HostCode(), {"m.cu": text}, [Diagnostic(error, (("m.cu", line, column),))])
    return host and host.blanked("m.cu", text)


def test_repair_device_lambda_keeps_error():
    text = "void host() {\n  each([=] __device__(int i) {\n    bad(i);\n  });\n}\n"
    assert left(text, 3, 5) is None
    assert left(text, 2, 3).split() == ["void", "host()", "{", "{", "}", "}"]


def test_repair_constructor_after_device_macro_keeps_error():
    text = (
        "#define ON_GPU __host__ __device__\nstruct A {\n  int x, y;\n  ON_GPU explicit A(const Gone& gone)\n"
        "    : x(gone.x),\n      y{gone.y} {}\n};\n"
    )
    assert left(text, 5, 12) is None
    assert left(text.replace("ON_GPU explicit", "explicit"), 5, 12)


def test_repair_device_lambda_with_unknown_parameters_is_replaced():
    text = "void host() {\n  auto set = [=] __device__(int i,\n    gone::tuple t) {\n    x[i] = get(t);\n  };\n}\n"
    assert left(text, 3, 5).split() == [
        "void",
        "host()",
        "{",
        "auto",
        "set",
        "=",
        "::parity_stub::anything()",
        ";",
        "}",
    ]


def test_repair_class_with_device_function_keeps_error():
    text = "struct S {\n  nosuch a;\n  __device__ int f() { return 1; }\n};\n"
    assert left(text, 2, 3) is None


def test_repair_statement_keeps_its_launches():
    text = "template <typename T> void host(T* x) {\n  log(x);\n  k<T, 3><<<grid(x), 64>>>(x, size(x));\n}\n"
    assert "log" not in left(text, 2, 3) and "k<T, 3><<<" in left(text, 2, 3)
    assert "k<T, 3><<<1, 64>>>(x, size(x))" in " ".join(left(text, 3, 13).split()).replace("1 ,", "1,")
    host = HostCode()
    for _ in range(3):  # removes the argument, then the statement, then the function
        host = repair(host, {"m.cu": text}, [Diagnostic("unknown", (("m.cu", 3, 29),))])
        if "(void)&k<T, 3>;" in host.blanked("m.cu", text):
            break
    assert "(void)&k<T, 3>;" in host.blanked("m.cu", text)


def test_host_edits_unbalanced_macro_does_not_include_next_lines():
    """The syntax tree may combine such a macro with braces of the next lines."""
    text = "void g() { OPEN(x) { h();\nGEN(a);\nCLOSE }\nvoid f() { g(); }\n"
    (piece,) = host_edits(text, 2, 1, frozenset())
    assert text[piece.start : piece.end] == "GEN(a);"


def test_host_edits_comment_in_long_macro_does_not_hide_next_lines():
    lines = [
        "#define EACH(TYPE, NAME, ...)",
        "  [&] {",
        "    const auto& one = TYPE;",
        "    /* don't use TYPE again */",
        "    kind _st = ::detail::kind_of(one);",
        "    switch (_st) {",
        "      CASE(kind::Float, float, __VA_ARGS__)",
        "      default:",
        '        fail(#NAME, " is not there for \'", text(_st), "\'");',
        "    }",
    ]
    macro = "".join(f"{line:76} \\\n" for line in lines) + "  }()\n"
    text = macro + "void host(int n) {\n  EACH(n);\n  none(n);\n}\n"
    assert left(text, 14, 3).removeprefix(macro).split() == ["void", "host(int", "n)", "{", "EACH(n);", "{", "}", "}"]


def test_blanked_text_keeps_line_numbers():
    text = "int a;\nvoid host() {\n  first(\n    2);\n}\n__global__ void k() {}\n"
    blanked = left(text, 3, 3)
    assert blanked.count("\n") == text.count("\n") and blanked.splitlines()[-1] == "__global__ void k() {}"


def test_blanked_text_keeps_conditionals():
    text = "#if A\nint Plugin::run(int n)\n#else\nint Plugin::run(long n)\n#endif\n{ return n; }\n"
    host = HostCode((LeftOut("m.cu", 4, "run", "unknown", text.index("int Plugin::run(long"), len(text)),))
    assert host.blanked("m.cu", text).split("\n")[2:5] == ["#else", " " * 23, "#endif"]


def test_repair_code_in_conditional_is_removed():
    text = "#ifndef A\n#define A\nvoid host() { missing(); }\n#endif\n"
    assert "missing" not in left(text, 3, 15)
    inside = "void host() {\n#if 1\n  missing();\n#endif\n  k<<<1, 1>>>();\n}\n"
    assert "missing" not in left(inside, 3, 3) and "k<<<1, 1>>>" in left(inside, 3, 3)
    device = "__global__ void k() {\n#if 1\n  missing();\n#endif\n}\n"
    assert left(device, 3, 3) is None


def test_host_edits_device_function_after_macro_calls_is_not_removed():
    text = "FILL(u8)\nFILL(u32)\n\n__device__ int broken = undeclared;\n"
    assert not host_edits(text, 4, 25, frozenset())
    assert host_edits(text.replace("__device__ ", ""), 4, 14, frozenset())


BRANCHES = """struct Signature {
  void add(const Missing& a) {
    if (a.is_other()) {
#if OTHER == 1 && \\
    !NONE
      add(a.other());
    }
#else
    }
#endif
  }

  void add(const Unknown& a) {
    add(a.first);
  }
};
"""


@pytest.mark.parametrize(("line", "first", "lines"), [(2, 2, 10), (13, 13, 3)])
def test_host_edits_brace_closed_in_two_branches_ends_function(line, first, lines):
    *_, piece = host_edits(BRANCHES, line, 8, frozenset())
    assert (piece.line, BRANCHES[piece.start : piece.end].count("\n") + 1) == (first, lines)


MACROS_IN_CLASSES = """namespace a {
class One : public Missing {
 public:
  int f() const { return 1; }
  DECLARE_INFO(One, Missing)
};
class Other : public Missing {
  DECLARE_INFO(Other, Missing)
};
}
"""


@pytest.mark.parametrize(("line", "last"), [(2, 6), (5, 5), (7, 9), (8, 8)])
def test_host_edits_macro_at_end_of_class_is_balanced(line, last):
    *_, piece = host_edits(MACROS_IN_CLASSES, line, 8, frozenset())
    text = MACROS_IN_CLASSES[piece.start : piece.end]
    assert (piece.line, piece.line + text.count("\n")) == (line, last)
    assert text.count("{") == text.count("}")
