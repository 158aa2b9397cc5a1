"""Explanations of the fold of scales into weights."""

import pytest
from xdsl.parser import Parser

from xrelay.analysis.facts.scale_axis import (
    computed_of_constants,
    is_never_zero,
    known_factors,
    plans,
)
from xrelay.compiler import context

PROGRAM = """
func.func @main(%x: tensor<4x3xf32>, %w: tensor<2x3xf32>) -> tensor<4x2xf32> {{
  %s = relay.constant dense<{scale}> : tensor<2xf32>
  %d = relay.nn.dense %x, %w : (tensor<4x3xf32>, tensor<2x3xf32>) -> tensor<4x2xf32>
  %r = {between} %d : (tensor<4x2xf32>) -> tensor<4x2xf32>
  %y = relay.multiply %r, %s : (tensor<4x2xf32>, tensor<2xf32>) -> tensor<4x2xf32>
  return %y : tensor<4x2xf32>
}}
"""


@pytest.mark.parametrize(
    ("scale", "between", "constant_weights", "expected"),
    [
        ("[1.0, 2.0]", "relay.nn.relu", False, "folded into relay.nn.dense"),
        (
            "[1.0, -2.0]",
            "relay.nn.relu",
            False,
            "stays, relay.nn.relu needs a scale that is known not to be negative",
        ),
        ("[1.0, 2.0]", "relay.tanh", False, "stays, relay.tanh does not take a scale"),
        (
            "[1.0, 2.0]",
            "relay.nn.relu",
            True,
            "stays, relay.nn.dense has a weight that is not constant",
        ),
    ],
)
def test_backward(scale: str, between: str, constant_weights: bool, expected: str):
    text = PROGRAM.format(scale=scale, between=between)
    module = Parser(context(), text).parse_module()
    (plan,) = plans(module, "backward", constant_weights)
    assert str(plan) == f"relay.multiply %y backward: {expected}"
    assert plan.folds == expected.startswith("folded")


@pytest.mark.parametrize(
    ("scale", "unsafe", "expected"),
    [
        ("%p", True, "folded into relay.nn.dense"),
        (
            "%p",
            False,
            "stays, the scale is not known to be finite: 0 in a weight times infinity is NaN",
        ),
        ("%s", True, "folded into relay.nn.dense"),
        ("%s", False, "folded into relay.nn.dense"),
    ],
)
def test_unsafe_scales(scale: str, unsafe: bool, expected: str):
    text = f"""
    func.func @main(%x: tensor<4x3xf32>, %w: tensor<2x3xf32>, %p: tensor<2xf32>) -> tensor<4x2xf32> {{
      %s = relay.constant dense<[0.0, 2.0]> : tensor<2xf32>
      %d = relay.nn.dense %x, %w : (tensor<4x3xf32>, tensor<2x3xf32>) -> tensor<4x2xf32>
      %y = relay.multiply %d, {scale} : (tensor<4x2xf32>, tensor<2xf32>) -> tensor<4x2xf32>
      return %y : tensor<4x2xf32>
    }}
    """
    (plan,) = plans(Parser(context(), text).parse_module(), "backward", unsafe=unsafe)
    assert str(plan) == f"relay.multiply %y backward: {expected}"


@pytest.mark.parametrize("unsafe", [False, True])
def test_zeros_in_front_of_relu(unsafe: bool):
    text = PROGRAM.format(scale="[0.0, 2.0]", between="relay.nn.relu")
    (plan,) = plans(Parser(context(), text).parse_module(), "backward", unsafe=unsafe)
    assert plan.folds == unsafe
    if not unsafe:
        assert plan.refusal == (
            "relay.nn.relu needs a scale without zeros: 0 times infinity is NaN"
        )


SMALL = """
func.func @main(%x: tensor<4x2x{dtype}>) -> tensor<4x1x{dtype}> {{
  %s = relay.constant dense<{scale}> : tensor<2x{dtype}>
  %w = relay.constant dense<{weight}> : tensor<1x2x{dtype}>
  %m = relay.multiply %x, %s : (tensor<4x2x{dtype}>, tensor<2x{dtype}>) -> tensor<4x2x{dtype}>
  %d = relay.nn.dense %m, %w : (tensor<4x2x{dtype}>, tensor<1x2x{dtype}>) -> tensor<4x1x{dtype}>
  return %d : tensor<4x1x{dtype}>
}}
"""


