"""Guards of the pipelines `relay-opt-level-*`: what several scopes use has a name, and stays as it is from then on."""

from guards.passes import Build, GuardTable, program

LEVELS = tuple(GuardTable(f"relay-opt-level-{level}", expects="+let") for level in (1, 2, 3))
TABLES = LEVELS

T = "tensor<2xf32>"


def branches(*lines: str, taken: str, other: str, returned: str = "%r") -> Build:
    """A program of %x, whose result %r is that of one line or another; %p decides, and `%a = f %b` is of one type."""
    results = ", ".join([T] * len(returned.split(",")))
    return program(
        f"func.func @main(%x: {T}, %c: tensor<i1>) -> ({results}) {{",
        *map(typed, lines),
        "%p = tensor.extract %c[] : tensor<i1>",
        f"%r = scf.if %p -> ({T}) {{",
        *map(typed, taken.split("; ")),
        f"scf.yield %t : {T}",
        "} else {",
        *map(typed, other.split("; ")),
        f"scf.yield %e : {T}",
        "}",
        f"func.return {returned} : {results}",
        "}",
    )


def typed(line: str) -> str:
    """A line with types, unless it has some."""
    target, _, call = line.partition(" = ")
    operands = ", ".join([T] * call.count("%"))
    return line if ":" in line else f"{target} = relay.{call} : ({operands}) -> {T}"


PAIR = f"tuple<{T}, {T}>"
FIRST = f"relay.tuple_get_item %pair[0] : ({PAIR}) -> {T}"

for table in LEVELS:
    table.changes(
        "a value that both branches use",
        branches("%a = exp %x", taken="%t = tanh %a", other="%e = sqrt %a"),
    )
    table.changes(
        "a value that the scope itself uses",
        branches("%a = exp %x", taken="%t = tanh %a", other="%e = sqrt %a", returned="%r, %a"),
        expects="!let",
    )
for table in LEVELS[1:]:
    table.changes(
        "a field of a tuple, which becomes what the tuple holds",
        branches(
            "%a = exp %x",
            f"%pair = relay.tuple %a, %x : ({T}, {T}) -> {PAIR}",
            f"%second = relay.tuple_get_item %pair[1] : ({PAIR}) -> {T}",
            taken=f"%f = {FIRST}; %t = tanh %f",
            other=f"%g = {FIRST}; %e = sqrt %g",
            returned="%r, %second",
        ),
    )
LEVELS[-1].changes(
    "equal operations of a scope and one within",
    branches("%a = exp %x", taken="%t = tanh %a", other="%b = exp %x; %e = sqrt %b"),
    expects="+let -exp",
)
LEVELS[-1].changes(
    "names of one value that algebra makes equal",
    program(
        f"func.func @main(%x: {T}) -> ({T}, {T}) {{",
        typed("%y = sin %x"),
        f"%pair = relay.tuple %y, %y : ({T}, {T}) -> {PAIR}",
        f"%f = {FIRST}",
        f"%a = relay.let %y : ({T}) -> {T}",
        f"%b = relay.let %f : ({T}) -> {T}",
        typed("%e = exp %a"),
        typed("%t = tanh %b"),
        f"func.return %e, %t : {T}, {T}",
        "}",
    ),
    expects="-let",
)
# A parameter has a name: the second is one of the first, and what is used is the last.
LEVELS[-1].changes(
    "names of a parameter that algebra makes equal",
    program(
        f"func.func @main(%x: {T}) -> ({T}, {T}) {{",
        f"%pair = relay.tuple %x, %x : ({T}, {T}) -> {PAIR}",
        f"%f = {FIRST}",
        f"%a = relay.let %x : ({T}) -> {T}",
        f"%b = relay.let %f : ({T}) -> {T}",
        typed("%e = exp %a"),
        typed("%t = tanh %b"),
        f"func.return %e, %t : {T}, {T}",
        "}",
    ),
    expects="~let +fused",
)
