"""Small models that ask for large tensors: refused before memory is allocated, with the bytes."""

from typing import Any

import numpy as np
import pytest
from onnx import ModelProto, NodeProto, TensorProto, ValueInfoProto, helper, numpy_helper
from onnx_models import Array, build, by_import, longs, one_node, operations, untyped
from xdsl.context import Context
from xdsl.ir import Operation

import xrelay
from xrelay.compiler import lower
from xrelay.dialects.limits import Limits
from xrelay.errors import CompileError
from xrelay.frontends.onnx import OnnxImportError, import_model
from xrelay.frontends.onnx.importer.sizes import MAX_TABLE_BYTES
from xrelay.interpreters.relay import RelayInterpreter
from xrelay.memory import largest_share, require_memory
from xrelay.options import CompileOptions
from xrelay.runtime.executor import aligned_bytes, allocated
from xrelay.transforms.fold_constant import FoldConstantPass
from xrelay.transforms.rules.evaluating import REPEATED_BYTES
from xrelay.transforms.simplify_expr import SimplifyExprPass

NUMBER = TensorProto.FLOAT


def model(
    op: str,
    inputs: list[tuple[int, list[int]]],
    constants: list[Array],
    opset: int = 20,
    **attributes: Any,
) -> ModelProto:
    """A model of one node; large inputs are types only."""
    given: list[ValueInfoProto] = [
        helper.make_tensor_value_info(f"x{i}", dtype, shape)
        for i, (dtype, shape) in enumerate(inputs)
    ]
    stored = [numpy_helper.from_array(array, f"c{i}") for i, array in enumerate(constants)]
    names = [each.name for each in (*given, *stored)]
    node = helper.make_node(op, names, ["y"], "the_node", **attributes)
    return build([node], given, [untyped("y")], stored, opset)


def number(value: float, dtype: str = "int64") -> Array:
    return np.array(value, dtype)


SIDE = 2**18
LARGE = [
    model("EyeLike", [(NUMBER, [SIDE, SIDE])], []),
    model("Range", [], [number(0), number(2**40), number(1)]),
    model("HannWindow", [], [number(2**38)]),
    model(
        "MelWeightMatrix",
        [],
        [number(2**19), number(2**20), number(16000), number(0, "f4"), number(8000, "f4")],
    ),
    model(
        "ScatterElements",
        [(NUMBER, [SIDE, SIDE]), (TensorProto.INT64, [SIDE, SIDE]), (NUMBER, [SIDE, SIDE])],
        [],
        reduction="max",
    ),
    model("TensorScatter", [(NUMBER, [SIDE, SIDE, 1])] * 2, [], opset=24),
    model("Col2Im", [(NUMBER, [1, SIDE, SIDE])], [longs(2 * SIDE - 1), longs(SIDE)]),
    model(
        "DeformConv",
        [(NUMBER, [1, 1, SIDE, SIDE]), (NUMBER, [1, 1, 1, 1]), (NUMBER, [1, 2, SIDE, SIDE])],
        [],
    ),
    model("AffineGrid", [(NUMBER, [1, 2, 3])], [longs(1, 1, 2**36, 1)]),
    model(
        "DeformConv",
        [(NUMBER, [1, 1, 3, 3]), (NUMBER, [1, 1, 2, 2]), (NUMBER, [1, 8, 2, 2**36])],
        [],
    ),
    model(
        "Resize",
        [(NUMBER, [4, 4])],
        [np.zeros(0, np.float32), np.array([2**30, 1], np.float32)],
    ),
]


@pytest.mark.parametrize("large", LARGE, ids=lambda large: large.graph.node[0].op_type)
def test_constants_that_importing_computes(large: ModelProto):
    message = r"node 'the_node' \(\w+\): .* takes \d+ bytes, the limit .* is " + str(
        MAX_TABLE_BYTES
    )
    with pytest.raises(OnnxImportError, match=message):
        import_model(large)


