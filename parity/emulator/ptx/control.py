"""Branches, calls, barriers, and operations of all threads of a warp."""

from __future__ import annotations

from collections.abc import Callable

from parity.emulator.instruction import MissingFeature, Unknown
from parity.emulator.ptx.basic_blocks import BlockRange
from parity.emulator.ptx.instruction_table import REFUSED
from parity.emulator.ptx.operands import integer_literal, split_results
from parity.emulator.ptx.operation import Operation
from parity.emulator.ptx.translation import END, call_slots, label_name


def _bra(o: Operation, words: list[str]) -> None:
    target = label_name(o.function, o.item.operands[0])
    if o.item.operands[0] not in o.function.labels:
        raise Unknown(f"label {o.item.operands[0]}")
    to = f"N({o.n(target)})"
    back = target in o.whole.places
    check = f"if (left < 0 && exhausted_warp(t, left, {o.here})) return 1;" if back else ""
    guard = o.guard
    if not guard:
        o.step(f"{o.counted} {check} GO_TOGETHER({to});")
        return
    o.step(
        o.counted,
        f"const Mask taken = exec & {guard};",
        o.note("taken", "taken != 0"),
        o.note("not taken", "taken != exec"),
        "if (!taken) GO_TOGETHER(NEXT);",
        check,
        f"if (taken == exec) GO_TOGETHER({to});",
        f"GO_APART(taken, {to});",
    )


def _ways(o: Operation, words: list[str]) -> None:
    """Evaluate the condition of converted branches (``if_conversion``); count and note the blocks of their ways."""
    target, among, condition, *sizes = o.item.operands
    there = o.predicate(target)
    lines = [
        o.counted,
        f"const Mask on = exec & {o.predicate(among)}, taken = on & {o.predicate(condition)};",
        f"{there} = ({there} & ~exec) | taken;",
        o.note("taken", "taken != 0"),
        o.note("not taken", "taken != on"),
    ]
    first = o.whole.number + 1
    for size, threads in zip(map(int, sizes), ("exec & ~taken", "taken"), strict=True):
        if size:
            lines.append(f"if ({threads}) {{ {o.whole.ended(BlockRange(size, first), o.numbers)} }}")
        first += size
    o.step(*lines)


def _brx(o: Operation, words: list[str]) -> None:
    """An indexed branch: each thread parks at the label of its index."""
    index, table = o.item.operands
    here = o.n(o.whole.number)
    labels = o.function.tables.get(table)
    if labels is None:
        raise Unknown(f"table {table}")
    lines = [
        f"{o.counted} if (left < 0 && exhausted_warp(t, left, HERE({here}))) return 1;",
        "{", f"const V<u32> index = {o.source(index, 'u32')}; const Mask on = exec;",
    ]  # fmt: skip
    for i, to in enumerate(labels):
        lines.append(f"if (const Mask m = on & holds(index == {i}u)) park(t, m, N({o.n(label_name(o.function, to))}));")
    o.step(*lines, "}", f"exec = 0; GO_RESUMED({here});")


def _exit(o: Operation, words: list[str]) -> None:
    if o.item.mnemonic.startswith("ret") and not o.function.entry:
        _return(o)
        return
    here = o.n(o.whole.number)
    guard = o.guard
    o.step(
        o.counted,
        f"exec &= ~({guard or 'ALL'}), t->scalar[BLOCKED] = 0, t->scalar[AT_BARRIER] = 0;",
        "if (!exec) {",
        f"if (t->scalar[PARKED]) GO_RESUMED({here});",
        END,
        "}",
    )


def _return(o: Operation) -> None:
    here = o.n(o.whole.number)
    at = f"R(u32, {o.n(o.whole.returns[o.function.name])})"
    o.step(
        o.counted,
        "{",
        f"const Mask on = {o.on};",
        f"park_each(t, on, {at}), exec &= ~on;",
        "}",
        f"if (!exec) GO_RESUMED({here});",
    )


