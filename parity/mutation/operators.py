"""The kinds of faults, one row each, in source and in single instructions.

An operator on source matches a node of the syntax tree with a tree-sitter query. It replaces the capture ``@site``, or
else everything from the first to the last capture. An operator on instructions matches a regular expression in the text
of one instruction, once per match.

``replacement`` is a Python format string over the captures, or over the numbered groups of the expression. The format
after a colon changes a number: ``{site:+1}`` adds one. For a literal with a point or an exponent, it adds a thousandth
part instead, which changes a digit but not the magnitude.
"""

from __future__ import annotations

import re
from dataclasses import dataclass


@dataclass(frozen=True)
class Operator:
    """One way to plant a fault. ``name`` is unique, ``kind`` is the class in which recall counts it."""

    name: str
    kind: str
    pattern: str
    replacement: str
    says: str


def _swaps(kind: str, pairs: str, says: str) -> tuple[Operator, ...]:
    """Return operators that replace one C++ operator by another, from pairs of old and new."""
    words = pairs.split()
    return tuple(
        Operator(
            f"{old} to {new}",
            kind,
            f'({"assignment" if old in _ASSIGNMENTS else "binary"}_expression operator: "{old}" @site)',
            new,
            says,
        )
        for old, new in zip(words[::2], words[1::2], strict=True)
    )


_UNARY = '(unary_expression operator: "{}" argument: (_) @a) @site'
_IF = "(if_statement condition: (condition_clause (_) @site))"
_ASSIGNMENTS = ("+=", "-=", "*=", "/=", "&=", "|=", "^=", "<<=", ">>=")
_FLOATS = '"double" "f64" "float" "f32"'
_BARRIERS = '"__syncthreads" "__syncwarp" "__threadfence" "__threadfence_block" "__builtin_amdgcn_s_barrier"'
_LANES = "^__(shfl|ballot|any|all|match|reduce)"
_DECLARED = '(declaration type: [(primitive_type) (type_identifier)] @site (#eq? @site "{}"))'
_CAST = (
    "([(cast_expression type: (type_descriptor type: [(primitive_type) (type_identifier)] @site))"
    ' (call_expression function: [(identifier) (primitive_type)] @site)] (#eq? @site "{}"))'
)
_TYPES = (
    "double float  f64 f32  float _Float16  f32 f16  size_t unsigned  uint64_t unsigned  int64_t int  u64 u32  i64 i32"
)
_NARROWED = _TYPES.split()

