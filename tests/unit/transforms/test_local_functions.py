"""What passes ask of a single value: its type, and what constants decide of it."""

import numpy as np
import pytest
from guards.passes import GuardGraph, program
from xdsl.dialects.builtin import ModuleOp, NoneType, TensorType, f32
from xdsl.ir import Attribute, SSAValue
from xdsl.rewriter import Rewriter
from xdsl.utils.exceptions import PassFailedException

from xrelay.dialects.core.values import ConstantOp
from xrelay.dialects.tensor.unary import ExpOp
from xrelay.interpreters.constants import constant_value
from xrelay.transforms.fold_constant import fold_constant_expr
from xrelay.transforms.infer_type import infer_type_local

TYPED = """
func.func @main(%x: tensor<2x3xf32>, %p: i1) -> tensor<2x?xf32> {
  %0 = relay.exp %x : (tensor<2x3xf32>) -> tensor<?x3xf32>
  %1 = relay.add %0, %x : (tensor<?x3xf32>, tensor<2x3xf32>) -> tensor<?x?xf32>
  %2 = scf.if %p -> (tensor<?x?xf32>) {
    scf.yield %1 : tensor<?x?xf32>
  } else {
    %3 = relay.tanh %0 : (tensor<?x3xf32>) -> tensor<?x?xf32>
    scf.yield %3 : tensor<?x?xf32>
  }
  %f = relay.closure : !relay.fn<(tensor<3xf32>) -> tensor<?xf32>> {
  ^bb0(%q: tensor<3xf32>):
    %5 = relay.negative %q : (tensor<3xf32>) -> tensor<3xf32>
    relay.yield %5 : tensor<3xf32>
  }
  %4 = relay.tanh %2 : (tensor<?x?xf32>) -> tensor<2x?xf32>
  return %4 : tensor<2x?xf32>
}
"""


def results(module: ModuleOp) -> dict[str, SSAValue]:
    return {op.name: op.results[0] for op in module.walk() if op.results}


@pytest.mark.parametrize(
    "name, expected",
    [
        ("relay.exp", "tensor<2x3xf32>"),
        ("relay.add", "tensor<2x3xf32>"),
        ("scf.if", "tensor<?x?xf32>"),
        ("relay.closure", "!relay.fn<(tensor<3xf32>) -> tensor<3xf32>>"),
        ("relay.tanh", "tensor<2x?xf32>"),
    ],
)
def test_types_are_those_that_stated_operands_give(name: str, expected: str):
    module = program(TYPED)(GuardGraph())
    before = module.clone()
    assert str(infer_type_local(results(module)[name])) == expected
    assert module.is_structurally_equivalent(before)


def test_operands_without_a_type_get_one():
    module = program(TYPED)(GuardGraph())
    for name in ("relay.exp", "relay.add"):
        Rewriter.replace_value_with_new_type(results(module)[name], NoneType())
    known: Attribute = TensorType(f32, [2, 3])
    assert infer_type_local(results(module)["relay.add"]) == known
    assert isinstance(results(module)["relay.exp"].type, NoneType)


def test_parameters_have_their_type():
    module = program(TYPED)(GuardGraph())
    (x,) = results(module)["relay.exp"].owner.operands
    assert infer_type_local(x) is x.type


def test_contradictions_are_refused():
    module = program(TYPED)(GuardGraph())
    wrong = TensorType(f32, [5, 3])
    Rewriter.replace_value_with_new_type(results(module)["relay.exp"], wrong)
    with pytest.raises(PassFailedException, match=r"result type is tensor<5x3xf32>, but the op"):
        infer_type_local(results(module)["relay.exp"])


FOLDED = """
func.func @main(%x: tensor<2xf32>) -> (tensor<2xf32>, tensor<f32>) {
  %c = relay.constant dense<2.0> : tensor<f32>
  %p = relay.constant dense<true> : tensor<i1>
  %0 = relay.multiply %c, %c : (tensor<f32>, tensor<f32>) -> tensor<f32>
  %1 = relay.sqrt %c : (tensor<f32>) -> tensor<f32>
  %q = tensor.extract %p[] : tensor<i1>
  %2 = scf.if %q -> (tensor<f32>) {
    %3 = relay.add %0, %c : (tensor<f32>, tensor<f32>) -> tensor<f32>
    scf.yield %3 : tensor<f32>
  } else {
    scf.yield %c : tensor<f32>
  }
  %4 = relay.add %x, %2 : (tensor<2xf32>, tensor<f32>) -> tensor<2xf32>
  return %4, %1 : tensor<2xf32>, tensor<f32>
}
"""


def test_what_constants_decide_is_computed():
    module = program(FOLDED)(GuardGraph())
    found = fold_constant_expr(results(module)["scf.if"])
    module.verify()
    assert constant_value(found) == np.float32(6)
    names = [op.name for op in module.walk()]
    assert "relay.sqrt" in names and "scf.if" not in names and "relay.multiply" not in names
    assert "relay.tuple" not in names  # It stood for the uses that values outside have.
    assert [use.operation.name for use in found.uses] == ["relay.add"]


def test_what_depends_on_parameters_stays():
    module = program(FOLDED)(GuardGraph())
    end = list(module.walk())[-1]
    found = fold_constant_expr(end.operands[0])
    module.verify()
    assert found is end.operands[0] and found.owner.name == "relay.add"
    assert isinstance(found.owner.operands[1].owner, ConstantOp)
    (parameter, _) = found.owner.operands
    assert fold_constant_expr(parameter) is parameter


def test_quantised_operators_stay_where_they_are_not_asked_for():
    text = """
    func.func @main() -> tensor<2xf32> {
      %c = relay.constant dense<[1, 2]> : tensor<2xi8>
      %s = relay.constant dense<0.5> : tensor<f32>
      %z = relay.constant dense<0> : tensor<i32>
      %0 = relay.qnn.dequantize %c, %s, %z : (tensor<2xi8>, tensor<f32>, tensor<i32>) -> tensor<2xf32>
      return %0 : tensor<2xf32>
    }"""
    module = program(text)(GuardGraph())
    value = results(module)["relay.qnn.dequantize"]
    assert fold_constant_expr(value, fold_qnn=False) is value
    np.testing.assert_array_equal(constant_value(fold_constant_expr(value)), [0.5, 1])


def test_long_chains():
    g = GuardGraph()
    x = g.constant(np.zeros(1, np.float32))
    for _ in range(2_000):
        x = g.op(ExpOp(x))
    g.returns(x)
    g.module()
    assert constant_value(fold_constant_expr(x)) is not None
