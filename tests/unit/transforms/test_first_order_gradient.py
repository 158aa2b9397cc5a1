"""Gradients against finite differences: the results of the program as it was, along random directions."""

from functools import partial
from typing import Any

import numpy as np
import pytest
from cases.gradient import CASES, NARROW, number
from guards.passes import GuardGraph, main_function, program
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.utils.exceptions import PassFailedException

from xrelay.dialects.conv.conv import Conv2DOp
from xrelay.dialects.nn.dense import DenseOp
from xrelay.dialects.nn.loss import CrossEntropyWithLogitsOp
from xrelay.dialects.nn.norm import BiasAddOp, LogSoftmaxOp
from xrelay.dialects.pool.pool import MaxPool2DOp
from xrelay.dialects.tensor.binary import MultiplyOp
from xrelay.dialects.tensor.reduce import MaxOp
from xrelay.dialects.tensor.reshape import BatchFlattenOp
from xrelay.dialects.tensor.unary import AbsOp, ClipOp, NegativeOp, ReluOp, SigmoidOp
from xrelay.frontends.relay_text import read_relay_text
from xrelay.interpreters.relay import interpret
from xrelay.tools.semantics import leaves
from xrelay.transforms.derivatives.table import RULES
from xrelay.transforms.functional.first_order_gradient import FirstOrderGradientPass

STEP = 1e-5
DIRECTIONS = 2


def differentiated(module: ModuleOp) -> ModuleOp:
    copy = module.clone()
    FirstOrderGradientPass().apply(Context(), copy)
    copy.verify()
    return copy


def weighted(name: str) -> tuple[ModuleOp, list[Any]]:
    """The program of a case: each element of the result counts differently."""
    g = GuardGraph(len(name))
    value = CASES[name](g)
    shape: tuple[int, ...] = value.type.get_shape()
    if all(length >= 0 for length in shape):
        value = g.op(MultiplyOp(value, g.constant(g.rng.uniform(0.5, 2, shape))))
    g.returns(value)
    return g.module(), g.inputs


def moved(value: Any, direction: Any, step: float) -> Any:
    """A value and as much of a direction, field by field; integers stay."""
    if isinstance(value, tuple):
        return tuple(moved(*each, step) for each in zip(value, direction, strict=True))
    return np.asarray(value + step * direction) if value.dtype.kind == "f" else value


def total(module: ModuleOp, inputs: list[Any]) -> float:
    return float(
        sum(array.sum() for result in interpret(module, inputs) for array in leaves(result))
    )


def random_like(value: Any, rng: np.random.Generator) -> Any:
    if isinstance(value, tuple):
        return tuple(random_like(each, rng) for each in value)
    return np.asarray(rng.uniform(-1, 1, value.shape))


@pytest.mark.parametrize("name", CASES)
def test_gradients_are_slopes(name: str):
    require_slopes(*weighted(name))


T = "Tensor[(3), float64]"
CALLS = {
    "a call": f"""
        def @f(%a: {T}) -> {T} {{ multiply(%a, exp(%a)) }}
        def @main(%x: {T}, %y: {T}) -> {T} {{ multiply(@f(%x), %y) }}""",
    "calls in calls, of two arguments, twice": f"""
        def @f(%a: {T}, %b: {T}) -> {T} {{ multiply(%a, sigmoid(%b)) }}
        def @g(%a: {T}) -> ({T}, {T}) {{ let %r = @f(%a, %a); (%r, @f(%r, %a)) }}
        def @main(%x: {T}, %y: {T}) -> {T} {{ let %t = @g(multiply(%x, %y)); add(%t.0, @f(%t.1, %x)) }}""",
    "a call in a branch": f"""
        def @f(%a: {T}, %b: {T}) -> {T} {{ if (less(sum(%a), 0f64)) {{ exp(%b) }} else {{ multiply(%a, %b) }} }}
        def @main(%x: {T}, %y: {T}) -> {T} {{
          if (less(sum(%x), sum(%y))) {{ @f(%x, @f(%y, %x)) }} else {{ @f(%y, %x) }}
        }}""",
    "functions that take and give functions": f"""
        def @twice(%f: fn ({T}) -> {T}, %a: {T}) -> {T} {{ %f(%f(%a)) }}
        def @scale(%k: {T}) -> fn ({T}) -> {T} {{ fn (%a: {T}) -> {T} {{ multiply(%a, sigmoid(%k)) }} }}
        def @f(%a: {T}) -> {T} {{ tanh(%a) }}
        def @main(%x: {T}, %y: {T}) -> {T} {{ let %s = @scale(%y); add(@twice(@f, %x), @twice(%s, %x)) }}""",
    "a call of which no gradient is asked": f"""
        def @count(%n: int32) -> int32 {{ if (less(%n, 3)) {{ @count(add(%n, 1)) }} else {{ %n }} }}
        def @main(%x: {T}, %y: {T}) -> {T} {{ multiply(exp(%x), multiply(%y, cast(@count(0), dtype="float64"))) }}""",
}


