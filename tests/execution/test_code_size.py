"""Code grows with the program, not with windows, fields or the number of ways through a group."""

from functools import partial

import numpy as np
import onnxruntime
import pytest
from onnx import ModelProto, TensorProto, helper
from xdsl.parser import Parser
from xdsl.utils.exceptions import DiagnosticException

import xrelay
from xrelay.compiler import context


def model_of(
    nodes: list[object], shape: list[int], **initializers: list[int] | np.ndarray
) -> ModelProto:
    """A model from input x to output y."""
    tensors = [
        helper.make_tensor(
            name,
            TensorProto.INT64 if isinstance(value, list) else TensorProto.FLOAT,
            [len(value)] if isinstance(value, list) else value.shape,
            value if isinstance(value, list) else value.ravel(),
        )
        for name, value in initializers.items()
    ]
    graph = helper.make_graph(
        nodes,
        "graph",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
        tensors,
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)])
    model.ir_version = 8
    return model


def check(model: ModelProto, shape: list[int], tolerance: float = 1e-5) -> int:
    """Compares with onnxruntime; returns the size of the LLVM IR."""
    compiled = xrelay.compile(model)
    data = np.random.default_rng(0).standard_normal(shape).astype(np.float32)
    session = onnxruntime.InferenceSession(model.SerializeToString())
    (expected,) = session.run(None, {"x": data})
    (found,) = compiled.run({"x": data}).values()
    np.testing.assert_allclose(found, expected, rtol=tolerance, atol=tolerance)
    return len(compiled.llvm_ir)


def rolls(count: int) -> ModelProto:
    """x rolled by one element, then tanh, several times: all of it fuses."""
    nodes: list[object] = []
    value = "x"
    for i in range(count):
        name = "y" if i == count - 1 else f"value{i}"
        nodes += [
            helper.make_node("Slice", [value, "one", "all", "axis"], [f"rest{i}"]),
            helper.make_node("Slice", [value, "axis", "one", "axis"], [f"first{i}"]),
            helper.make_node("Concat", [f"rest{i}", f"first{i}"], [f"rolled{i}"], axis=0),
            helper.make_node("Tanh", [f"rolled{i}"], [name]),
        ]
        value = name
    return model_of(nodes, [17], one=[1], all=[17], axis=[0])


def test_chains_of_moves_grow_linearly():
    sizes = [check(rolls(count), [17]) for count in (8, 16, 32)]
    assert sizes[2] - sizes[1] < 2.5 * (sizes[1] - sizes[0])


def test_concatenation_of_many_fields():
    parts = [f"part{i}" for i in range(400)]
    nodes: list[object] = [
        helper.make_node("Split", ["x"], parts, axis=0),
        helper.make_node("Concat", parts[::-1], ["joined"], axis=0),
        helper.make_node("Tanh", ["joined"], ["y"]),
    ]
    check(model_of(nodes, [400]), [400])


def uneven(count: int, axis: int) -> list[tuple[int, int, int]]:
    """Shapes of tensors that can be joined: some are empty, one is long."""
    lengths = [100 if i == 3 else i * 7 % 5 for i in range(count)]
    return [(*(2, 3, 4)[:axis], length, *(2, 3, 4)[axis + 1 :]) for length in lengths]