@pytest.mark.parametrize(
    ("dtype", "scale", "weight", "folds"),
    [
        # An element vanishes, and infinity times it is NaN.
        ("f32", "[1.0e-30, 1.0]", "[[1.0e-20, 1.0]]", False),
        ("f32", "[1.0e-20, 1.0]", "[[1.0e-20, 1.0]]", True),
        ("f32", "[0.0, 1.0]", "[[0.0, 1.0]]", True),
        ("f64", "[1.0e-30, 1.0]", "[[1.0e-20, 1.0]]", True),
        ("f16", "[1.0e-4, 1.0]", "[[1.0e-4, 1.0]]", False),
        ("f16", "[1.0e-3, 1.0]", "[[1.0e-3, 1.0]]", True),
        # All elements lose digits.
        ("f16", "[4.0e-3, 4.0e-3]", "[[4.0e-3, 4.0e-3]]", False),
        ("f16", "[8.0e-3, 8.0e-3]", "[[8.0e-3, 8.0e-3]]", True),
        ("bf16", "[1.0e-20, 1.0e-20]", "[[1.0e-19, 1.0e-19]]", False),
        ("bf16", "[1.0e-19, 1.0e-19]", "[[1.0e-18, 1.0e-18]]", True),
    ],
)
def test_products_that_are_too_small(dtype: str, scale: str, weight: str, folds: bool):
    text = SMALL.format(dtype=dtype, scale=scale, weight=weight)
    module = Parser(context(), text).parse_module()
    (plan,) = plans(module, "forward")
    assert plan.folds == folds
    if not folds:
        reason = "relay.nn.dense would have a constant that is too small for its type"
        assert plan.refusal == reason
    (plan,) = plans(module, "forward", unsafe=True)
    assert plan.folds


def test_forward_needs_a_weight():
    text = PROGRAM.format(scale="[1.0, 2.0]", between="relay.nn.relu")
    (plan,) = plans(Parser(context(), text).parse_module(), "forward")
    assert str(plan).endswith("stays, func.return does not take a scale")


@pytest.mark.parametrize(
    ("data", "weight", "reason"),
    [("f16", "f32", "has data of another type"), ("f32", "f16", "has a weight of another type")],
)
def test_operands_of_other_types(data: str, weight: str, reason: str):
    text = f"""
    func.func @main(%x: tensor<4x3x{data}>, %w: tensor<2x3x{weight}>) -> tensor<4x2xf32> {{
      %s = relay.constant dense<[1.0, 2.0, 3.0]> : tensor<3x{data}>
      %m = relay.multiply %x, %s : (tensor<4x3x{data}>, tensor<3x{data}>) -> tensor<4x3x{data}>
      %d = relay.nn.dense %m, %w {{out_dtype = f32}} : (tensor<4x3x{data}>, tensor<2x3x{weight}>) -> tensor<4x2xf32>
      return %d : tensor<4x2xf32>
    }}
    """
    (plan,) = plans(Parser(context(), text).parse_module(), "forward")
    assert str(plan) == f"relay.multiply %m forward: stays, relay.nn.dense {reason}"


FACTORS = "relay.constant dense<[[{}, 2.0]]> : tensor<1x2xf32>"
MOVES = {
    "transpose": "relay.transpose %c {axes = array<i64: 1, 0>} : (tensor<1x2xf32>) -> tensor<2x1xf32>",
    "reshape": "relay.reshape %c {newshape = array<i64: 2>} : (tensor<1x2xf32>) -> tensor<2xf32>",
    "reverse_reshape": "relay.contrib_reverse_reshape %c {newshape = array<i64: 2>} : (tensor<1x2xf32>) -> tensor<2xf32>",
    "expand_dims": "relay.expand_dims %c {axis = 0 : i64} : (tensor<1x2xf32>) -> tensor<1x1x2xf32>",
    "squeeze": "relay.squeeze %c : (tensor<1x2xf32>) -> tensor<2xf32>",
    "batch_flatten": "relay.nn.batch_flatten %c : (tensor<1x2xf32>) -> tensor<1x2xf32>",
}
"""What only moves the elements of a constant."""


@pytest.mark.parametrize("name", MOVES)
def test_factors_that_are_moved(name: str):
    text = f"%c = {FACTORS.format('0.0')}\n%m = {MOVES[name]}"
    constant, moved = Parser(context(), text).parse_module().ops
    factors = known_factors(moved.results[0])
    assert factors is not None and factors.ravel().tolist() == [0.0, 2.0]
    assert not is_never_zero(moved.results[0])
    # Where elements change places, the weight would be multiplied when the program runs.
    found = computed_of_constants([constant, moved])
    assert (moved.results[0] in found) == (name != "transpose")
    assert moved.results[0] not in computed_of_constants([moved])


