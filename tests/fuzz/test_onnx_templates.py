"""The parts of the fuzzers of graphs and passes: templates, reductions, and what roundings explain."""

import dataclasses
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest
from onnx import ModelProto
from xdsl.context import Context
from xdsl.dialects import func
from xdsl.dialects.builtin import FunctionType, ModuleOp
from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.rewriter import Rewriter

from tests.fuzz.fuzzer import Difference, Reductions
from tests.fuzz.onnx import graphs as onnx_graphs
from tests.fuzz.onnx.graphs import OnnxGraphFuzzer, data_of, model_of, operator_sets, random_model
from tests.fuzz.onnx.growth import Growth
from tests.fuzz.onnx.templates import TEMPLATES, WITHOUT_TEMPLATE
from tests.fuzz.onnx.values import Array
from tests.fuzz.pass_pipelines import PassPipelineFuzzer, passes_of
from tests.fuzz.pass_rows import ROWS
from tests.fuzz.roundings import Noise, noisy_results, unexplained
from xrelay.dialects.tensor.reduce import ArgmaxOp, SumOp
from xrelay.dialects.tensor.unary import AbsOp, ExpOp, NegativeOp, SinOp, TanhOp
from xrelay.frontends.onnx.importer.converters import CONVERTERS
from xrelay.interpreters.arrays import type_of
from xrelay.interpreters.relay import interpret
from xrelay.tools.universe import XRELAY_UNIVERSE
from xrelay.transforms.fold_constant import FoldConstantPass


def test_every_imported_operator_has_a_template():
    assert set(TEMPLATES) | set(WITHOUT_TEMPLATE) == set(CONVERTERS)
    assert not set(TEMPLATES) & set(WITHOUT_TEMPLATE)


@pytest.mark.parametrize("op", TEMPLATES)
def test_templates_make_nodes(op: str):
    random = Random(op)
    for _ in range(40):
        growth = Growth(random, random.choice(operator_sets(op)))
        growth.start(2)
        if growth.try_template(TEMPLATES[op], op):
            assert growth.nodes[-1].op_type == op
            return
    raise AssertionError("none of 40 attempts is a legal node")


def test_models_hold_their_data():
    model = ModelProto.FromString(random_model(Random(1)).SerializeToString())
    data = data_of(model)
    assert list(data) == [value.name for value in model.graph.input]
    for value in model.graph.input:
        shape = [each.dim_value for each in value.type.tensor_type.shape.dim]
        assert list(data[value.name].shape) == shape


def smallest(reductions: Reductions, wanted: bytes) -> bytes:
    """Where reductions end when what contains some bytes shows the finding."""
    shows: bool | None = None
    while True:
        try:
            payload = next(reductions) if shows is None else reductions.send(shows)
        except StopIteration as end:
            return end.value
        shows = wanted in payload


def test_reductions_leave_one_node():
    growth = Growth(Random(3), 20)
    growth.start(2)
    for op in ("Add", "Relu", "Softsign", "Neg", "Add", "Abs"):
        assert growth.try_template(TEMPLATES[op], op)
    payload = model_of(growth).SerializeToString()
    least = ModelProto.FromString(smallest(OnnxGraphFuzzer().reductions(payload), b"Softsign"))
    assert [node.op_type for node in least.graph.node] == ["Softsign"]
    assert len(data_of(least)) == 1


PROGRAM = b"""// passes: fold-constant,simplify-expr{reassociate=true},fuse-ops
func.func @main(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %0 = relay.exp %x : (tensor<4xf32>) -> tensor<4xf32>
  %1 = relay.tanh %0 : (tensor<4xf32>) -> tensor<4xf32>
  %2 = relay.cos %1 : (tensor<4xf32>) -> tensor<4xf32>
  return %2, %0 : tensor<4xf32>, tensor<4xf32>
}
"""


def test_reductions_leave_one_pass_and_operation():
    least = smallest(PassPipelineFuzzer().reductions(PROGRAM), b"relay.tanh")
    assert [each.name for each in passes_of(least)] == ["fuse-ops"]
    assert least.count(b"relay.") == 1