@pytest.mark.parametrize(("axis", "threads"), [(0, 1), (1, 2), (2, 1), (2, 3)])
def test_many_fields_are_joined_and_cut(axis: int, threads: int):
    shapes = uneven(70, axis)
    data = np.random.default_rng(axis).standard_normal
    arrays = {f"x{i}": data(shape).astype(np.float32) for i, shape in enumerate(shapes)}
    whole = np.concatenate(list(arrays.values()), axis)
    pieces = [f"piece{i}" for i in range(70)]
    names = [f"abs{i}" if i % 9 == 0 else name for i, name in enumerate(arrays)]
    nodes = [
        *(helper.make_node("Abs", [f"x{i}"], [f"abs{i}"]) for i in range(0, 70, 9)),
        helper.make_node("Concat", names, ["joined"], axis=axis),
        helper.make_node("Neg", ["joined"], ["y"]),
        helper.make_node("Split", ["all", "lengths"], pieces, axis=axis),
    ]
    float_info = partial(helper.make_tensor_value_info, elem_type=TensorProto.FLOAT)
    inputs = [*(float_info(name, shape=each.shape) for name, each in arrays.items())]
    lengths = helper.make_tensor("lengths", TensorProto.INT64, [70], [s[axis] for s in shapes])
    graph = helper.make_graph(
        nodes,
        "graph",
        [*inputs, float_info("all", shape=whole.shape)],
        [float_info(name, shape=None) for name in ("y", *pieces)],
        [lengths],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
    compiled = xrelay.compile(model, threads=threads, cache=False)
    assert sum("table" in step.implementation for step in compiled.signature.steps) == 2
    y, *cut = compiled.run({**arrays, "all": whole}).values()
    fields = [np.abs(x) if i % 9 == 0 else x for i, x in enumerate(arrays.values())]
    np.testing.assert_array_equal(y, -np.concatenate(fields, axis))
    for found, expected in zip(cut, arrays.values(), strict=True):
        np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("size", [8, 28, 56])
@pytest.mark.parametrize("op", ["AveragePool", "MaxPool"])
def test_large_pooling_windows(op: str, size: int):
    node = helper.make_node(op, ["x"], ["y"], kernel_shape=[size, size], pads=[3, 3, 3, 3])
    assert check(model_of([node], [1, 2, 60, 60]), [1, 2, 60, 60]) < 50_000


@pytest.mark.parametrize("kernel", [(1, 64), (1, 512), (11, 11), (64, 1)])
@pytest.mark.parametrize("stride", [1, 2])
def test_large_convolution_windows(kernel: tuple[int, int], stride: int):
    shape = [1, 2, 70, 520]
    weight = np.random.default_rng(1).standard_normal((3, 2, *kernel)).astype(np.float32)
    node = helper.make_node("Conv", ["x", "w"], ["y"], strides=[stride, stride], pads=[2, 1, 0, 3])
    assert check(model_of([node], shape, w=weight), shape, 1e-3) < 100_000


OVERSIZED = """
func.func @main(%x: tensor<4xf32>) -> tensor<99999999xf32> {
  %0 = OPERATOR : (tensor<4xf32>) -> tensor<99999999xf32> {
  ^bb0(%p: tensor<?xf32>):
    %1 = relay.reshape %p {newshape = array<i64: 99999999>}
        : (tensor<?xf32>) -> tensor<99999999xf32>
    relay.yield %1 : tensor<99999999xf32>
  }
  %2 = relay.nn.relu %0 : (tensor<99999999xf32>) -> tensor<99999999xf32>
  func.return %2 : tensor<99999999xf32>
}"""


@pytest.mark.parametrize(
    "operator", ['relay.composite "a.b" %x', "relay.fused %x attributes {reshape_only}"]
)
def test_a_reshape_cannot_make_a_tensor_larger(operator: str):
    module = Parser(context(), OVERSIZED.replace("OPERATOR", operator)).parse_module()
    module.verify()
    with pytest.raises(DiagnosticException, match="differ in size|unknown dimension"):
        xrelay.compile(module)


def test_a_reference_passes_the_border_of_a_composite():
    text = """
    func.func @main(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
      %r = relay.ref_create %x : (tensor<4xf32>) -> !relay.ref<tensor<4xf32>>
      %0 = relay.composite "a.b" %r : (!relay.ref<tensor<4xf32>>) -> tensor<4xf32> {
      ^bb0(%p: !relay.ref<tensor<4xf32>>):
        %1 = relay.ref_read %p : (!relay.ref<tensor<4xf32>>) -> tensor<4xf32>
        %2 = relay.nn.relu %1 : (tensor<4xf32>) -> tensor<4xf32>
        %3 = relay.ref_write %p, %2 : (!relay.ref<tensor<4xf32>>, tensor<4xf32>) -> tuple<>
        relay.yield %1 : tensor<4xf32>
      }
      %4 = relay.ref_read %r : (!relay.ref<tensor<4xf32>>) -> tensor<4xf32>
      func.return %0, %4 : tensor<4xf32>, tensor<4xf32>
    }"""
    model = xrelay.compile(Parser(context(), text).parse_module())
    data = np.array([-1, 2, -3, 4], np.float32)
    before, after = model.run({"x": data}).values()
    np.testing.assert_array_equal(before, data)
    np.testing.assert_array_equal(after, [0, 2, 0, 4])
