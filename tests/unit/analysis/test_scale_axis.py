"""Explanations of the fold of scales into weights."""

import pytest
from xdsl.parser import Parser

from xrelay.analysis.facts.scale_axis import plans
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