def _call(o: Operation, words: list[str]) -> None:
    name, arguments, _ = call_slots(o.whole, o.item)
    if o.item.modifiers:
        raise MissingFeature("calls under a guard")
    if name in ("vprintf", "__assertfail"):
        slots = list(arguments.values())[: 2 if name == "vprintf" else 4]
        wide = [f"R(u64, {o.n(slot)})" for slot in slots]
    if name in ("malloc", "free"):
        value = f"R(u64, {o.n(next(iter(arguments.values())))})"
        if name == "malloc":
            o.step(f"{o.counted} put({value}, exec, allocate(t->c, exec, {value}));")
        else:
            o.step(f"{o.counted} if (release(t->c, exec, {value}, {o.here})) return 1;")
        return
    if name == "vprintf":
        o.step(f"{o.counted} if (print(t, exec, {wide[0]}, {wide[1]}, {o.here})) return 1;")
        return
    if name == "__assertfail":
        line = f"R(u32, {o.n(slots[2])})"
        o.step(
            f"{o.counted} if (failed_assertion(t, exec, {wide[0]}, {wide[1]}, {line}, {wide[3]}, {o.here})) return 1;"
        )
        return
    if name in o.function.registers:
        raise MissingFeature("calls through pointers to functions")
    if name not in o.whole.functions:
        raise MissingFeature(REFUSED.get(name, f"the function {name}, which the module declares but does not define"))
    here = o.n(o.whole.number)
    at = f"R(u32, {o.n(o.whole.returns[name])})"
    o.step(
        f"{o.counted} if (left < 0 && exhausted_warp(t, left, HERE({here}))) return 1;",
        f"put({at}, exec, all((u32)NEXT));",
        f"GO_TOGETHER(N({o.n(name)}));",
    )


def _bar(o: Operation, words: list[str]) -> None:
    """Barriers of a block or of a warp."""
    if "warp" in words:
        members = o.source(o.item.operands[0], "b32")
        synchronized_step(o, members, "ordered(c);")
        return
    if "cluster" in words:
        raise MissingFeature("clusters of blocks")
    votes = "red" in words
    if "arrive" in words:
        raise MissingFeature("barriers at which some threads do not wait (bar.arrive)")
    target, number, *rest = o.item.operands if votes else ("", *(o.item.operands or ("0",)))
    predicate = rest.pop() if votes else ""
    if rest:
        raise MissingFeature("barriers of a number of threads")
    if integer_literal(number) != 0:
        raise MissingFeature("named barriers other than barrier 0")
    _guard_before(o)
    here = o.n(o.whole.number)
    lines = [
        f"if (!all_here(t, SELF)) GO_RESUMED({here});",
        f"barrier_votes(t, {o.predicate(predicate)});" if votes else "",
        f"c->budget = left; if (barrier(c, exec, HERE({here}))) return 1; left = c->budget;",
    ]
    if votes:
        lines.append("{ const Mask on = exec; const u32 n = barrier_count(t);")
        if "popc" in words:
            lines.append(o.result(target, "u32", "all(n)"))
        else:
            every = "n == launched(c, 0) * launched(c, 1) * launched(c, 2)"
            lines.append(o.decide(target, f"{every if 'and' in words else 'n != 0'} ? ALL : 0"))
        lines.append("}")
    o.step(*lines)


def synchronized_step(o: Operation, members: str, *lines: str) -> None:
    """Emit a step that runs once all threads in the mask ``members`` have arrived at it."""
    here = o.here
    begin = [
        f"if (scattered(t, {members})) {{ gathered(t, SELF, {members}, {here}); if (c->fault) return 1; }}",
        f"if (!exec) GO_RESUMED({o.n(o.whole.number)});",
    ]
    o.step(*begin, "{ const Mask on = exec;", *lines, "}")


def _members(o: Operation, operand: str) -> str:
    """Return the threads in the last operand of an exchange, as C++. A literal for all threads gives a constant."""
    return "all(ALL)" if o.bits(operand, "b32") == 0xFFFFFFFF else o.source(operand, "b32")


def _guard_before(o: Operation) -> None:
    """Let only threads for which the guard holds execute the operation; other threads skip it."""
    if not o.item.modifiers:
        return
    o.step(f"ONLY({o.guard});")