#: Faults in source as compiled for AMD.
SOURCE: tuple[Operator, ...] = (
    *_swaps("arithmetic", "+ -  - +  * +  / *  % /  += -=  -= +=  *= +=  /= *=", "another arithmetic operation"),
    Operator("- dropped", "arithmetic", _UNARY.format("-"), "({a})", "a sign lost"),
    *_swaps("bits", "& |  | &  ^ |  << >>  >> <<  &= |=  |= &=  ^= |=  <<= >>=  >>= <<=", "another operation on bits"),
    Operator("~ dropped", "bits", _UNARY.format("~"), "({a})", "bits not inverted"),
    *_swaps("boundary", "< <=  <= <  > >=  >= >  == !=  != ==", "a comparison off at its boundary, or inverted"),
    *_swaps("logic", "&& ||  || &&", "and for or, or for and"),
    Operator("! dropped", "logic", _UNARY.format("!"), "({a})", "not inverted"),
    Operator("constant + 1", "constant", "(number_literal) @site", "{site:+1}", "a constant too large"),
    Operator("constant - 1", "constant", "(number_literal) @site", "{site:-1}", "a constant too small"),
    Operator(
        "loop begins late", "loop",
        "(for_statement initializer: (declaration declarator: (init_declarator value: (_) @site)))", "({site}) + 1",
        "the first step of a loop lost",
    ),
    Operator(
        "loop ends early", "loop", "(for_statement condition: (binary_expression right: (_) @site))", "({site}) - 1",
        "the last step of a loop lost",
    ),
    Operator(
        "loop steps far", "loop", "(for_statement update: (assignment_expression right: (_) @site))", "({site}) + 1",
        "a loop with another step",
    ),
    Operator(
        "index + 1", "index", "(subscript_expression (subscript_argument_list (_) @site))", "({site}) + 1",
        "the adjacent element",
    ),
    Operator(
        "first term of an index", "index",
        '(subscript_argument_list (binary_expression left: (_) @a operator: "+" right: (_) @b) @site)', "{a}",
        "an index without its last term",
    ),
    Operator(
        "last term of an index", "index",
        '(subscript_argument_list (binary_expression left: (_) @a operator: "+" right: (_) @b) @site)', "{b}",
        "an index without its first terms",
    ),
    Operator(
        "stride dropped", "index",
        '(subscript_argument_list [(binary_expression left: (_) @a operator: "*" right: (_)) @site'
        ' (binary_expression left: (binary_expression left: (_) @a operator: "*" right: (_)) @site)])', "{a}",
        "an index without its stride",
    ),
    *(
        Operator(f"{old} to {new}{how}", "dtype", query.format(old), new, "an intermediate of less precision or range")
        for old, new in zip(_NARROWED[::2], _NARROWED[1::2], strict=True)
        for how, query in (("", _DECLARED), (" in a cast", _CAST))
    ),
    Operator(
        "barrier dropped", "barrier",
        f"(expression_statement (call_expression function: (identifier) @f (#any-of? @f {_BARRIERS}))) @site", ";",
        "wavefronts do not wait for each other",
    ),
    Operator(
        "group not synchronised", "barrier",
        '(expression_statement (call_expression function: (field_expression field: (field_identifier) @f'
        ' (#eq? @f "sync")))) @site', ";", "threads of a group do not wait for each other",
    ),
    Operator(
        "mask halved", "mask",
        f'(call_expression function: (identifier) @f (#match? @f "{_LANES}.*_sync$")'
        " arguments: (argument_list . (_) @site))", "({site}) >> 1", "a lane is missing from the mask",
    ),
    Operator(
        "lane beside it", "mask",
        f'(call_expression function: (identifier) @f (#match? @f "{_LANES}.*_sync$")'
        ' arguments: (argument_list . (_) . "," . (_) . "," . (_) @site))', "({site}) + 1", "a value of another lane",
    ),
    Operator(
        "lane beside it, without a mask", "mask",
        '(call_expression function: (identifier) @f (#match? @f "^__shfl(_xor|_up|_down)?$")'
        ' arguments: (argument_list . (_) . "," . (_) @site))', "({site}) + 1", "a value of another lane",
    ),
    Operator(
        "NaN not asked for", "special",
        '(call_expression function: [(identifier) @f (qualified_identifier name: (identifier) @f)]'
        ' (#match? @f "^_*h?(isnan|isinf)")) @site', "false", "NaN or infinity taken for a number",
    ),
    Operator(
        "all taken for finite", "special",
        '(call_expression function: [(identifier) @f (qualified_identifier name: (identifier) @f)]'
        ' (#match? @f "^isfinite")) @site', "true", "NaN and infinity taken for numbers",
    ),
    Operator(
        "maximum by comparison", "special",
        '(call_expression function: [(identifier) @f (qualified_identifier name: (identifier) @f)]'
        ' (#match? @f "^(f?maxf?|maximum|__hmax.*)$") arguments: (argument_list . (_) @a . "," . (_) @b .)) @site',
        "(({a}) > ({b}) ? ({a}) : ({b}))", "a maximum that does not heed NaN",
    ),
    Operator(
        "minimum by comparison", "special",
        '(call_expression function: [(identifier) @f (qualified_identifier name: (identifier) @f)]'
        ' (#match? @f "^(f?minf?|minimum|__hmin.*)$") arguments: (argument_list . (_) @a . "," . (_) @b .)) @site',
        "(({a}) < ({b}) ? ({a}) : ({b}))", "a minimum that does not heed NaN",
    ),
    Operator(
        "NaN and infinity to 0", "special", '((identifier) @site (#any-of? @site "NAN" "INFINITY" "HUGE_VALF"))', "0",
        "a special value lost",
    ),
    Operator("if always", "condition", _IF, "true", "a condition lost"),
    Operator("if never", "condition", _IF, "false", "a branch lost"),
    Operator(
        "first choice always", "condition", "(conditional_expression condition: (_) @site)", "true", "a choice lost"
    ),
    Operator(
        "second choice always", "condition", "(conditional_expression condition: (_) @site)", "false", "a choice lost"
    ),
    Operator(
        "arguments swapped", "argument", '(argument_list (_) @a . "," . (_) @b)', "{b}, {a}",
        "two arguments of a call in each other's place",
    ),
    Operator(
        "assignment dropped", "statement", "(expression_statement (assignment_expression)) @site", ";",
        "a result that is not kept",
    ),
)  # fmt: skip

