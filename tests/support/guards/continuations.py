"""Guards of `to-cps` and `un-cps`."""

from guards.functional import ONCE, OUTER, OWN, TWICE, Build, T, body
from guards.passes import GuardTable, program

CPS = GuardTable("to-cps", units=0, after="un-cps", settles=False)
DIRECT = GuardTable("un-cps", units=0)
TABLES = (CPS, DIRECT)

FOREIGN = f'def @foreign(%y: {T}, Compiler="a") -> {T} {{ exp(%y) }}'
FUSED = f"let %f = fn (%y: {T}, Primitive=1) {{ exp(%y) }};"
BOX = "type Box { Full(float32), Empty, }"

CPS.changes("operators", body("exp(%x)"), expects="+apply !closure")
CPS.changes("a call at the end", body("@once(%x)", others=ONCE), expects="-func.call !closure")
CPS.changes("a call in between", body("exp(@once(%x))", others=ONCE), expects="-func.call +closure")
CPS.changes(
    "a call of what another compiler takes",
    body("exp(@foreign(%x))", others=FOREIGN),
    expects="~func.call !closure",
)
CPS.changes("a function value at the end", body(OWN, "%f(%x)"), expects="~closure")
CPS.changes("a function value in between", body(OUTER, "exp(%f(%x))"), expects="+closure")
CPS.changes("the function of a fused group", body(FUSED, "exp(%f(%x))"), expects="~closure")
CPS.changes(
    "a function of the module as a value",
    body("@twice(@once, %x)", others=f"{TWICE}\n{ONCE}"),
    expects="+closure +global_var",
)
CPS.changes(
    "another compiler's as a value",
    body("@twice(@foreign, %x)", others=f"{TWICE}\n{FOREIGN}"),
    expects="+closure ~func.call",
)
CPS.changes(
    "a branch at the end",
    body("if (%c) { exp(%x) } else { @once(%x) }", parameters="%c: bool", others=ONCE),
    expects="~scf.if !closure",
)
CPS.changes(
    "a branch in between",
    body("let %y = if (%c) { exp(%x) } else { %x };", "exp(%y)", parameters="%c: bool"),
    expects="~scf.if +closure",
)
CPS.changes(
    "a match in between",
    body(
        "let %b = Full(sum(%x));",
        "let %y = match (%b) { Full(%v) => { %v }, Empty => { 1f } };",
        "multiply(%x, %y)",
        others=BOX,
    ),
    expects="~match +closure",
)
CPS.changes(
    "a constructor as a value",
    body(
        "let %f = Full;",
        "match (%f(sum(%x))) { Full(%v) => { %v }, Empty => { 1f } }",
        others=BOX,
    ),
    expects="-constructor_var +construct +closure",
)
CPS.changes(
    "a branch that is not there",
    program(
        """func.func @main(%x: tensor<2xf32>, %p: tensor<i1>) -> tensor<2xf32> {
          %c = tensor.extract %p[] : tensor<i1>
          %r = relay.ref_create %x : (tensor<2xf32>) -> !relay.ref<tensor<2xf32>>
          scf.if %c {
            %e = relay.exp %x : (tensor<2xf32>) -> tensor<2xf32>
            %u = relay.ref_write %r, %e : (!relay.ref<tensor<2xf32>>, tensor<2xf32>) -> tuple<>
          }
          %v = relay.ref_read %r : (!relay.ref<tensor<2xf32>>) -> tensor<2xf32>
          func.return %v : tensor<2xf32>
        }"""
    ),
    expects="~scf.if +closure",
)
CPS.keeps(
    "a function that another compiler takes",
    program(
        """func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> attributes {Compiler = "a"} {
          func.return %x : tensor<2xf32>
        }"""
    ),
)


def called(function: str, call: str = "%x", header: str = "") -> Build:
    """A program with a function and a main one that does not need it, or calls it."""
    return body(call, others=f"{header}\n{function}")


OWN_END = f"fn (%y: {T}) {{ tanh(%y) }}"
DIRECT.changes(
    "a function in the style",
    called(f"def @f[R](%x: {T}, %k: fn ({T}) -> R) -> R {{ %k(exp(%x)) }}", f"@f(%x, {OWN_END})"),
    expects="+func.func",
)
DIRECT.changes(
    "several results",
    called(
        f"def @f[R](%x: {T}, %k: fn ({T}, {T}) -> R) -> R {{ %k(exp(%x), %x) }}",
        f"@f(%x, fn (%y: {T}, %z: {T}) {{ add(%y, %z) }})",
    ),
    expects="+func.func +tuple",
)
DIRECT.changes(
    "one more type parameter",
    called(
        "def @f[A, R](%x: A, %k: fn (A) -> R) -> R { %k(%x) }",
        f"@f(%x, {OWN_END})",
    ),
    expects="+func.func",
)
DIRECT.changes(
    "its new name is taken",
    called(
        f"def @f[R](%x: {T}, %k: fn ({T}) -> R) -> R {{ %k(exp(%x)) }}",
        f"@f(@f_cps(%x), {OWN_END})",
        f"def @f_cps(%x: {T}) -> {T} {{ %x }}",
    ),
    expects="+func.func",
)
DIRECT.keeps("no continuation", body("@once(%x)", others=ONCE))
DIRECT.keeps("a function as an argument", body("@twice(@once, %x)", others=f"{TWICE}\n{ONCE}"))
DIRECT.keeps("no parameters", called("def @f[R]() -> R { @f() }"))
DIRECT.keeps("no type parameters", called(f"def @f(%k: fn ({T}) -> {T}, %x: {T}) -> {T} {{ %x }}"))
DIRECT.keeps(
    "it returns something else",
    called(f"def @f[R](%x: {T}, %k: fn ({T}) -> R) -> {T} {{ %x }}"),
)
DIRECT.keeps(
    "the continuation is not the last parameter",
    called(f"def @f[R](%k: fn ({T}) -> R, %x: {T}) -> R {{ %k(%x) }}"),
)
DIRECT.keeps(
    "the continuation gives something else",
    called(f"def @f[R](%r: R, %k: fn ({T}) -> {T}) -> R {{ %r }}"),
)
DIRECT.keeps(
    "the continuation takes what it gives",
    called("def @f[R](%r: R, %k: fn (R) -> R) -> R { %k(%r) }"),
)
DIRECT.keeps(
    "the answer is not the last type parameter",
    called("def @f[R, A](%x: A, %k: fn (A) -> R) -> R { %k(%x) }"),
)
_ANSWER = '!relay.type_var<"R">'
_TAKER = f"!relay.fn<(tensor<2xf32>) -> {_ANSWER}>"
_STYLE = f"""(%x: tensor<2xf32>, %k: {_TAKER}) -> {_ANSWER} attributes {{relay.type_params = ["R"]FLAGS}} {{
  %0 = relay.apply %k(%x) : ({_TAKER}, tensor<2xf32>) -> {_ANSWER}
  func.return %0 : {_ANSWER}
}}"""
_MAIN = """func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {
  func.return %x : tensor<2xf32>
}"""
DIRECT.changes("public", program(_MAIN, f"func.func @f{_STYLE.replace('FLAGS', '')}"))
DIRECT.keeps("private", program(_MAIN, f"func.func private @f{_STYLE.replace('FLAGS', '')}"))
DIRECT.keeps(
    "another compiler takes it",
    program(_MAIN, "func.func @f" + _STYLE.replace("FLAGS", ', Compiler = "a"')),
)
