"""Parsing of structs in sources: fields with C's layout."""

from __future__ import annotations

import pytest

from parity.inference.structures import Structures

SOURCE = """
#define N 3
typedef float real;
enum class Mode { one, two };
typedef struct { real x, y; } Pair;
struct Csr {
    int rows; const int* begin, *cols; float4 box; float m[2][N]; bool on = false; Pair p; Mode mode;
    __device__ float at(int i) const { return 1; }
    static const int k = 3;
    Csr();
};
template <typename T> struct Step { T rate; T* p; unsigned long long n; };
struct Based : Pair { int k; };
struct alignas(16) Aligned { float a; };
struct Bits { int a : 3; };
struct Unknown { Elsewhere e; };
#define SIDE 2
#define AREA (SIDE * SIDE)  // of a tile
constexpr unsigned int MORE = AREA + 1u;
struct Sized { unsigned char tile[AREA], more[MORE][SIDE]; };
struct Round { int a[ROUND]; };
#define ROUND ROUND
typedef uint16_t depth_t;
struct Depth { depth_t least; ushort2 at; bool on; };
class Camera { public: float3 from; private: double f; };
"""


@pytest.mark.parametrize(
    ("name", "size", "fields"),
    [
        ("Pair", 8, "x float 0 y float 4"),
        ("scene::Camera", 24, "from_x float 0 from_y float 4 from_z float 8 f double 16"),
        ("Depth", 12, "least unsigned_short 0 at_x unsigned_short 4 at_y unsigned_short 6 on bool 8"),
        ("Step<double>", 24, "rate double 0 p double* 8 n unsigned_long_long 16"),
        (
            "Sized",
            14,
            " ".join(
                f"{name} unsigned_char {i}"
                for i, name in enumerate(
                    [*(f"tile_{i}" for i in range(4)), *(f"more_{i}_{j}" for i in range(5) for j in range(2))]
                )
            ),
        ),
        (
            "THCDeviceTensor<long, 2, int, DefaultPtrTraits>",
            24,
            "data_ long* 0 stride__0 int 8 stride__1 int 12 size__0 int 16 size__1 int 20",
        ),
        ("float3", 12, "x float 0 y float 4 z float 8"),
        (
            "Csr",
            96,
            "rows int 0 begin int* 8 cols int* 16 box_x float 32 box_y float 36 box_z float 40 box_w float 44"
            " m_0_0 float 48 m_0_1 float 52 m_0_2 float 56 m_1_0 float 60 m_1_1 float 64 m_1_2 float 68"
            " on bool 72 p_x float 76 p_y float 80 mode int 84",
        ),
    ],
)
def test_structures_fields_have_c_layout(name, size, fields):
    found = Structures(SOURCE).fields(name, size)
    assert " ".join(f"{each.name} {each.c_type.replace(' ', '_')} {each.offset}" for each in found) == fields
    assert not Structures(SOURCE).fields(name, size + 4), "another size gives a different structure"


@pytest.mark.parametrize("name", ["Based", "Round", "Aligned", "Bits", "Unknown", "Nowhere", "Missing<int>"])
def test_structures_unknown_fields_are_not_guessed(name):
    assert not any(Structures(SOURCE).fields(name, size) for size in range(1, 64))


def test_structures_with_single_type_have_element_type():
    found = Structures(SOURCE)
    assert (found.element("Pair"), found.element("Camera"), found.element("Unknown")) == ("float", "", "")


def test_structures_enumerators_have_values():
    found = Structures("""
#define FIRST 4
enum Plain { A, B = 7, C };
typedef enum { D = FIRST, E = 1 << 3 } Mode;
namespace inner { enum class Kind : int { X = -1, Y }; }
enum Unknown { F = elsewhere() };
""")
    names = ("Plain", "Mode", "inner::Kind", "Unknown", "Nowhere")
    assert [found.enumerators(name) for name in names] == [(0, 7, 8), (4, 8), (-1, 0), (), ()]


@pytest.mark.parametrize(
    "spelled", ["glm::vec3", "glm::vec<3, float, (glm::qualifier)0>", "glm::tvec3<float, glm::highp>"]
)
def test_structures_contain_vectors_of_glm(spelled):
    size, fields = Structures(f"struct Ray {{ {spelled} origin; double t; }};").whole("Ray")
    assert size == 24 and [(each.name, each.offset) for each in fields] == [
        ("origin_x", 0),
        ("origin_y", 4),
        ("origin_z", 8),
        ("t", 16),
    ]