EMPTY = [0, 2**40, 2**40]
"""No elements, but strides that no number can say."""
TOO_MANY = [*[1] * 64, 4]
"""NumPy's arrays have up to 64 dimensions."""
NO_ARRAYS = [
    (one_node("Expand", [np.zeros((0, 1, 1), np.float32)], [longs(*EMPTY)]), "elements"),
    (one_node("ConstantOfShape", [], [longs(*EMPTY)]), "elements"),
    (one_node("Reshape", [np.zeros(4, np.float32)], [longs(*TOO_MANY)]), "65 dimensions"),
    (one_node("Reshape", [], [np.zeros(4, np.float32), longs(*TOO_MANY)]), "65 dimensions"),
    (model("Relu", [(NUMBER, EMPTY)], []), "elements"),
    (model("Relu", [(NUMBER, TOO_MANY)], []), "65 dimensions"),
]


@pytest.mark.parametrize(("asking", "message"), NO_ARRAYS)
def test_shapes_that_no_array_has(asking: ModelProto, message: str):
    with pytest.raises(OnnxImportError, match=message):
        import_model(asking)


@pytest.mark.parametrize("shape", [EMPTY, TOO_MANY])
def test_initializers_of_shapes_that_no_array_has(shape: list[int]):
    asking = one_node("Relu", [], [np.zeros(4, np.float32)])
    (stored,) = asking.graph.initializer
    stored.ClearField("raw_data")
    stored.dims[:] = shape
    stored.float_data[:] = [0] * int(np.prod(shape))
    with pytest.raises(OnnxImportError, match=r"tensor 'c?\w+': tensor<.* (too large|65 dim)"):
        import_model(asking)


def test_sums_of_constants_with_too_many_repetitions_are_not_computed():
    """2^38 additions would take minutes."""
    nodes = [
        helper.make_node("ConstantOfShape", ["shape"], ["zeros"]),
        helper.make_node("ReduceSum", ["zeros"], ["y"], keepdims=0),
    ]
    shape = numpy_helper.from_array(longs(2**19, 2**19), "shape")
    module = import_model(build(nodes, [], [untyped("y")], [shape]))
    FoldConstantPass().apply(Context(), module)
    assert "relay.sum" in [op.name for op in operations(module)]


REPEATED = 2**26
"""More repetitions of a number than the importer computes with."""


def of_zeros(op: str, count: int, **attributes: Any) -> list[NodeProto]:
    """Nodes that make y of zeros, as many as `p` says."""
    zeros = helper.make_node("ConstantOfShape", ["p"], ["zeros"])
    return [zeros, helper.make_node(op, ["zeros"], ["y"], "the_node", **attributes)]


def stored(name: str, *numbers: int) -> TensorProto:
    return numpy_helper.from_array(longs(*numbers), name)


@pytest.mark.parametrize("op", ["NonZero", "Unique"])
def test_places_in_repeated_numbers(op: str):
    nodes = of_zeros(op, REPEATED)
    message = (
        rf"'the_node' \({op}\): .* input 0 \('X'\) has the shape .* takes {8 * REPEATED} bytes"
    )
    with pytest.raises(OnnxImportError, match=message):
        import_model(build(nodes, [], [untyped("y")], [stored("p", REPEATED)]))


def test_shapes_are_not_computed_from_too_many_repeated_numbers():
    nodes = [
        helper.make_node("ConstantOfShape", ["p"], ["zeros"], value=stored("value", 0)),
        helper.make_node("ReduceSum", ["zeros"], ["sum"], keepdims=0),
        helper.make_node("Expand", ["x", "sum"], ["y"]),
    ]
    x = helper.make_tensor_value_info("x", NUMBER, [1])
    with pytest.raises(OnnxImportError, match=r"\('shape'\) is not a constant"):
        import_model(build(nodes, [x], [untyped("y")], [stored("p", REPEATED)]))
    (result,) = by_import(
        build(nodes, [x], [untyped("y")], [stored("p", 9)]), [np.ones(1, np.float32)]
    )
    assert result.shape == (0,)