_OPTIONAL = re.compile(r"\(\?:dual_\|pk_\)\?|\(\?:pk_\)\?|[xk]\?|\(\?:lt\|le\|gt\|ge\)_")
"""Parts of a pattern that are omitted from the operator's name."""


def _opcodes(kind: str, says: str, rows: str) -> tuple[Operator, ...]:
    """Return operators that replace opcodes. Row: prefix, old, what follows, new, and "both" if reversible."""
    found = []
    for row in filter(None, map(str.strip, rows.splitlines())):
        begin, one, end, other, *both = row.split()
        end = end.replace(r"\b", r"(?:_e|_dpp|_sdwa|\s|$)")  # the end of a name, except for the suffix of an encoding
        for old, new in ((one, other), (other, one))[: 1 + len(both)]:
            name = f"{_OPTIONAL.sub('', begin)}{old} to {new}"
            found.append(Operator(name, kind, rf"^({begin}){old}(?={end})", rf"{{1}}{new}", says))
    return tuple(found)


# Excludes the offset of a scalar load (hexadecimal, last, after a register pair), whose low two bits are ignored.
_IMMEDIATE = r"(?<=, )(?!(?<=\], )0x[0-9a-f]+$)(-?\d+|0x[0-9a-f]+)(?=$|, | (?!quad_perm|row_))"
_VECTOR = r"v_(?!cmp|cndmask|readfirstlane|readlane|writelane|permlane|mov_b32_dpp|mbcnt)\w+"
_SCALAR = r"s_(?!load|store|buffer|cbranch|setpc|swappc|getpc|waitcnt|and_saveexec|or_saveexec)\w+"
_REGISTER = r"(?:\d+|\[\d+:\d+\])"