@pytest.mark.parametrize("name", CALLS)
def test_calls_have_gradients(name: str):
    rng = np.random.default_rng(5)
    module = read_relay_text(CALLS[name])
    for _ in range(2):
        require_slopes(module, [rng.uniform(-1, 1, 3), rng.uniform(-1, 1, 3)])


@pytest.mark.parametrize("name", CALLS)
def test_gradients_have_gradients(name: str):
    rng = np.random.default_rng(5)
    once = differentiated(read_relay_text(CALLS[name]))
    require_slopes(once, [rng.uniform(-1, 1, 3), rng.uniform(-1, 1, 3)])


@pytest.mark.parametrize("name", ["dense", "softmax", "matmul", "divide", "sigmoid", "mean"])
def test_gradients_of_operators_have_gradients(name: str):
    module, inputs = weighted(name)
    require_slopes(differentiated(module), inputs)


@pytest.mark.parametrize(
    "name, operator",
    [("take", "scatter_nd"), ("conv2d", "nn.conv2d_backward_weight"), ("concatenate", "split")],
)
def test_gradients_without_gradients_are_refused(name: str, operator: str):
    once = differentiated(weighted(name)[0])
    with pytest.raises(PassFailedException, match=rf"relay\.{operator} .*has no gradient"):
        differentiated(once)


def require_slopes(module: ModuleOp, inputs: list[Any]) -> None:
    ((result, gradients),) = interpret(differentiated(module), inputs)
    (expected,) = interpret(module, inputs)
    for found, stated in zip(leaves(result), leaves(expected), strict=True):
        np.testing.assert_array_equal(found, stated)
    rng = np.random.default_rng(1)
    for place, (value, gradient) in enumerate(zip(inputs, gradients, strict=True)):
        for _ in range(DIRECTIONS):
            direction = random_like(value, rng)
            ends = [
                total(
                    module, [*inputs[:place], moved(value, direction, step), *inputs[place + 1 :]]
                )
                for step in (STEP, -STEP)
            ]
            slope = (ends[0] - ends[1]) / (2 * STEP)
            pairs = zip(leaves(gradient), leaves(direction), strict=True)
            found = float(sum((g * d).sum() for g, d in pairs if g.dtype.kind == "f"))
            assert found == pytest.approx(slope, rel=1e-6, abs=1e-7), f"parameter {place}"


def test_every_rule_has_a_case():
    used = {type(op) for name in CASES for op in weighted(name)[0].walk()}
    assert not set(RULES) - used


@pytest.mark.parametrize("name", NARROW)
def test_gradients_have_the_types_of_parameters(name: str):
    g = GuardGraph()
    g.returns(NARROW[name](g))
    found = differentiated(g.module())
    function = main_function(found)
    _, gradients = function.function_type.outputs.data[0].types
    assert gradients.types.data == function.function_type.inputs.data


BENDS = {
    "abs": (AbsOp, [-1.0, -0.0, 0.0, 2.0], [-1, 1, 1, 1]),
    "clip": (partial(ClipOp, a_min=-1, a_max=1), [-2.0, -1.0, 0.0, 1.0, 2.0], [0, 1, 1, 1, 0]),
    "max": (MaxOp, [3.0, 1.0, 3.0], [0.5, 0, 0.5]),
    "max_pool2d": (MaxPool2DOp, [[[[3.0, 1.0], [3.0, 2.0]]]], [[[[1, 0], [0, 0]]]]),
    "relu": (ReluOp, [-1.0, -0.0, 0.0, 2.0], [0, 1, 1, 1]),
}
"""The gradients at bends, which finite differences do not tell: those of the original."""


@pytest.mark.parametrize("name", BENDS)
def test_gradients_at_bends(name: str):
    build, numbers, expected = BENDS[name]
    g = GuardGraph()
    x = g.input(np.array(numbers))
    g.returns(g.op(build(x, pool_size=[2, 2]) if build is MaxPool2DOp else build(x)))
    ((_, (gradient,)),) = interpret(differentiated(g.module()), g.inputs)
    np.testing.assert_array_equal(gradient, expected)


def test_dimensions_that_are_not_known():
    rows, y = np.arange(6.0).reshape(2, 3), np.ones((1, 3))
    text = """
        func.func @main(%x: tensor<?x3xf64>, %y: tensor<?x3xf64>) -> tensor<3xf64> {
          %0 = relay.multiply %x, %y : (tensor<?x3xf64>, tensor<?x3xf64>) -> tensor<?x3xf64>
          %1 = relay.mean %0 {axis = array<i64: 0>} : (tensor<?x3xf64>) -> tensor<3xf64>
          return %1 : tensor<3xf64>
        }"""
    module = differentiated(program(text)(GuardGraph()))
    ((_, (of_x, of_y)),) = interpret(module, [rows, y])
    np.testing.assert_array_equal(of_x, np.full((2, 3), 0.5))
    np.testing.assert_array_equal(of_y, rows.mean(axis=0, keepdims=True))