def test_what_folding_computes_on_the_way_has_limits():
    nodes = [
        *of_zeros("Cast", 1000, to=TensorProto.INT64),
        helper.make_node("ReduceSum", ["y"], ["sum"], keepdims=0),
        helper.make_node("Expand", ["x", "sum"], ["z"]),
    ]
    x = helper.make_tensor_value_info("x", NUMBER, [1])
    asking = build(nodes, [x], [untyped("z")], [stored("p", 1000)])
    import_model(asking, limits=Limits(max_bytes=8000))
    message = (
        r"relay.cast: the constant that it gives has 8000 bytes, the limit \(max_bytes\) is 7999"
    )
    with pytest.raises(OnnxImportError, match=message):
        import_model(asking, limits=Limits(max_bytes=7999))


def test_what_depends_on_inputs_does_not_have_its_weights_computed(monkeypatch: pytest.MonkeyPatch):
    """`Gather` asks whether its indices are constants."""
    nodes = [
        helper.make_node("Exp", ["w"], ["e"]),
        helper.make_node("MatMul", ["x", "e"], ["product"]),
        helper.make_node("ArgMax", ["product"], ["place"]),
        helper.make_node("Gather", ["w", "place"], ["y"]),
    ]
    weights = numpy_helper.from_array(np.arange(400, dtype=np.float32).reshape(20, 20), "w")
    x = helper.make_tensor_value_info("x", NUMBER, [3, 20])
    asking = build(nodes, [x], [untyped("y")], [weights])
    computed: list[str] = []
    run_op = RelayInterpreter.run_op

    def run(self: RelayInterpreter, op: Operation, inputs: tuple[Array, ...]) -> Any:
        computed.append(op.name)
        return run_op(self, op, inputs)

    monkeypatch.setattr(RelayInterpreter, "run_op", run)
    import_model(asking)
    assert computed == []


def test_memory_that_a_converter_does_not_get(monkeypatch: pytest.MonkeyPatch):
    def full(*given: Any, **options: Any) -> None:
        raise MemoryError("Unable to allocate 64.0 GiB")

    monkeypatch.setattr(np, "unique", full)
    message = r"'the_node' \(Unique\): not enough memory: Unable to allocate 64.0 GiB"
    with pytest.raises(OnnxImportError, match=message):
        import_model(one_node("Unique", [], [longs(1, 2)]))


def test_sequences_of_too_many_tensors_are_refused_before_they_are_made():
    count = 2**21
    given = helper.make_tensor_value_info("x", NUMBER, [2 * count - 1])
    split = helper.make_node("SplitToSequence", ["x", "two"], ["parts"], "the_node")
    k, two = stored("k", 3), numpy_helper.from_array(np.array(2), "two")
    message = r"'the_node' \(SplitToSequence\): .* has \d{7} operations, the limit \(max_nodes\)"
    with pytest.raises(OnnxImportError, match=message):
        at = helper.make_node("SequenceAt", ["parts", "k"], ["y"])
        import_model(build([split, at], [given], [untyped("y")], [k, two]))
    # Those of one shape are so where somebody takes them one by one.
    given = helper.make_tensor_value_info("x", NUMBER, [2 * count])
    inserted = helper.make_node("SequenceInsert", ["parts", "x"], ["more"], "another")
    message = r"'another' \(SequenceInsert\): .* has \d{7} operations, the limit \(max_nodes\)"
    with pytest.raises(OnnxImportError, match=message):
        at = helper.make_node("SequenceAt", ["more", "k"], ["y"])
        import_model(build([split, inserted, at], [given], [untyped("y")], [k, two]))