def _exchange(emit: Callable[[Operation, list[str], str], list[str]]) -> Callable[[Operation, list[str]], None]:
    """Return a function that emits an exchange among the threads that the last operand names, ``members`` in C++."""

    def emit_step(o: Operation, words: list[str]) -> None:
        _guard_before(o)
        members = _members(o, o.item.operands[-1])
        synchronized_step(o, members, *emit(o, words, members))

    return emit_step


def _shfl(o: Operation, words: list[str], members: str) -> list[str]:
    if "sync" not in words:
        raise MissingFeature("exchanges of threads without a mask (shfl), which GPUs since Volta do not have")
    target, a, b, c, _ = o.item.operands
    mode = words[1].upper()
    first, valid = split_results(target)
    lane = o.bits(b, "b32")
    if mode == "BFLY" and lane is not None and lane < 32 and o.bits(c, "b32") == 31:
        value = f"crossed<{lane}>(t, on, {o.source(a, 'b32')}, {members}, {o.here})"
        exchange = f"const Mask valid = on; const V<u32> r = {value};"
    else:
        values = [o.source(each, "b32") for each in (a, b, c)]
        value = f"shuffled<{mode}>(t, on, {', '.join(values)}, {members}, &valid, {o.here})"
        exchange = f"Mask valid; const V<u32> r = {value};"
    return [exchange, o.result(first, "b32", "r"), o.decide(valid, "valid")]


def _vote(o: Operation, words: list[str], members: str) -> list[str]:
    if "sync" not in words:
        raise MissingFeature("votes of threads without a mask (vote), which GPUs since Volta do not have")
    target, p, _ = o.item.operands
    count = f"const V<u32> ayes = voted(on, {o.predicate(p)}, {members}), here = voted(on, ALL, {members});"
    if "ballot" in words:
        return [count, o.result(target, "b32", "ayes")]
    value = {"all": "ayes == here", "any": "ayes != 0u", "uni": "bools(ayes == here) | bools(ayes == 0u)"}[words[1]]
    return [count, o.decide(target, f"holds({value})")]


def _match(o: Operation, words: list[str], members: str) -> list[str]:
    target, a, _ = o.item.operands
    first, valid = split_results(target)
    equal = f"const V<u32> equal = matched(on, to<u64>({o.source(a, words[-1])}), {members});"
    if "any" in words:
        return [equal, o.result(first, "b32", "equal")]
    every = f"const V<u32> here = voted(on, ALL, {members}); const Mask every = holds(equal == here);"
    return [equal, every, o.result(first, "b32", "sel(every, here, all(0u))"), o.decide(valid, "every")]


def _redux(o: Operation, words: list[str], members: str) -> list[str]:
    target, a, _ = o.item.operands
    type_ = words[-1]
    kind = next(word for word in words if word in ("add", "min", "max", "and", "or", "xor"))
    op = f"R_{kind.upper()}" + (f"_{type_[0].upper()}" if kind in ("min", "max") else "")
    if type_ == "f32":
        raise Unknown(f"instruction {o.item.mnemonic}")
    return [o.result(target, "b32", f"reduced(on, as<u32>({o.source(a, type_)}), {members}, {op})")]


def _elect(o: Operation, words: list[str], members: str) -> list[str]:
    first, valid = split_results(o.item.operands[0])
    result = o.result(first, "b32", "leader")
    return ["const V<u32> leader = all(first(on));", result, o.decide(valid, "holds(leader == IOTA)")]


def _activemask(o: Operation, words: list[str]) -> None:
    o.guarded(o.result(o.item.operands[0], "b32", "all<u32>(on)"))


def _trap(o: Operation, words: list[str]) -> None:
    o.step(f"{{ const Mask on = {o.on}; if (on) return trap(c, on, {o.here}); }}")


CONTROL: dict[str, Callable[[Operation, list[str]], None]] = {
    "bra": _bra, "ways": _ways, "brx": _brx, "ret": _exit, "exit": _exit, "call": _call, "bar": _bar, "barrier": _bar,
    "shfl": _exchange(_shfl), "vote": _exchange(_vote), "match": _exchange(_match), "redux": _exchange(_redux),
    "elect": _exchange(_elect), "activemask": _activemask, "trap": _trap,
}  # fmt: skip