def test_pass_tables_name_what_there_is():
    assert set(ROWS) <= set(XRELAY_UNIVERSE.all_passes)
    for name, row in ROWS.items():
        fields = {field.name for field in dataclasses.fields(XRELAY_UNIVERSE.all_passes[name]())}
        assert {option.replace("-", "_") for option in row.options} <= fields


# What is a difference


def small_model() -> bytes:
    """A graph of three nodes."""
    growth = Growth(Random(8), 20)
    growth.start(2)
    for op in ("Add", "Softsign", "Neg"):
        assert growth.try_template(TEMPLATES[op], op)
    return model_of(growth).SerializeToString()


def test_wrong_code_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    payload = small_model()
    OnnxGraphFuzzer().check(payload, tmp_path)
    right = onnx_graphs.compile_code

    def wrong(module: ModuleOp, *options: Any) -> Any:
        for op in module.walk():
            if isinstance(op, NegativeOp):
                Rewriter.replace_op(op, AbsOp(op.data))
                break
        return right(module, *options)

    monkeypatch.setattr(onnx_graphs, "compile_code", wrong)
    with pytest.raises(Difference, match="^Neg: compiled code differs from the interpreter"):
        OnnxGraphFuzzer().check(payload, tmp_path)


def test_wrong_passes_are_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    PassPipelineFuzzer().check(PROGRAM, tmp_path)

    def wrong(self: FoldConstantPass, ctx: Context, op: ModuleOp) -> None:
        for each in op.walk():
            if isinstance(each, TanhOp):
                Rewriter.replace_op(each, SinOp(each.data))
                break

    monkeypatch.setattr(FoldConstantPass, "apply", wrong)
    with pytest.raises(Difference, match="^fold-constant: a result changes"):
        PassPipelineFuzzer().check(PROGRAM, tmp_path)


# What roundings explain


def program(*build: type[Operation], shape: tuple[int, ...] = (64,)) -> tuple[ModuleOp, Array]:
    """A chain of operators, and an input with large and small numbers."""
    rng = np.random.default_rng(5)
    data = (rng.standard_normal(shape) * 10.0 ** rng.integers(-3, 3, shape)).astype(np.float32)
    block = Block(arg_types=[type_of(data)])
    value: SSAValue = block.args[0]
    for op in build:
        block.add_op(op(value))
        assert block.last_op is not None
        value = block.last_op.results[0]
    block.add_op(func.ReturnOp(value))
    type_ = FunctionType.from_lists(block.arg_types, [value.type])
    return ModuleOp([func.FuncOp("main", type_, Region(block))]), data


def is_explained(module: ModuleOp, data: Array, found: Array) -> bool:
    """Whether roundings explain a result."""
    expected = interpret(module, [data])

    def run(noise: Noise) -> tuple[Array, ...]:
        return noisy_results(module, [data], noise)

    return not list(unexplained([found], expected, run))


def test_order_of_a_sum_is_explained():
    module, data = program(SumOp)
    other = np.float32(0)
    for number in sorted(data.tolist()):
        other += np.float32(number)
    assert is_explained(module, data, np.asarray(other))
    assert not is_explained(module, data, np.asarray(other + np.abs(data).max() * 1e-3))


def test_equal_but_for_roundings_is_explained():
    data = np.ones(8, np.float32)
    module, _ = program(ExpOp, ArgmaxOp, shape=(8,))
    for place in range(8):
        assert is_explained(module, data, np.array(place, np.int32))
    data[3] = 2
    assert is_explained(module, data, np.array(3, np.int32))
    assert not is_explained(module, data, np.array(4, np.int32))


def test_nan_and_infinities_are_not_explained():
    module, data = program(ExpOp)
    data = np.minimum(data, 20)
    (expected,) = interpret(module, [data])
    for wrong in (np.nan, np.inf, 0.0):
        found = expected.copy()
        found[7] = wrong
        assert not is_explained(module, data, found)
