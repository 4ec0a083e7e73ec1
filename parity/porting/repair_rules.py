"""A table of the errors that clang reports for code that nvcc accepts, and the edits that repair them."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from parity.compilers.diagnostics import ATTRIBUTES, NOT_DEFINED
from parity.porting import repair_edits as edits
from parity.porting.repair_sites import ErrorSite, Located

Locate = Callable[[ErrorSite, re.Match[str]], Sequence[Located] | None]


@dataclass(frozen=True)
class Repair:
    """A row of the table: errors that match ``pattern``, where to edit the source, and a source with such an error.

    Rows that do not need a place find it by the name that the error quotes.
    """

    name: str
    pattern: re.Pattern[str]
    locate: Locate
    example: str
    needs_place: bool = True


def find_repair(site: ErrorSite) -> tuple[Repair, Sequence[Located]] | None:
    """Return the first row that applies to an error, with its edits; None if the place is not in the module."""
    for repair in REPAIRS:
        match = repair.pattern.search(site.error.text) if site.is_in_module or not repair.needs_place else None
        found = None if match is None else repair.locate(site, match)
        if found is not None:
            return repair, found
    return None


REPAIRS = (
    Repair(
        "side of a declaration and its definition differ",
        re.compile(f"{ATTRIBUTES.pattern}|{NOT_DEFINED}"),
        edits.side_words,
        "struct A { __device__ int f(int) const; };\nint A::f(int x) const { return x; }\n"
        "__global__ void k(int* x) { *x = A().f(1); }\n",
        needs_place=False,
    ),
    Repair(
        "shared variable with a host constructor that does nothing",
        re.compile(r"^no matching constructor for initialization of"),
        edits.shared_constructor,
        "struct A { int x; A() {} A(double a) : x(a) {} };\n"
        "__global__ void k(int* x) { __shared__ A all[32]; all[1].x = 1; *x = all[1].x; }\n",
    ),
    Repair(
        "length of dynamic shared memory",
        re.compile(r"__shared__ variable '(\w+)' cannot be 'extern'"),
        edits.shared_length,
        "extern __shared__ float all[32];\n__global__ void k(float* x) { *x = all[threadIdx.x]; }\n",
    ),
    Repair(
        'extern "C" static',
        re.compile(r"^cannot combine with previous 'extern' declaration specifier$"),
        edits.linkage,
        'extern "C" static __device__ int f(int x) { return x; }\n__global__ void k(int* x) { *x = f(*x); }\n',
    ),
    Repair(
        "__restrict__ without a pointer",
        re.compile(r"^restrict requires a pointer or reference"),
        edits.word,
        "__global__ void k(const float3 __restrict__* x, float* y) { *y = x->x; }\n",
    ),
    Repair(
        "template arguments of a constructor's name",
        re.compile(r"^out-of-line constructor for '.*' cannot have template arguments"),
        edits.constructor_arguments,
        "template <class T> struct S { T x; __device__ S(T y); };\n"
        "template <class T> __device__ S<T>::S<T>(T y) : x(y) {}\n__global__ void k(int* x) { *x = S<int>(*x).x; }\n",
    ),
    Repair(
        "constexpr variable from a static member of an object",
        re.compile(r"^constexpr variable '\w+' must be initialized by a constant expression"),
        edits.constexpr,
        "struct A { static constexpr int n = 8; };\n"
        "struct B { const A& a; __device__ int f() const { constexpr int n = 2 * a.n; return n; } };\n"
        "__global__ void k(int* x, const A& a) { *x = B{a}.f(); }\n",
    ),
    Repair(
        "missing template keyword",
        re.compile(r"^(?:use|missing) 'template' keyword"),
        edits.template_keyword,
        "struct A { template <class U> __device__ int get() const { return 1; } };\n"
        "template <class T> __global__ void k(T a, int* x) { *x = a.get<int>(); }\n"
        "template __global__ void k<A>(A, int*);\n",
    ),
    Repair(
        "friend whose parameters are of its namespace",
        re.compile(
            r"^(?:no (?:template|type) named|unknown (?:type|class) name) '(\w+)'; "
            r"did you mean '(?:simply )?((?:\w+::)+)\1'\?"
        ),
        edits.friend_qualifier,
        "namespace inner { struct Plain {}; __global__ void k(Plain, int* x); }\n"
        "class Item { friend __global__ void inner::k(Plain, int*); int x; };\n"
        "__global__ void inner::k(Plain, int* x) { Item item; item.x = 1; *x = item.x; }\n",
    ),
    Repair(
        "constexpr condition on a static member of this",
        re.compile(r"^constexpr if condition is not a constant expression"),
        edits.member_of_this,
        "template <class T> struct Base { static constexpr bool wide = sizeof(T) > 2; };\n"
        "template <class T> struct S : Base<T> {\n"
        "  __device__ T f(T x) const { if constexpr (sizeof(T) < 8 and this->wide) return x; else return -x; }\n};\n"
        "__global__ void k(int* x) { *x = S<int>().f(*x); }\n",
    ),
    Repair(
        "vector with fewer values than components",
        re.compile(r"^no matching constructor for initialization of .*\bHIP_vector_type<[^<>]*, (\d)>'"),
        edits.zeros,
        "__device__ float4 f(float x) { return {x, 2.f}; }\n__global__ void k(float* x) { *x = f(*x).y; }\n",
    ),
    Repair(
        "cast of dim3 to uint3",
        re.compile(r"^no matching conversion for C-style cast from '(?:const )?dim3' .* to 'uint3'"),
        edits.dim3_components,
        "__global__ void k(uint3* x, dim3 d) { *x = (uint3)d; }\n",
    ),
    Repair(
        "launch in a function for both sides",
        re.compile(r"device-side kernel call/launch"),
        edits.host_words,
        "template <class T> __global__ void k(T* x) { *x = 1; }\n"
        "template <class F> struct Launch {\n  F f;\n"
        "  template <class T> __host__ __device__ void operator()(T* x) const { f<<<1, 32>>>(x); }\n};\n"
        "void host() { Launch<void (*)(double*)>{k<double>}((double*)nullptr); }\n",
    ),
    Repair(
        "assignment of braces to a type with several assignments",
        re.compile(r"overloaded operator '=' is ambiguous \(with operand types .* and 'void'\)"),
        edits.typed_braces,
        "#include <cuda_fp16.h>\n__global__ void k(__half2* x) { __half2 sum; sum = {}; *x = sum; }\n",
    ),
    Repair(
        "own atomic function that HIP has",
        re.compile(r"^call to 'atomic\w+' is ambiguous$"),
        edits.own_atomic,
        "namespace { __device__ double atomicMin(double* at, double x) { return *at = x < *at ? x : *at; } }\n"
        "__global__ void k(double* x) { atomicMin(x, 1.0); }\n",
    ),
    Repair(
        "typedef of <cstdint>",
        re.compile(
            r"typedef redefinition .* vs '(?:__)?(?:u?int(?:8|16|32|64)_t|s?size_t|ptrdiff_t|u?intptr_t)'"
        ),
        edits.typedef_of_hip,
        "typedef unsigned long long uint64_t;\n__global__ void k(uint64_t* x) { *x += 1; }\n",
    ),
    Repair(
        "host variable or specialization that a system header has",
        re.compile(r"^redefinition of '(?:\w+' as different kind of symbol|\w+<.*>')"),
        edits.host_name_of_hip,
        "#include <cstdlib>\nstruct Draw { Draw(float); };\nstatic Draw random(0.0f);\n"
        "__global__ void k(float* x) { *x = 1; }\n",
    ),
    Repair(
        "function that HIP has",
        re.compile(""),
        edits.function_of_hip,
        "__device__ inline void atomicMax(float* to, float value) { *to = value; }\n"
        "__global__ void k(float* x) { atomicMax(x, x[1]); }\n",
    ),
    Repair(
        "#error about CUDA's version or an absent header",
        re.compile(""),
        edits.error_directive,
        "#if !defined(CUDART_VERSION)\n#error no CUDA\n#endif\n__global__ void k(int* x) { *x = 1; }\n",
    ),
    Repair(
        "host code",
        re.compile(""),
        edits.host_code,
        "void host(int n) { missing(n); }\n__global__ void k(int* x) { *x = 1; }\n",
    ),
)  # fmt: skip
"""The rows; the first row that applies to an error repairs it."""
