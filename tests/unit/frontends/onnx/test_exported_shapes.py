"""Exported operators on tensors with unknown dimensions or without elements, against the interpreter; and refusals."""

from collections.abc import Sequence

import numpy as np
import pytest
from exported import checked_export, run
from onnx import numpy_helper
from texts import parsed

from xrelay.frontends.onnx import OnnxExportError, export_model
from xrelay.interpreters.arrays import Array
from xrelay.interpreters.relay import interpret


def function(op: str, types: Sequence[str], result: str) -> str:
    """A function whose body is an operation on its arguments %0, %1, …"""
    arguments = ", ".join(f"%x{i}: {type_}" for i, type_ in enumerate(types))
    name, _, options = op.partition(" ")
    operands = ", ".join(f"%x{i}" for i in range(len(types)))
    return (
        f"func.func @main({arguments}) -> {result} {{\n"
        f'  %y = "relay.{name}"({operands}) {options} : ({", ".join(types)}) -> {result}\n'
        f"  func.return %y : {result}\n}}"
    )


def floats(*shape: int) -> Array:
    return np.arange(np.prod(shape, dtype=int), dtype=np.float32).reshape(shape)


def longs(*shape: int) -> Array:
    return np.zeros(shape, np.int64)


SOME = np.array([[2, 0], [1, 1]], np.int64)
Case = tuple[str, Sequence[str], str, Sequence[Array], list[str]]
CASES: dict[str, Case] = {
    # the operator, types, data, and the nodes that it becomes
    "shape": (
        "shape_of {dtype = i32}",
        ["tensor<?x3xf32>"],
        "tensor<2xi32>",
        [floats(2, 3)],
        ["Shape", "Cast"],
    ),
    "known shape": (
        "shape_of {dtype = i32}",
        ["tensor<2x3xf32>"],
        "tensor<2xi32>",
        [floats(2, 3)],
        ["Identity"],
    ),
    "filled": (
        "full_like",
        ["tensor<?x3xf32>", "tensor<f32>"],
        "tensor<?x3xf32>",
        [floats(2, 3), np.array(7, np.float32)],
        ["Shape", "Expand"],
    ),
    "slice of everything": (
        "slice_like",
        ["tensor<2x3xf32>", "tensor<2x3xf32>"],
        "tensor<2x3xf32>",
        [floats(2, 3), floats(2, 3)],
        ["Identity"],
    ),
    "slice of an axis": (
        "slice_like",
        ["tensor<2x3xf32>", "tensor<2x2xf32>"],
        "tensor<2x2xf32>",
        [floats(2, 3), floats(2, 2)],
        ["Slice"],
    ),
    "reshape": (
        "reshape {newshape = array<i64: -1, 2>}",
        ["tensor<?x4xf32>"],
        "tensor<?x2xf32>",
        [floats(3, 4)],
        ["Reshape"],
    ),
    "slice of a known axis": (
        "strided_slice {begin = array<i64: 1>, end = array<i64: 3>, axes = array<i64: 1>}",
        ["tensor<?x4xf32>"],
        "tensor<?x2xf32>",
        [floats(3, 4)],
        ["Slice"],
    ),
    "no element": (
        "gather_nd",
        ["tensor<3x0xf32>", "tensor<1x2xi64>"],
        "tensor<2x0xf32>",
        [floats(3, 0), longs(1, 2)],
        ["Expand"],
    ),
    "elements": (
        "gather_nd",
        ["tensor<3x2xf32>", "tensor<2x2xi64>"],
        "tensor<2xf32>",
        [floats(3, 2), SOME],
        ["Transpose", "Max", "Min", "GatherND"],
    ),
    "each pixel twice": (
        "nn.upsampling {scale_h = 2.0 : f64, scale_w = 3.0 : f64}",
        ["tensor<1x1x2x3xf32>"],
        "tensor<1x1x4x9xf32>",
        [floats(1, 1, 2, 3)],
        ["Resize"],
    ),
    "some pixels twice": (
        "nn.upsampling {scale_h = 1.5 : f64, scale_w = 2.0 : f64}",
        ["tensor<1x1x2x3xf32>"],
        "tensor<1x1x3x6xf32>",
        [floats(1, 1, 2, 3)],
        ["Gather", "Gather"],
    ),
    "no class": (
        "one_hot {depth = 0 : i64, axis = -1 : i64, dtype = f32}",
        ["tensor<2xi64>", "tensor<f32>", "tensor<f32>"],
        "tensor<2x0xf32>",
        [longs(2), np.array(1, np.float32), np.array(0, np.float32)],
        ["Expand"],
    ),
    "no image": (
        "image.resize2d {size = array<i64: 4, 5>}",
        ["tensor<0x2x3x3xf32>"],
        "tensor<0x2x4x5xf32>",
        [floats(0, 2, 3, 3)],
        ["Expand"],
    ),
    "no row to reverse": (
        "reverse_sequence {seq_axis = 0 : i64, batch_axis = 1 : i64}",
        ["tensor<0x2xf32>", "tensor<2xi64>"],
        "tensor<0x2xf32>",
        [floats(0, 2), longs(2)],
        ["Identity"],
    ),
    "nothing to scatter": (
        "scatter_add {axis = 0 : i64}",
        ["tensor<3x2xf32>", "tensor<0x2xi64>", "tensor<0x2xf32>"],
        "tensor<3x2xf32>",
        [floats(3, 2), longs(0, 2), floats(0, 2)],
        ["Identity"],
    ),
    "no place to scatter to": (
        'scatter_nd {mode = "update"}',
        ["tensor<3x2xf32>", "tensor<1x0xi64>", "tensor<0x2xf32>"],
        "tensor<3x2xf32>",
        [floats(3, 2), longs(1, 0), floats(0, 2)],
        ["Identity"],
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_shapes(case: str) -> None:
    """The nodes, and what they compute."""
    op, types, result, data, nodes = CASES[case]
    module = parsed(function(op, types, result))
    model = checked_export(module)
    assert [node.op_type for node in model.graph.node] == nodes
    (wanted,) = interpret(module, list(data))
    (found,) = run(model, data)
    assert (found.dtype, found.shape) == (wanted.dtype, wanted.shape)
    np.testing.assert_array_equal(found, wanted)


def test_numbers_of_a_slice_of_nothing() -> None:
    """From the first element up to the first one."""
    op = "strided_slice {begin = array<i64: 3>, end = array<i64: 2>, strides = array<i64: 2>}"
    model = checked_export(parsed(function(op, ["tensor<5xf32>"], "tensor<0xf32>")))
    (node,) = model.graph.node
    stored = {each.name: numpy_helper.to_array(each).tolist() for each in model.graph.initializer}
    assert (node.op_type, [stored[name] for name in node.input[1:]]) == (
        "Slice",
        [[0], [0], [0], [1]],
    )


FAILED = "cannot export 'm' to ONNX: "
ONE = "1 operation cannot be expressed:\n  "
UNKNOWN: dict[str, tuple[str, Sequence[str], str, str]] = {
    "take": (
        "take {axis = 0 : i64}",
        ["tensor<?x4xf32>", "tensor<2xi64>"],
        "tensor<2x4xf32>",
        "'data' has the shape [?, 4]: dimension 0 is unknown",
    ),
    "slice of an unknown axis": (
        "strided_slice {begin = array<i64: 1>, end = array<i64: 3>, axes = array<i64: 1>}",
        ["tensor<2x?xf32>"],
        "tensor<2x?xf32>",
        "'data' has the shape [2, ?]: dimension 1 is unknown",
    ),
    "slice of an unknown axis and of one that is known": (
        "strided_slice {begin = array<i64: 0, 1>, end = array<i64: 1, 3>}",
        ["tensor<2x?xf32>"],
        "tensor<1x?xf32>",
        "'data' has the shape [2, ?]: dimension 1 is unknown",
    ),
    "reshape to two unknown dimensions": (
        "reshape {newshape = array<i64: 0, 0>}",
        ["tensor<?x?xf32>"],
        "tensor<?x?xf32>",
        "'result' has the shape [?, ?]: dimension 0 is unknown",
    ),
}


@pytest.mark.parametrize("case", UNKNOWN)
def test_dimensions_that_have_to_be_known(case: str) -> None:
    """The message names the operator, the operand and its shape."""
    op, types, result, reason = UNKNOWN[case]
    with pytest.raises(OnnxExportError) as caught:
        export_model(parsed(function(op, types, result)), "m")
    name = op.split(" ")[0]
    reason = f"{ONE}relay.{name} 'y': {reason}"
    assert str(caught.value) == FAILED + reason


def named(result: str) -> str:
    """A function that returns its parameter under a name."""
    return (
        'func.func @main(%x: tensor<2xf32> {onnx.name = "a"}, %w: tensor<2xf32> {onnx.name = "b"})'
        f' -> (tensor<2xf32> {{onnx.name = "{result}"}}) {{ func.return %x : tensor<2xf32> }}'
    )


def test_outputs_with_names_of_inputs() -> None:
    """An input is an output under its own name, and no other one."""
    model = export_model(parsed(named("a")), "m")
    assert [each.name for each in model.graph.output] == ["a"] and not model.graph.node
    message = f"^{FAILED}'b' is the name of an input and of an output$"
    with pytest.raises(OnnxExportError, match=message):
        export_model(parsed(named("b")), "m")


PAIR = "(tensor<2xf32>, tensor<2xf32>)"
MAIN = "func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {\n"
CALL = "%y = func.call @f(%x) : (tensor<2xf32>) -> tensor<2xf32>\nfunc.return %y : tensor<2xf32> }"
CALLS = f"%y, %z = func.call @f(%x) : (tensor<2xf32>) -> {PAIR}\nfunc.return %y : tensor<2xf32> }}"
BOTH = f"func.func @f(%x: tensor<2xf32>) -> {PAIR} {{ func.return %x, %x : {PAIR[1:-1]} }}\n"
REFUSED: dict[str, tuple[str, str]] = {
    "two blocks": (
        f"{MAIN} cf.br ^a\n^a: func.return %x : tensor<2xf32> }}",
        "function @main is not one block that ends in func.return",
    ),
    "a call of a declaration": (
        f"func.func private @f(tensor<2xf32>) -> tensor<2xf32>\n{MAIN}{CALL}",
        f"{ONE}func.call 'y': the function @f is not in the module, or has no body",
    ),
    "a call for two results": (
        f"{BOTH}{MAIN}{CALLS}",
        f"{ONE}func.call 'y': the function @f has 2 results, expected one",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_functions_that_are_refused(case: str) -> None:
    """What is said of them."""
    text, message = REFUSED[case]
    with pytest.raises(OnnxExportError) as caught:
        export_model(parsed(text), "m")
    assert str(caught.value) == FAILED + message
