"""Guards of `first-order-gradient` and `lazy-gradient-init`: test_first_order_gradient.py says what gradients are."""

from graphs import BITS

from guards.functional import OUTER, T, body
from guards.passes import GuardTable, program

SLOPE = GuardTable("first-order-gradient", units=0, settles=False)
LAZY = GuardTable("lazy-gradient-init{unsafe=true}", special=False)
SAFE = GuardTable("lazy-gradient-init", units=BITS)
TABLES = (LAZY, SAFE, SLOPE)

TWO = f"%y: {T}"

SLOPE.changes("a product", body("multiply(%x, %y)", parameters=TWO), expects="+multiply")
SLOPE.changes(
    "a parameter that nothing uses", body("exp(%x)", parameters=TWO), expects="+zeros_like"
)
SLOPE.changes(
    "what is rounded",
    body('cast(cast(%x, dtype="int32"), dtype="float32")'),
    expects="+zeros_like ~cast",
)
SLOPE.changes("what is compared", body("greater(%x, %y)", parameters=TWO), expects="+zeros_like")
SLOPE.changes("integers", body("%i", parameters="%i: Tensor[(2), int32]"), expects="+zeros_like")
SLOPE.changes(
    "what has no rule and is of constants",
    body("multiply(%x, rsqrt(2f))"),
    expects="~rsqrt +multiply",
)
SLOPE.changes("a name", body("let %y = exp(%x);", "exp(%y)"), expects="-let")
SLOPE.changes(
    "the function of a fused group",
    body(f"fn (%y: {T}, Primitive=1) {{ exp(%y) }}(%x)"),
    expects="-fused|-apply +multiply",
)
SLOPE.changes("a literal that is called", body(OUTER, "%f(%x)"), expects="-apply")
SLOPE.changes(
    "a branch",
    body("if (%c) { exp(%x) } else { %x }", parameters="%c: Tensor[(), bool]"),
    expects="+scf.if",
)
SLOPE.changes(
    "tuples",
    body("let %t = (%x, exp(%x));", "add(%t.0, %t.1)"),
    expects="+tuple",
)
SLOPE.keeps(
    "another compiler takes it",
    program(
        """func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> attributes {Compiler = "a"} {
          func.return %x : tensor<2xf32>
        }"""
    ),
)

ZEROS = "let %z = zeros_like(%x);"
ONES = "let %z = ones_like(%x);"
for table in (LAZY, SAFE):
    table.changes("a sum with zeros", body(ZEROS, "add(%z, %x)"), expects="-zeros_like +construct")
    table.changes(
        "a product with zeros", body(ZEROS, "multiply(%x, %z)"), expects="-zeros_like +construct"
    )
    table.changes(
        "a product with ones", body(ONES, "multiply(%x, %z)"), expects="-ones_like +construct"
    )
    table.changes("a sum with ones", body(ONES, "add(%x, %z)"), expects="-ones_like +construct")
    table.changes(
        "zeros of a shape",
        body('add(zeros(shape=[2], dtype="float32"), %x)'),
        expects="+construct",
    )
    table.changes(
        "zeros through a tuple",
        body(ZEROS, "let %t = (%z, %x);", "add(%t.0, %t.1)"),
        expects="+construct",
    )
    table.changes(
        "zeros in a branch",
        body(
            ZEROS,
            "let %y = if (%c) { %z } else { %x };",
            "add(%y, %x)",
            parameters="%c: Tensor[(), bool]",
        ),
        expects="+construct",
    )
LAZY.keeps("no zeros and no ones", body("add(%x, multiply(%x, %x))"))
LAZY.keeps(
    "another compiler takes it",
    program(
        """func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> attributes {Compiler = "a"} {
          %0 = relay.zeros_like %x : (tensor<2xf32>) -> tensor<2xf32>
          func.return %0 : tensor<2xf32>
        }"""
    ),
)