def test_ranges_may_be_long():
    stop = 100_000
    (result,) = by_import(one_node("Range", [], [number(0), number(stop), number(1)]), [])
    np.testing.assert_array_equal(result, np.arange(stop))


@pytest.mark.parametrize(("index", "place"), [(2**62, 1), (2**63 - 1, 1), (-(2**63), 1), (-1, 2)])
def test_places_far_outside_are_found_at_once(index: int, place: int):
    elements = longs(5, 6, 7)
    for indices in (number(index), longs(index)):
        model = one_node("Gather", [elements, indices])
        (found,) = by_import(model, [elements, indices])
        np.testing.assert_array_equal(found, np.full(indices.shape, elements[place]))


def test_passes_do_not_spread_constants_of_one_number():
    nodes = [
        helper.make_node("ConstantOfShape", ["shape"], ["zeros"]),
        helper.make_node("Add", ["x", "zeros"], ["y"]),
        helper.make_node("Exp", ["zeros"], ["z"]),
        helper.make_node("Sub", ["zeros", "x"], ["less"]),
        helper.make_node("Sub", ["y", "zeros"], ["twice"]),
        helper.make_node("Mul", ["twice", "zeros"], ["v"]),
    ]
    shape = numpy_helper.from_array(longs(SIDE, SIDE), "shape")
    given = helper.make_tensor_value_info("x", NUMBER, [SIDE])
    module = import_model(
        build(nodes, [given], [untyped(name) for name in ("y", "z", "less", "v")], [shape])
    )
    assert SIDE * SIDE * 4 > REPEATED_BYTES
    FoldConstantPass().apply(Context(), module)
    SimplifyExprPass(rules="cpu").apply(Context(), module)
    assert "exp" in [op.name.removeprefix("relay.") for op in operations(module)]


def test_memory_that_the_system_does_not_have():
    with pytest.raises(xrelay.ModelError, match=f"cannot allocate {2**62} bytes for output 'y'"):
        allocated([2**60], np.float32, "output 'y'")
    with pytest.raises(xrelay.ModelError, match="bytes for the workspace"):
        aligned_bytes(2**60, "the workspace")


def test_the_memory_of_a_program():
    data = np.zeros((1, 3, 9, 9), np.float32)
    node = one_node("MaxPool", [data], kernel_shape=[2, 2], strides=[2, 2])
    program = lower(import_model(node), CompileOptions())
    needed = program.constant_bytes + program.workspace_bytes
    require_memory(program, Limits(max_bytes=needed))
    with pytest.raises(CompileError, match=rf"take {needed} bytes, .* bytes, is made for relay\."):
        require_memory(program, Limits(max_bytes=needed - 1))


PRODUCT = helper.make_node("MatMul", ["x", "w"], ["a"])
WORKSPACES = {
    "no buffers": ([helper.make_node("Add", ["x", "c"], ["y"])], [5, 3], ""),
    "no elements": ([PRODUCT, helper.make_node("MatMul", ["a", "w"], ["y"])], [0, 3], ""),
    "scratch of a step": (
        [
            PRODUCT,
            helper.make_node("Softmax", ["a"], ["s"], "the_softmax"),
            helper.make_node("MatMul", ["s", "w"], ["y"]),
        ],
        [5, 3],
        "; the largest part of it, 64 bytes, is made for relay.fused %the_softmax of node 'the_softmax'",
    ),
}


@pytest.mark.parametrize("name", WORKSPACES)
def test_what_takes_most_of_the_workspace(name: str):
    nodes, shape, expected = WORKSPACES[name]
    stored = [
        numpy_helper.from_array(np.eye(3, dtype=np.float32), "w"),
        numpy_helper.from_array(np.ones(3, np.float32), "c"),
    ]
    given = helper.make_tensor_value_info("x", NUMBER, shape)
    program = lower(import_model(build(nodes, [given], [untyped("y")], stored)), CompileOptions())
    assert largest_share(program) == expected
