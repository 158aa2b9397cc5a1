"""Guards of passes on functions as values: `lambda-lift`, `defunctionalization`, `partial-eval`."""

from guards.passes import Build, GuardTable
from xrelay.frontends.relay_text import read_relay_text

T = "Tensor[(2), float32]"
LIFT = GuardTable("lambda-lift", units=0)
DATA = GuardTable("defunctionalization", units=0)
KNOWN = GuardTable("partial-eval", units=0)
TABLES = (LIFT, DATA, KNOWN)


def body(*lines: str, parameters: str = "", others: str = "") -> Build:
    """A program whose main function of %x and more parameters has this body."""
    more = f", {parameters}" if parameters else ""
    text = "\n".join((others, f"def @main(%x: {T}{more}) {{", *lines, "}"))
    return lambda _: read_relay_text(text)


TWICE = f"def @twice(%f: fn ({T}) -> {T}, %y: {T}) -> {T} {{ %f(%f(%y)) }}"
ONCE = f"def @once(%y: {T}) -> {T} {{ exp(%y) }}"
OWN = f"let %f = fn (%y: {T}) {{ exp(%y) }};"
OUTER = f"let %f = fn (%y: {T}) {{ subtract(%x, %y) }};"

LIFT.changes("a literal of its own", body(OWN, "%f(%x)"), expects="-closure +func.func")
LIFT.changes("what it uses from outside", body(OUTER, "%f(%x)"), expects="~closure +func.func")
LIFT.changes(
    "a literal as an argument",
    body(OWN, "@twice(%f, %x)", others=TWICE),
    expects="-closure +global_var",
)
LIFT.keeps("no literal", body("exp(%x)"))
LIFT.keeps("functions of the module", body("@twice(@once, %x)", others=f"{TWICE}\n{ONCE}"))
LIFT.keeps("the function of a fused group", body(f"fn (%y: {T}, Primitive=1) {{ exp(%y) }}(%x)"))

DATA.changes(
    "a literal as an argument",
    body(OWN, "@twice(%f, %x)", others=TWICE),
    expects="-closure +match",
)
DATA.changes(
    "with an environment",
    body(OUTER, "@twice(%f, %x)", others=TWICE),
    expects="-closure +construct",
)
DATA.changes(
    "a function of the module as a value",
    body("@twice(@once, %x)", others=f"{TWICE}\n{ONCE}"),
    expects="-global_var",
)
DATA.changes(
    "of a type that is defined elsewhere",
    body(
        f"let %f = fn (%b: Box[{T}]) {{ exp(%x) }};",
        "@keep(%f, %x)",
        others=f"extern type Box[A]\ndef @keep(%f: fn (Box[{T}]) -> {T}, %y: {T}) -> {T} {{ %y }}",
    ),
    expects="-closure +construct",
)
DATA.changes(
    "a primitive function as an argument",
    body(f"let %f = fn (%y: {T}, Primitive=1) {{ exp(%y) }};", "@twice(%f, %x)", others=TWICE),
    expects="-closure +match",
)
DATA.keeps("calls by name", body("@once(@once(%x))", others=ONCE))
DATA.keeps("no functions", body("exp(%x)"))

KNOWN.changes("operators on constants", body("let %a = exp(2f);", "add(%x, %a)"), expects="-exp")
KNOWN.changes(
    "operators on parameters", body("let %a = exp(%x);", "add(%x, %a)"), expects="~exp ~add"
)
KNOWN.changes(
    "a known branch", body("if (True) { exp(%x) } else { tanh(%x) }"), expects="-scf.if -tanh"
)
KNOWN.changes(
    "an unknown branch",
    body("if (%c) { exp(%x) } else { tanh(%x) }", parameters="%c: bool"),
    expects="~scf.if ~tanh",
)
KNOWN.changes("a known function", body(OUTER, "%f(%x)"), expects="-apply +subtract")
KNOWN.changes(
    "an unknown function",
    body(
        f"let %f = if (%c) {{ fn (%y: {T}) {{ exp(%y) }} }} else {{ fn (%y: {T}) {{ tanh(%y) }} }};",
        "%f(%x)",
        parameters="%c: bool",
    ),
    expects="~apply",
)
KNOWN.changes(
    "a known field", body("let %t = (%x, 1f);", "add(%t.0, %t.1)"), expects="-tuple_get_item"
)
KNOWN.changes(
    "an unknown field",
    body("add(%t.0, %t.1)", parameters=f"%t: ({T}, {T})"),
    expects="~tuple_get_item",
)
KNOWN.changes(
    "a known cell",
    body("let %r = ref(%x);", "let %u = ref_write(%r, exp(%x));", "ref_read(%r)"),
    expects="-ref_read",
)

MUTUAL = """
def @even(%n: int32, %y: float32) -> float32 {
  if (equal(%n, 0)) { %y } else { exp(@odd(subtract(%n, 1), %y)) }
}
def @odd(%n: int32, %y: float32) -> float32 {
  if (equal(%n, 0)) { negative(%y) } else { tanh(@even(subtract(%n, 1), %y)) }
}"""
MUTUAL_ON_LISTS = """
type List { Cons(float32, List), Nil, }
def @sums(%l: List, %y: float32) -> float32 {
  match (%l) { Cons(%h, %t) => { add(%h, @products(%t, %y)) }, Nil => { %y } }
}
def @products(%l: List, %y: float32) -> float32 {
  match (%l) { Cons(%h, %t) => { multiply(%h, @sums(%t, %y)) }, Nil => { %y } }
}"""

KNOWN.changes(
    "functions that call each other a known number of times",
    body("multiply(%x, @even(5, sum(%x)))", others=MUTUAL),
    expects="+tanh +exp",
)
KNOWN.changes(
    "and an unknown number of times",
    body(
        "multiply(%x, @even(%n, sum(%x)))",
        parameters="%n: Tensor[(), int32]",
        others=MUTUAL.replace("equal(%n, 0)", "less(%n, 1)").replace(
            "subtract(%n, 1)", "right_shift(%n, 8)"
        ),
    ),
    expects="~func.call +scf.if",
    settles=False,  # Each run opens a round more.
)
KNOWN.changes(
    "functions that call each other on a list of known length",
    body("multiply(%x, @sums(Cons(sum(%x), Cons(2f, Nil)), 3f))", others=MUTUAL_ON_LISTS),
    expects="+multiply +add",
)
