"""The ONNX importer: order and names of the program, shapes of inputs, files, and what it refuses."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from onnx import ModelProto, TensorProto, helper, numpy_helper
from onnx_models import (
    Samples,
    build,
    by_import,
    kinds,
    longs,
    main,
    one_node,
    operations,
    untyped,
    value_info,
)
from xdsl.dialects.builtin import NameLoc

from xrelay.dialects.core.values import ConstantOp
from xrelay.dialects.model_names import ONNX_NAME
from xrelay.frontends.onnx import OnnxImportError, import_model, load_model
from xrelay.frontends.onnx.importer.converters import NEWEST_OPSET

SAMPLES = Samples(11)
floats, bools = SAMPLES.floats, SAMPLES.bools


# The shape of the program


def test_operations_are_in_post_dfs_order():
    """The second input of each node comes first in the file."""
    nodes = [
        helper.make_node("Abs", ["y"], ["right"]),
        helper.make_node("Exp", ["x"], ["left"]),
        helper.make_node("Neg", ["x"], ["unused"]),
        helper.make_node("Add", ["left", "right"], ["sum"]),
        helper.make_node("Tanh", ["right"], ["second"]),
    ]
    values = [value_info("x", floats(2)), value_info("y", floats(2))]
    first = build(nodes, values, [untyped("sum"), untyped("second")])
    assert kinds(first) == ["exp", "abs", "add", "tanh"]
    other = build(nodes, values, [untyped("second"), untyped("sum")])
    assert kinds(other) == ["abs", "tanh", "exp", "add"]


def test_unsorted_nodes_are_sorted():
    nodes = [helper.make_node("Exp", ["a"], ["b"]), helper.make_node("Abs", ["x"], ["a"])]
    assert kinds(build(nodes, [value_info("x", floats(2))], [untyped("b")])) == ["abs", "exp"]


def test_dropped_operations_use_nothing():
    nodes = [
        helper.make_node("Abs", ["x"], ["a"]),
        helper.make_node("Dropout", ["a"], ["b", "mask"]),
        helper.make_node("Split", ["b"], ["c", "d"]),
    ]
    module = import_model(build(nodes, [value_info("x", floats(4))], [untyped("d")], opset=9))
    placed = list(module.walk())
    for op in placed:
        for result in op.results:
            assert all(use.operation in placed for use in result.uses)
    assert [op.name for op in operations(module)] == [
        "relay.abs",
        "relay.split",
        "relay.tuple_get_item",
    ]


def test_scalar_constants_are_copied_for_each_use_and_others_are_shared():
    nodes = [
        helper.make_node("Mul", ["x", "scalar"], ["a"]),
        helper.make_node("Add", ["a", "scalar"], ["b"]),
        helper.make_node("Mul", ["b", "vector"], ["c"]),
        helper.make_node("Add", ["c", "vector"], ["d"]),
        helper.make_node("Mul", ["scalar", "scalar"], ["e"]),
        helper.make_node("Add", ["d", "e"], ["y"]),
    ]
    scalar, vector = np.array(2.0, np.float32), floats(100)
    initializers = [
        numpy_helper.from_array(scalar, "scalar"),
        numpy_helper.from_array(vector, "vector"),
    ]
    data = floats(100)
    model = build(nodes[:4], [value_info("x", data)], [untyped("d")], initializers)
    constants = [op for op in operations(import_model(model)) if isinstance(op, ConstantOp)]
    assert [(len(op.result.type.get_shape()), op.result.uses.get_length()) for op in constants] == [
        (0, 1),
        (0, 1),
        (1, 2),
    ]
    whole = build(nodes, [value_info("x", data)], [untyped("y")], initializers)
    (result,) = by_import(whole, [data])
    np.testing.assert_allclose(result, (data * 2 + 2) * vector + vector + 4, 1e-5)


def test_scalars_that_are_computed_are_shared():
    nodes = [
        helper.make_node("ReduceSum", ["x"], ["s"], keepdims=0),
        helper.make_node("Mul", ["x", "s"], ["a"]),
        helper.make_node("Add", ["a", "s"], ["y"]),
    ]
    assert kinds(build(nodes, [value_info("x", floats(3))], [untyped("y")])) == [
        *("sum", "multiply", "add"),
    ]


def test_deep_models_need_no_recursion():
    count = 3000
    nodes = [helper.make_node("Abs", [f"v{i}"], [f"v{i + 1}"]) for i in range(count)]
    model = build(nodes, [value_info("v0", floats(2))], [untyped(f"v{count}")])
    assert len(operations(import_model(model))) == count


def test_names():
    nodes = [
        helper.make_node("Abs", ["in/put:0"], ["1st output"], "layer/abs"),
        helper.make_node("Exp", ["1st output"], ["2:0"]),
        helper.make_node("Mul", ["2:0", "w/1"], ["out 1"], "123"),
    ]
    weight = numpy_helper.from_array(floats(3, 40), "w/1")
    model = build(nodes, [value_info("in/put:0", floats(3, 40))], [untyped("out 1")], [weight])
    module = import_model(model)
    function = main(module)
    locations = [op.location for op in operations(module)]
    names = [location.desc.data for location in locations if isinstance(location, NameLoc)]
    assert names == ["layer/abs", "2:0", "w/1", "123"]
    hints = [op.results[0].name_hint for op in operations(module)]
    assert hints == ["layer_abs", "v2", "w", "v123"]
    assert function.body.block.args[0].name_hint == "in_put"
    assert function.arg_attrs is not None and function.res_attrs is not None
    assert [str(each.data[ONNX_NAME]) for each in function.arg_attrs] == ['"in/put:0"']
    assert [str(each.data[ONNX_NAME]) for each in function.res_attrs] == ['"out 1"']
    assert 'onnx.name = "out 1"' in str(module)


def test_outputs_may_be_inputs_and_initializers():
    data, weight = floats(2), floats(3)
    model = build(
        [helper.make_node("Identity", ["x"], ["y"])],
        [value_info("x", data)],
        [untyped("y"), untyped("w"), untyped("y")],
        [numpy_helper.from_array(weight, "w")],
    )
    for result, expected in zip(by_import(model, [data]), [data, weight, data], strict=True):
        np.testing.assert_array_equal(result, expected)


def test_initializers_among_the_inputs_are_constants():
    weight = floats(3)
    model = build(
        [helper.make_node("Mul", ["x", "w"], ["y"])],
        [value_info("w", weight), value_info("x", weight)],
        [untyped("y")],
        [numpy_helper.from_array(weight, "w")],
    )
    model.ir_version = 3
    np.testing.assert_array_equal(by_import(model, [weight])[0], weight * weight)


# Shapes of inputs


def dynamic(shapes: dict[str, list[int | str | None]]) -> ModelProto:
    """A model that adds inputs of the given shapes."""
    inputs = [
        helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)
        for name, shape in shapes.items()
    ]
    return build([helper.make_node("Sum", list(shapes), ["y"])], inputs, [untyped("y")])


def argument_shapes(model: ModelProto, shapes: dict[str, list[int]]) -> list[tuple[int, ...]]:
    function = main(import_model(model, shapes=shapes))
    return [type_.get_shape() for type_ in function.function_type.inputs]


def test_shapes_fix_unknown_dimensions():
    model = dynamic({"a": ["N", 3], "b": ["N", 3]})
    assert argument_shapes(model, {"a": [4, 3]}) == [(4, 3), (4, 3)]
    assert argument_shapes(model, {"b": [5, 3], "a": [5, 3]}) == [(5, 3), (5, 3)]
    assert argument_shapes(dynamic({"a": [None, 3]}), {"a": [4, 3]}) == [(4, 3)]


def test_shapes_give_a_shape_where_there_is_none():
    model = dynamic({"a": [1]})
    model.graph.input[0].type.tensor_type.ClearField("shape")
    assert argument_shapes(model, {"a": [4, 3]}) == [(4, 3)]
    with pytest.raises(OnnxImportError, match="input 'a' has no shape"):
        import_model(model)


@pytest.mark.parametrize(
    "shapes, message",
    [
        (
            {},
            r"input 'a' has the unknown dimension 0 \('N'\), 2; .*: use shapes=\{\"a\": \[N, 3, …\]",
        ),
        (
            {"c": [1]},
            "shapes= names 'c', which is neither an input nor an unknown dimension; inputs: 'a', 'b'",
        ),
        ({"N": 2**31}, r"the length of 'N' in shapes= is 2147483648, expected"),
        ({"a": [4]}, r"the shape \[4\] of rank 1, the model states \[N, 3, \?\] of rank 3"),
        ({"a": [4, 5, 6]}, r"the model states \[N, 3, \?\]: dimension 1 is 3"),
        ({"a": [4, 3, 1], "b": [5, 3, 1]}, "symbol 'N' the length 4 in input 'a' and 5"),
        ({"a": [-1, 3, 1]}, "expected no negative number"),
        ({"a": [0, 3, 2**64]}, "input 'a' has the shape .* with more than"),
    ],
)
def test_bad_shapes(shapes: dict[str, list[int]], message: str):
    model = dynamic({"a": ["N", 3, None], "b": ["N", 3, 1]})
    with pytest.raises(OnnxImportError, match=message):
        import_model(model, shapes=shapes)


def test_messages_say_an_int():
    model: Any = ModelProto()
    shapes: Any = 3
    with pytest.raises(OnnxImportError, match="shapes is an int, expected a mapping"):
        import_model(model, shapes=shapes)


def test_inputs_must_be_tensors():
    model = dynamic({"a": [1]})
    sequence = helper.make_tensor_sequence_value_info("a", TensorProto.FLOAT, [1])
    model.graph.input[0].CopyFrom(sequence)
    with pytest.raises(OnnxImportError, match="input 'a' is a sequence, of a length"):
        import_model(model)
    model = dynamic({"a": [1]})
    model.graph.input[0].type.tensor_type.elem_type = TensorProto.STRING
    with pytest.raises(OnnxImportError, match="input 'a' has elements of type STRING"):
        import_model(model)


# What is not supported


def test_all_unsupported_nodes_are_listed_at_once():
    nodes = [
        helper.make_node("NonZero", ["x"], ["a"], "first"),
        helper.make_node("Relu", ["a"], ["b"]),
        helper.make_node("Fancy", ["b"], ["c"], "second", domain="com.example"),
        helper.make_node("MaxPool", ["c"], ["d"], "third", kernel_shape=[2, 2], strides=[2]),
        helper.make_node("Unknown", ["x"], ["unused"]),
        helper.make_node("Relu", ["x"], ["f"], "fourth", slope=2.0),
        helper.make_node("Add", ["d", "f"], ["e"]),
        helper.make_node("StringNormalizer", ["x"], ["g"]),
        helper.make_node("Sum", ["e", "g"], ["y"]),
    ]
    model = build(nodes, [value_info("x", floats(2, 3))], [untyped("y")])
    with pytest.raises(OnnxImportError) as error:
        import_model(model)
    message = str(error.value)
    assert message.startswith("cannot import model 'g': 5 nodes are not supported:\n")
    for expected in (
        "node 'first': op type NonZero, domain 'ai.onnx', opset 13: input 0 ('X') is not a constant",
        "node 'second': op type Fancy, domain 'com.example', opset unknown: the operator is not",
        "node 'third': op type MaxPool, domain 'ai.onnx', opset 13: 'strides' is [2]",
        "node 'fourth': op type Relu, domain 'ai.onnx', opset 13: it has the attribute 'slope'",
        "the node that computes 'g': op type StringNormalizer, domain 'ai.onnx', opset 13: it is about str",
    ):
        assert expected in message
    assert "Unknown" not in message


def test_wrong_nodes_are_listed_with_those_that_are_not_supported():
    nodes = [
        helper.make_node("AveragePool", ["x"], ["a"], "wide", kernel_shape=[9, 9]),
        helper.make_node("Fancy", ["x"], ["b"], "fancy", domain="com.example"),
        helper.make_node("Add", ["n", "n"], ["c"], "nibbles"),
        helper.make_node("Cast", ["c"], ["d"], to=TensorProto.FLOAT),
        helper.make_node("Sum", ["a", "b", "d"], ["y"]),
    ]
    inputs = [
        value_info("x", floats(1, 1, 4, 4)),
        helper.make_tensor_value_info("n", TensorProto.INT4, [1]),
    ]
    with pytest.raises(OnnxImportError) as error:
        import_model(build(nodes, inputs, [untyped("y")], opset=21))
    message = str(error.value)
    assert "3 nodes are not supported:\n" in message
    for expected in (
        "node 'wide' (AveragePool): the window covers 9 elements",
        "node 'fancy': op type Fancy, domain 'com.example'",
        "node 'nibbles': op type Add, domain 'ai.onnx', opset 21: input 0 has elements of type int4",
    ):
        assert expected in message


@pytest.mark.parametrize(
    "model, message",
    [
        (
            one_node("Conv", [floats(1, 2, 8, 8, 8, 8)], [floats(3, 2, 3, 3, 3, 3)]),
            "only lines, images and volumes, of rank 3 to 5",
        ),
        (
            one_node("Conv", [floats(1, 2, 8)], [floats(3, 2, 3)], pads=[0] * 4),
            r"'pads' is \[0, 0, 0, 0\]: expected 2 numbers",
        ),
        (
            one_node("ConvTranspose", [floats(1, 2, 8, 8)], [floats(2, 3, 3, 3)], pads=[0] * 6),
            r"'pads' is \[0, 0, 0, 0, 0, 0\]: expected 4 numbers",
        ),
        (one_node("MaxPool", [floats(1)], kernel_shape=[2] * 4), "expected one to three numbers"),
        *(
            (one_node("Tile", [floats(2, 3)], [tiles, axis], opset=1), "must have one element")
            for tiles, axis in ((longs(2, 2), longs(1)), (longs(2), longs(0, 1)))
        ),
        (one_node("HannWindow", [], [longs(4, 5)], opset=17), r"is \[4, 5\], expected one number"),
        (
            one_node("BatchNormalization", [floats(1, 3, 2, 2)], [floats(3)] * 4, outputs=2),
            r"output 1 \('out1'\) is not supported",
        ),
        (
            one_node("Conv", [floats(1, 2, 8, 8)], [floats(3, 2, 3, 3)], auto_pad="SOME"),
            "'auto_pad' is \"SOME\"",
        ),
        (
            one_node("Conv", [floats(1, 2, 8, 8)], [floats(3, 2, 3, 3)], pads=[0, 0, 0, -1]),
            "accepted range is",
        ),
        (
            one_node(
                "BatchNormalization", [floats(1, 3, 2, 2)], [floats(3)] * 4, opset=7, spatial=0
            ),
            "'spatial' is 0",
        ),
        (
            one_node("Dropout", [floats(3)], [np.array(1.5), np.array(True)]),
            r"input 1 \('ratio'\) is 1.5, expected a number in \[0, 1\)",
        ),
        (one_node("Reshape", [floats(2), longs(2)]), r"input 1 \('shape'\) is not a constant"),
        (one_node("Slice", [floats(2), longs(0), longs(1)]), r"input 1 \('starts'\) is not a con"),
        (one_node("Where", [bools(2), floats(2), floats(2)], opset=8), "since operator set 9"),
        (
            one_node("Relu", [floats(2)], opset=NEWEST_OPSET + 1),
            "the newest supported operator set",
        ),
        (one_node("Pad", [floats(2)], [longs(1, 1)], mode="mirror"), "'mode' is \"mirror\""),
        (one_node("Range", [], [longs(0)[0:1].reshape(()), np.array(10**9), np.array(1)]), "limit"),
        (one_node("Cast", [floats(2)], to=TensorProto.STRING), "elements of type STRING"),
    ],
)
def test_unsupported(model: ModelProto, message: str):
    with pytest.raises(OnnxImportError, match=message):
        import_model(model)


def test_unused_second_output_is_no_problem():
    model = one_node("MaxPool", [floats(1, 2, 8, 8)], kernel_shape=[2, 2], outputs=2)
    del model.graph.output[1]
    assert kinds(model) == ["nn.max_pool2d"]


# Broken models


@pytest.mark.parametrize(
    "model, message",
    [
        (one_node("Add", [floats(2), floats(3)]), r"node 'the_node' \(Add\): .* do not broadcast"),
        (one_node("Add", [floats(2)]), r"\(Add\): input 1 is missing"),
        (one_node("Add", [floats(2), None]), r"\(Add\): input 1 is missing"),
        (one_node("Sum", []), "it has no inputs"),
        (
            one_node("Add", [floats(2), longs(1, 2)]),
            r"input 0 \('A'\) has elements of type float32 and input 1 \('B'\) of type int64",
        ),
        (one_node("LRN", [floats(1, 2, 3, 4)]), "attribute 'size' is missing"),
        (one_node("LRN", [floats(1, 2, 3, 4)], size=1.5), "'size' is of type FLOAT, expected INT"),
        (one_node("MaxPool", [floats(1, 2, 3, 4)]), "attribute 'kernel_shape' is missing"),
        (one_node("Reshape", [floats(6)], [longs(4, 2)]), "has 6"),
        (one_node("Reshape", [floats(6)], [longs(2, -2)]), "a number below -1"),
        (
            one_node("Reshape", [floats(6)], [floats(1)]),
            r"input 1 \('shape'\) has elements of type float32, expected int64",
        ),
        (one_node("Reshape", [floats(6)], [longs(2, 3)[None]]), "expected a list of integers"),
        (one_node("MatMul", [floats(2, 3), floats(2, 3)]), "the first has rows of 3 elements"),
        (one_node("Gemm", [floats(2, 3), floats(3, 4), floats(3, 2, 4)]), "does not broadcast"),
        (one_node("Split", [floats(5)], outputs=2), "does not divide into 2 parts"),
        (one_node("Split", [floats(5)], [longs(1, 2)], outputs=2), r"'split' is \[1, 2\]"),
        (
            one_node("Split", [floats(5)], [longs(4)]),
            r"'split' is \[4\], it has 1 output and axis 0",
        ),
        (one_node("Split", [floats(5)], opset=11, split=[6]), r"'split' is \[6\]"),
        (one_node("Split", [floats(5)], opset=2, split=[2, 3]), r"'split' is \[2, 3\]"),
        (one_node("Concat", [floats(5)], axis=1), r"'axis' is 1, accepted range is \[-1, 0\]"),
        (one_node("Squeeze", [floats(5)], [longs(0)]), "'axis' names dimension 0 of length 5"),
        (one_node("Unsqueeze", [floats(5)], [longs(0, 0)]), "names a dimension twice"),
        (one_node("Softmax", [floats(5)], axis=3), r"'axis' is 3, accepted range is \[-1, 0\]"),
        (one_node("Softmax", [floats(5)], axis=3, opset=9), "'axis' is 3"),
        (one_node("BitShift", [longs(1), longs(1)], direction="UP"), "'direction' is \"UP\""),
        (
            one_node("Conv", [floats(1, 2, 8, 8)], [floats(3, 2, 3)]),
            "of another rank",
        ),
        (
            one_node("ConvTranspose", [floats(1, 2, 8)], [floats(2, 3, 3)], output_padding=[0, -1]),
            r"'output_padding' is \[0, -1\], expected a number in",
        ),
        (
            one_node("Conv", [floats(1, 2, 8, 8)], [floats(3, 2, 3, 3)], kernel_shape=[2, 2]),
            r"'kernel_shape' is \[2, 2\], the weight has \[3, 3\]",
        ),
        (
            one_node("Conv", [floats(1, 2, 8, 8)], [floats(3, 2, 3, 3)], strides=[0, 1]),
            "'strides' is",
        ),
        (
            one_node(
                "Conv",
                [floats(1, 2, 8, 8)],
                [floats(3, 2, 3, 3)],
                strides=[0, 1],
                auto_pad="SAME_UPPER",
            ),
            "'strides' is",
        ),
        (one_node("Expand", [floats(3)], [longs(2)]), "do not broadcast"),
        (one_node("Expand", [floats(3)], [longs(-1)]), "expected numbers that are not neg"),
        (one_node("ConstantOfShape", [], [longs(-1)]), "expected numbers that are not neg"),
        (one_node("ConstantOfShape", [], [longs(2**30, 2**30)]), "more than"),
        (one_node("Tile", [floats(2**10)], [longs(2**40)]), "more than"),
        (one_node("Range", [], [np.array(0.0), np.array(np.inf), np.array(1.0)]), "range from"),
    ],
)
def test_broken_node(model: ModelProto, message: str):
    with pytest.raises(OnnxImportError, match=message):
        import_model(model)


def test_broken_graphs():
    x = value_info("x", floats(2))
    exp, again = helper.make_node("Exp", ["x"], ["y"], "n"), helper.make_node("Exp", ["y"], ["y"])
    loop = [helper.make_node("Add", ["x", "b"], ["a"]), helper.make_node("Abs", ["a"], ["b"])]
    weight = numpy_helper.from_array(floats(2), "y")
    twins = [numpy_helper.from_array(floats(2), "x") for _ in range(2)]
    wrong = helper.make_tensor_value_info("y", TensorProto.INT64, [2])
    for model, message in (
        (build([exp], [], [untyped("y")]), "node 'n' uses 'x', which is no input, initializer"),
        (build([exp], [x], [untyped("z")]), "the graph uses 'z', which is no input"),
        (build([exp, again], [x], [untyped("y")]), "'y' is defined twice"),
        (build([exp], [x], [untyped("y")], [weight]), "'y' is defined twice"),
        (build([exp], [x, value_info("y", floats(2))], [untyped("y")]), "'y' is an input and"),
        (build([exp], [x, x], [untyped("y")]), "two inputs have the name 'x'"),
        (build([exp], [], [untyped("y")], twins), "two initializers have the name 'x'"),
        (build(loop, [x], [untyped("b")]), "the graph has a cycle through"),
        (build([exp], [x], [wrong]), "output 'y' is stated with elements of type i64"),
    ):
        with pytest.raises(OnnxImportError, match=message):
            import_model(model)


# Files


@pytest.fixture
def model_file(tmp_path: Path) -> Path:
    path = tmp_path / "model.onnx"
    path.write_bytes(one_node("MatMul", [floats(2, 3)], [floats(3, 40)]).SerializeToString())
    return path


def test_import_of_a_file(model_file: Path):
    assert kinds(load_model(model_file)) == ["nn.matmul"]
    assert [op.name for op in operations(import_model(str(model_file)))] == [
        "relay.constant",
        "relay.nn.matmul",
    ]


def test_files_that_are_no_models(tmp_path: Path):
    path = tmp_path / "model.onnx"
    with pytest.raises(OnnxImportError, match="model.onnx': there is no such file"):
        import_model(path)
    with pytest.raises(OnnxImportError, match="it is a directory"):
        import_model(tmp_path)
    tensor = numpy_helper.from_array(floats(3), "w").SerializeToString()
    empty = build([], [], []).SerializeToString()
    for content, message in (
        (b"", "the file is empty"),
        (b"no model at all", "not an ONNX"),
        (bytes(range(256)) * 40, "not an ONNX"),
        (b"\0" * 100, "not an ONNX"),
        (tensor, "not an ONNX"),
        (empty, "its graph is empty"),
    ):
        path.write_bytes(content)
        with pytest.raises(OnnxImportError, match=message):
            load_model(path)


def test_every_cut_off_file_is_an_error(model_file: Path):
    content = model_file.read_bytes()
    for length in range(len(content)):
        model_file.write_bytes(content[:length])
        with pytest.raises(OnnxImportError):
            import_model(model_file)


def test_names_must_be_text(model_file: Path):
    content = model_file.read_bytes()
    assert content.count(b"the_node") == 1
    model_file.write_bytes(content.replace(b"the_node", b"the_n\xff\xfee"))
    with pytest.raises(OnnxImportError, match="is not UTF-8 text"):
        import_model(model_file)


@pytest.mark.parametrize("place", ["graph of a node", "function"])
def test_names_in_bodies_must_be_text(model_file: Path, place: str):
    model = ModelProto.FromString(model_file.read_bytes())
    node = helper.make_node("Relu", ["x"], ["the_output"])
    if place == "function":
        model.functions.add().node.append(node)
    else:
        branch = helper.make_graph([node], "branch", [], [])
        model.graph.node.append(helper.make_node("If", ["c"], ["z"], then_branch=branch))
    content = model.SerializeToString()
    model_file.write_bytes(content.replace(b"the_output", b"the_o\xff\xfeput"))
    with pytest.raises(OnnxImportError, match="is not UTF-8 text"):
        import_model(model_file)


def test_sparse_initializers():
    model = one_node("Relu", [floats(2)])
    model.graph.sparse_initializer.add(dims=[2]).values.name = "the_weights"
    with pytest.raises(OnnxImportError, match="its initializer 'the_weights' is a sparse tensor"):
        import_model(model)


def test_models_without_operator_set():
    model = one_node("Relu", [floats(2)])
    del model.opset_import[:]
    with pytest.raises(OnnxImportError, match="it names no operator set"):
        import_model(model)
    model.ir_version = 2
    assert kinds(model) == ["nn.relu"]