#: Faults in single instructions of the listing.
INSTRUCTIONS: tuple[Operator, ...] = (
    *_opcodes("opcode", "an opcode in the place of its sibling", r"""
        v_(?:dual_|pk_)?  add    _(?:f16|f32|nc_u16|nc_u32|co_u32|u32)\b  sub both
        v_                sub_co_ci  _u32                   add_co_ci both
        v_(?:dual_|pk_)?  mul    _f(?:16|32|64)             add
        v_                add    _f64                       mul
        v_(?:pk_)?        max    _                          min both
        v_                max3   _                          min3 both
        v_                mul_lo _u32                       mul_hi both
        v_                and    _b32                       or  both
        v_                xor    _b32                       or
        v_                and_or _b32                       lshl_or both
        v_                or3    _b32                       xor3
        v_                lshl_add _u32                     add_lshl
        v_                lshlrev _b(?:16|32|64)            lshrrev both
        v_                ashrrev_i32 \b                    lshrrev_b32
        v_                bfe_u  32                         bfe_i both
        v_                rcp    _f(?:16|32|64)             rsq both
        v_                sqrt   _f(?:16|32|64)             rsq
        v_                exp    _f(?:16|32)                log both
        v_                sin    _f(?:16|32)                cos both
        v_                floor  _f(?:16|32|64)             ceil both
        v_                rndne  _f(?:16|32|64)             trunc both
        v_cvt_            f32_i32  \b|_                     f32_u32 both
        v_cvt_            f64_u32  \b|_                     f64_i32 both
        v_cvt_            u32_f32  \b|_                     i32_f32 both
        s_                add    _[iu]32                    sub both
        s_                addc   _u32                       subb both
        s_                and    _b(?:32|64)                or  both
        s_                xor    _b(?:32|64)                or
        s_                and_not1  _b(?:32|64)             and
        s_                and_saveexec  _b                  or_saveexec
        s_                lshl   _b(?:32|64)                lshr both
        s_                ashr   _i(?:32|64)                lshl
        s_                max    _[iu]32                    min both
        s_                mul_i32  \b                       mul_hi_u32 both
        ds_               add    _                          sub
        ds_               max    _                          min both
        global_atomic_    add    _                          sub
        global_atomic_    max    _                          min both
    """),
    *_opcodes("comparison", "a comparison that is off at its boundary, inverted, or of another sign", r"""
        v_cmpx?_          lt     _                          le  both
        v_cmpx?_          gt     _                          ge  both
        v_cmpx?_          eq     _[iu]                      ne  both
        v_cmpx?_          nlt    _                          nle both
        v_cmpx?_          ngt    _                          nge both
        v_cmpx?_          u      _f                         o   both
        v_cmpx?_(?:lt|le|gt|ge)_  u  \d                     i   both
        s_cmpk?_          lt     _                          le  both
        s_cmpk?_          gt     _                          ge  both
        s_cmpk?_          eq     _                          lg  both
        s_cmpk?_(?:lt|le|gt|ge)_  u  \d                     i   both
    """),
    *_opcodes("branch", "a branch that is taken in the other case", r"""
        s_cbranch_        scc0   \b                         scc1 both
        s_cbranch_        vccz   \b                         vccnz both
    """),
    *_opcodes("width", "memory of another width or sign", r"""
        global_load_      u8     \b|_                       i8  both
        global_load_      ubyte  \b|_                       sbyte both
        global_load_      u16    \b                         u8
        global_load_      ushort \b                         ubyte
        global_store_     b16    \b                         b8
        global_store_     short  \b                         byte
        global_store_     b32    \b                         b16
        global_store_     dword  \b                         short
        ds_store_         b32    \b                         b16
        ds_write_         b32    \b                         b16
    """),
    Operator("immediate + 1", "immediate", _IMMEDIATE, "{1:+1}", "a constant too large"),
    Operator("immediate - 1", "immediate", _IMMEDIATE, "{1:-1}", "a constant too small"),
    Operator(
        "float doubled", "immediate", r"(?<=, )(-?(?:0\.5|1\.0|2\.0|4\.0))(?=$|, | )", "{1:next}",
        "another inline constant",
    ),
    Operator("offset + 4", "offset", r"(?<=offset:)(-?\d+)", "{1:+4}", "an address that is off by 4"),
    Operator("scalar offset + 4", "offset", r"^(s_load_\w+ .*, )(0x[0-9a-f]+)$", "{1}{2:+4}", "the adjacent argument"),
    Operator("offset dropped", "offset", r" offset:-?\d+", "", "an address without its offset"),
    Operator(
        "operand to 0", "operand", rf"^({_VECTOR} \S+, )(-?\|?[vs]{_REGISTER}\|?)(?=, )", "{1}0", "an operand dropped",
    ),
    Operator(
        "last operand to 0", "operand", rf"^({_VECTOR} \S+,(?: \S+,)? )(-?\|?[vs]{_REGISTER}\|?)(?=$)", "{1}0",
        "an operand dropped",
    ),
    Operator(
        "scalar operand to 0", "operand", rf"^({_SCALAR} s\S+, )(s{_REGISTER})(?=, )", "{1}0", "an operand dropped",
    ),
    Operator(
        "operands swapped", "operand",
        r"^(v_(?:cndmask|sub|lshlrev|lshrrev|ashrrev|subrev)_\w+ \S+, )([^,]+), ([^, ]+)", "{1}{3}, {2}",
        "two operands in each other's place",
    ),
    Operator(
        "scalar operands swapped", "operand",
        r"^(s_(?:cselect|sub|lshl|lshr|ashr|and_not1)_\w+ \S+, )([^,]+), ([^, ]+)", "{1}{3}, {2}",
        "two operands in each other's place",
    ),
    Operator("- dropped", "modifier", r"(?<=, )-(?=[|vs])", "", "a sign lost"),
    Operator("|| dropped", "modifier", r"\|(\w+(?:\[[\d:]+\])?)\|", "{1}", "an absolute value lost"),
    Operator("clamp dropped", "modifier", r" clamp\b", "", "a result that is not clamped"),
    Operator("op_sel dropped", "modifier", r" op_sel:\[[01,]+\]", "", "the other half of a register"),
    Operator("neg dropped", "modifier", r" neg_(?:lo|hi):\[[01,]+\]", "", "a sign lost"),
    Operator(
        "lane beside it", "lane", r"(row_(?:shr|shl|ror|share|xmask):)(\d+)", "{1}{2:+1}", "a value of another lane"
    ),
    Operator(
        "quad permuted otherwise", "lane", r"quad_perm:\[(\d),(\d),(\d),(\d)\]", "quad_perm:[{2},{1},{3},{4}]",
        "a value of another lane",
    ),
    Operator("rows masked", "lane", r"row_mask:0xf", "row_mask:0xe", "lanes left out"),
    Operator("half rows not swapped", "lane", r"^v_permlanex16", "v_permlane16", "a value of another lane"),
    Operator("barrier dropped", "barrier", r"^s_barrier\b.*", "s_nop 0", "wavefronts do not wait for each other"),
    Operator("wait dropped", "wait", r"^s_wait\w*cnt\w* .*", "s_nop 0", "a value is used before it has arrived"),
)  # fmt: skip