BRANCHES = """
    func.func @main(%x: tensor<3xf64>, %y: tensor<3xf64>, %c: tensor<i1>, %d: tensor<i1>) -> tensor<3xf64> {
      %a = relay.exp %x : (tensor<3xf64>) -> tensor<3xf64>
      %p = tensor.extract %c[] : tensor<i1>
      %q = tensor.extract %d[] : tensor<i1>
      %r, %s = scf.if %p -> (tensor<3xf64>, tuple<tensor<3xf64>, tensor<3xf64>>) {
        %f = relay.fused %a, %y : (tensor<3xf64>, tensor<3xf64>) -> tensor<3xf64> {
        ^bb0(%u: tensor<3xf64>, %v: tensor<3xf64>):
          %w = relay.multiply %u, %v : (tensor<3xf64>, tensor<3xf64>) -> tensor<3xf64>
          relay.yield %w : tensor<3xf64>
        }
        %t = relay.tuple %f, %x : (tensor<3xf64>, tensor<3xf64>) -> tuple<tensor<3xf64>, tensor<3xf64>>
        %i = scf.if %q -> (tensor<3xf64>) {
          %z = relay.multiply %f, %f : (tensor<3xf64>, tensor<3xf64>) -> tensor<3xf64>
          scf.yield %z : tensor<3xf64>
        } else {
          scf.yield %x : tensor<3xf64>
        }
        scf.yield %i, %t : tensor<3xf64>, tuple<tensor<3xf64>, tensor<3xf64>>
      } else {
        %k = relay.constant dense<2.0> : tensor<3xf64>
        %t = relay.tuple %k, %a : (tensor<3xf64>, tensor<3xf64>) -> tuple<tensor<3xf64>, tensor<3xf64>>
        scf.yield %k, %t : tensor<3xf64>, tuple<tensor<3xf64>, tensor<3xf64>>
      }
      %g = relay.tuple_get_item %s[1] : (tuple<tensor<3xf64>, tensor<3xf64>>) -> tensor<3xf64>
      %h = relay.multiply %r, %g : (tensor<3xf64>, tensor<3xf64>) -> tensor<3xf64>
      return %h : tensor<3xf64>
    }"""


def test_the_branch_that_is_taken_has_gradients():
    """By hand: (e^x y)^2 x, x x, and 2 e^x, which are the results of the ways through."""
    module = differentiated(program(BRANCHES)(GuardGraph()))
    x, y = np.array([0.5, -1.0, 2.0]), np.array([1.5, -0.5, 0.25])
    a, none = np.exp(x), np.zeros(3)
    ways = {
        (True, True): ((1 + 2 * x) * (a * y) ** 2, 2 * a**2 * x * y),
        (True, False): (2 * x, none),
        (False, True): (2 * a, none),
    }
    for taken, expected in ways.items():
        ((_, (of_x, of_y, *_)),) = interpret(module, [x, y, *map(np.array, taken)])
        np.testing.assert_allclose(of_x, expected[0], rtol=1e-12)
        np.testing.assert_allclose(of_y, expected[1], rtol=1e-12)


def test_long_chains():
    g = GuardGraph()
    x = g.input(np.array([0.5]))
    for _ in range(3_000):
        x = g.op(NegativeOp(x))
    g.returns(x)
    module = g.module()
    FirstOrderGradientPass().apply(Context(), module)
    assert sum(isinstance(op, NegativeOp) for op in module.walk()) == 6_000


@pytest.mark.slow
def test_a_network_has_the_gradients_of_torch():
    torch: Any = pytest.importorskip("torch")
    g = GuardGraph(5)
    image, filters, weight, bias = (
        number(g, *shape) for shape in ((2, 4, 8, 9), (6, 2, 3, 3), (5, 48), (5,))
    )
    x = g.op(Conv2DOp(image, filters, strides=[1, 2], padding=[1, 1], groups=2))
    x = g.op(MaxPool2DOp(g.op(ReluOp(x)), pool_size=[2, 2], strides=[2, 2]))
    x = g.op(BatchFlattenOp(g.op(SigmoidOp(x))))
    x = g.op(BiasAddOp(g.op(DenseOp(x, weight)), bias))
    target = g.constant(np.eye(5)[[3, 1]])
    g.returns(g.op(CrossEntropyWithLogitsOp(g.op(LogSoftmaxOp(x)), target)))
    ((loss, gradients),) = interpret(differentiated(g.module()), g.inputs)

    f = torch.nn.functional
    images, kernels, weights, biases = leaf = [
        torch.tensor(each, requires_grad=True) for each in g.inputs
    ]
    y = f.conv2d(images, kernels, stride=(1, 2), padding=1, groups=2)
    y = f.max_pool2d(y.relu(), 2).sigmoid().flatten(1) @ weights.T + biases
    expected = f.cross_entropy(y, torch.tensor([3, 1]))
    expected.backward()
    np.testing.assert_allclose(loss, expected.item(), rtol=1e-12)
    for found, parameter in zip(gradients, leaf, strict=True):
        np.testing.assert_allclose(found, parameter.grad.numpy(), rtol=1e-9, atol=1e-14)
