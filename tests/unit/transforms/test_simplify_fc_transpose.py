"""simplify-fc-transpose on random networks: the interpreter, given transposed weights, is the oracle."""

import numpy as np
import pytest
from graphs import Graph
from guards.passes import KINDS, results_of, values_of
from xdsl.context import Context
from xdsl.dialects import func
from xdsl.ir import SSAValue

from xrelay.analysis.facts.ports import input_names
from xrelay.dialects.nn.dense import DenseOp
from xrelay.dialects.tensor.binary import AddOp, MultiplyOp
from xrelay.dialects.tensor.transform import TransposeOp
from xrelay.dialects.tensor.unary import ReluOp, TanhOp
from xrelay.transforms.simplify_fc_transpose import SimplifyFcTransposePass, transposed_weights

DTYPES = ("float32", "float64", "float16", "int8", "uint8", "int32")
LENGTHS = (0, 1, 3, 3, 4)


def network(seed: int) -> Graph:
    """Layers whose weights are parameters, most of them transposed, some of them shared."""
    g = Graph(seed)
    dtype, rng = DTYPES[seed % len(DTYPES)], g.rng

    def parameter(*shape: int) -> SSAValue:
        value = g.input(np.zeros(shape, dtype))
        value.name_hint = f"p{len(g.block.args)}"
        return value

    value = parameter(2, int(rng.choice(LENGTHS)))
    weights: list[SSAValue] = []
    for _ in range(rng.integers(1, 5)):
        depth, units = value.type.get_shape()[1], int(rng.choice(LENGTHS))
        fitting = [each for each in weights if each.type.get_shape()[0] == depth]
        if fitting and rng.random() < 0.5:
            weight = fitting[-1]
        else:
            weight = parameter(*((depth, units) if rng.random() < 0.8 else (units, depth)))
        weights.append(weight)
        if weight.type.get_shape()[0] == depth and rng.random() < 0.9:
            transposed = g.op(TransposeOp(weight))
            value = g.op(DenseOp(value, transposed))
            if rng.random() < 0.2:
                g.returns(g.op(AddOp(transposed, transposed)))
        elif weight.type.get_shape()[1] == depth:
            value = g.op(DenseOp(value, weight))
        if rng.random() < 0.2:
            g.returns(g.op(MultiplyOp(weight, weight)))
        value = g.op(ReluOp(value) if rng.random() < 0.5 or "int" in dtype else TanhOp(value))
    g.returns(value)
    return g


def main_of(module) -> func.FuncOp:
    (function,) = module.ops
    assert isinstance(function, func.FuncOp)
    return function


@pytest.mark.parametrize("first", [0, 60, 120])
def test_networks(first: int):
    changes = 0
    for seed in range(first, first + 60):
        before = network(seed).module()
        module = before.clone()
        names = input_names(main_of(before))
        expected_names = [names[each.index] for each in transposed_weights(main_of(before))]
        SimplifyFcTransposePass().apply(Context(), module)
        module.verify()
        assert not transposed_weights(main_of(module))
        passed = input_names(main_of(module))
        assert [name for name in passed if name.endswith(".T")] == [
            f"{n}.T" for n in expected_names
        ]
        changes += bool(expected_names)
        for kind in KINDS:
            rng = np.random.default_rng(seed)
            given = [values_of(type_, kind, rng) for type_ in main_of(before).body.block.arg_types]
            named = dict(zip(names, given, strict=True))
            named.update(
                {f"{name}.T": value.T.copy() for name, value in zip(names, given, strict=True)}
            )
            found = results_of(module, [named[name] for name in passed])
            for one, other in zip(found, results_of(before, given), strict=True):
                np.testing.assert_array_equal(one, other)
    assert changes > 40


def test_some_weights():
    g = Graph(0)
    x, v, w = (g.input(np.zeros((3, 3), np.float32)) for _ in range(3))
    for weight in (v, w):
        x = g.op(DenseOp(x, g.op(TransposeOp(weight))))
    g.returns(x)
    module = g.module()
    SimplifyFcTransposePass(weights=("input2",)).apply(Context(), module)
    assert input_names(main_of(module)) == ["input0", "input1", "input2.T"]