_NUMBER = re.compile(r"(?P<sign>-?)(?P<digits>0[xX][0-9a-fA-F]+|0[bB][01]+|\d+)(?P<suffix>[uUlL]*)$")
_REAL = re.compile(r"(?P<digits>-?(?:\d+\.\d*|\.\d+|\d+(?=[eE]))(?:[eE][+-]?\d+)?)(?P<suffix>\w*)$")
_NEXT = {"0.5": "1.0", "1.0": "2.0", "2.0": "4.0", "4.0": "2.0"}


class CapturedText(str):
    """A captured text that supports the formats ``+N``, ``-N`` and ``next`` for numbers.

    Raises:
        ValueError: The text is not a number, or the new number does not fit.
    """

    def __format__(self, how: str) -> str:
        if not how:
            return str(self)
        if how == "next":
            sign = "-" * self.startswith("-")
            return sign + _NEXT[self.removeprefix("-")]
        if number := _NUMBER.match(self):
            digits = number["digits"].lower()
            value = int(number["sign"] + digits, 0 if digits.startswith(("0x", "0b")) else 10)
            value += int(how)
            if value < 0 and "u" in number["suffix"].lower():
                raise ValueError(f"{value} has a sign")
            shown = f"{value:#x}" if "x" in digits else str(value)
            return shown + number["suffix"]
        if real := _REAL.match(self):
            known = float(real["digits"])
            changed = known * (1 + int(how) / 1024) if known else int(how) / 1024
            return f"{changed!r}{real['suffix']}"
        raise ValueError(f"{self!r} is not a number")


def fill_replacement(replacement: str, groups: dict[str, str]) -> str:
    """Fill the captured texts into a replacement.

    Raises:
        ValueError: A number cannot be changed in the requested way.
    """
    return re.sub(
        r"\{(\w+)(?::([^{}]*))?\}", lambda found: format(CapturedText(groups[found[1]]), found[2] or ""), replacement
    )