@pytest.mark.parametrize(
    ("factor", "operator", "expected"),
    [
        ("1.0", "", True),
        ("-1.0", "", True),
        ("0.0", "", False),
        ("-0.0", "", False),
        # The reciprocal is infinite.
        ("1.0e-39", "", False),
        ("0.0", "relay.rsqrt %c : (tensor<1x2xf32>) -> tensor<1x2xf32>", True),
        ("1.0", "relay.exp %c : (tensor<1x2xf32>) -> tensor<1x2xf32>", False),
        (
            "1.0",
            "relay.divide %c, %x : (tensor<1x2xf32>, tensor<1x2xf32>) -> tensor<1x2xf32>",
            True,
        ),
        (
            "0.0",
            "relay.divide %c, %x : (tensor<1x2xf32>, tensor<1x2xf32>) -> tensor<1x2xf32>",
            False,
        ),
        (
            "1.0",
            "relay.divide %x, %c : (tensor<1x2xf32>, tensor<1x2xf32>) -> tensor<1x2xf32>",
            False,
        ),
    ],
)
def test_quotients_that_are_numbers(factor: str, operator: str, expected: bool):
    given = '%x = "test.op"() : () -> tensor<1x2xf32>'
    text = f"{given}\n%c = {FACTORS.format(factor)}\n{operator and f'%m = {operator}'}"
    *_, last = Parser(context(), text).parse_module().ops
    assert is_never_zero(last.results[0]) == expected


BETWEEN = """
func.func @main(%x: tensor<4x3xf32>, %w: tensor<2x3xf32>, %c: i1, %p: tensor<4x2xf32>) -> tensor<4x2xf32> {{
  %s = relay.constant dense<[1.0, 2.0]> : tensor<2xf32>
  %d = relay.nn.dense %x, %w : (tensor<4x3xf32>, tensor<2x3xf32>) -> tensor<4x2xf32>
  %r = relay.nn.relu %d : (tensor<4x2xf32>) -> tensor<4x2xf32>
  {0}
  return %d : tensor<4x2xf32>
}}
"""
SCALED = "%y = relay.multiply {}, %s : (tensor<4x2xf32>, tensor<2xf32>) -> tensor<4x2xf32>".format
INNER = "%i = scf.if %c -> (tensor<4x2xf32>) {{ {0} scf.yield %y : tensor<4x2xf32> }} else {{ scf.yield %p : tensor<4x2xf32> }}".format


@pytest.mark.parametrize(
    ("lines", "reason"),
    [
        (SCALED("%p"), "the scaled value is no result of an operator"),
        (SCALED("%r"), "relay.nn.dense has a result that is used more than once"),
        (INNER(SCALED("%r")), "relay.nn.relu stands in another scope"),
        (
            SCALED("%r") + "\n%q = relay.exp %r : (tensor<4x2xf32>) -> tensor<4x2xf32>",
            "relay.nn.relu has a result that is used more than once",
        ),
    ],
)
def test_values_that_others_use_as_well(lines: str, reason: str) -> None:
    """A scale goes to what makes a value for nobody else, in the same block."""
    module = Parser(context(), BETWEEN.format(lines)).parse_module()
    (plan,) = plans(module, "backward")
    assert str(plan) == f"relay.multiply %y backward: stays, {reason}"


def test_values_that_an_earlier_block_uses() -> None:
    """Blocks may stand in front of the one that computes what they use."""
    text = """
    func.func @main(%x: tensor<4x3xf32>, %w: tensor<2x3xf32>) -> tensor<4x2xf32> {
      %s = relay.constant dense<[1.0, 2.0, 3.0]> : tensor<3xf32>
      cf.br ^later
    ^earlier:
      %d = relay.nn.dense %m, %w : (tensor<4x3xf32>, tensor<2x3xf32>) -> tensor<4x2xf32>
      func.return %d : tensor<4x2xf32>
    ^later:
      %m = relay.multiply %x, %s : (tensor<4x3xf32>, tensor<3xf32>) -> tensor<4x3xf32>
      %e = relay.nn.dense %m, %w : (tensor<4x3xf32>, tensor<2x3xf32>) -> tensor<4x2xf32>
      cf.br ^earlier
    }"""
    (plan,) = plans(Parser(context(), text).parse_module(), "forward")
    reason = "the scaled value is used in another block"
    assert str(plan) == f"relay.multiply %m forward: stays, {reason}"
