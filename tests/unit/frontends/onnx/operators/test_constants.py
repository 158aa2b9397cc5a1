"""Constants, arithmetic on shapes, and what of it is folded, against onnxruntime or NumPy."""

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper
from onnx_models import (
    Samples,
    build,
    by_import,
    by_onnxruntime,
    check,
    kinds,
    longs,
    one_node,
    operations,
    require_equal,
    untyped,
    value_info,
)
from xdsl.dialects.builtin import DenseIntOrFPElementsAttr

from xrelay.dialects.core.values import ConstantOp
from xrelay.frontends.onnx import OnnxImportError, import_model

SAMPLES = Samples(7)
floats = SAMPLES.floats


def test_constant_nodes():
    tensor = numpy_helper.from_array(floats(2, 2))
    for value in (
        {"value": tensor},
        {"value_int": 3},
        {"value_ints": [3, 4]},
        {"value_float": 1.5},
        {"value_floats": [1.5, 2.5]},
    ):
        model = one_node("Constant", [], **value)
        require_equal(by_import(model, []), by_onnxruntime(model, []))
        assert kinds(model) == []


def test_constant_of_other_kinds_is_not_supported():
    with pytest.raises(OnnxImportError, match="'value_string'"):
        import_model(one_node("Constant", [], value_string="text"))


@pytest.mark.parametrize("dtype", ["float32", "int64", "bool", "float16"])
def test_constant_of_shape(dtype: str):
    value = numpy_helper.from_array(np.ones(1, dtype))
    check("ConstantOfShape", [], [longs(2, 3)], value=value)


def test_constant_of_shape_is_zero_without_value():
    check("ConstantOfShape", [], [longs(2, 3)])
    check("ConstantOfShape", [], [longs(0, 3)])
    check("ConstantOfShape", [], [longs()])


def test_large_constant_of_shape_is_one_element():
    value = numpy_helper.from_array(np.full(1, 0.5, np.float32))
    model = one_node("ConstantOfShape", [], [longs(1000, 1000, 1000, 1000)], value=value)
    (constant,) = operations(import_model(model))
    assert isinstance(constant, ConstantOp)
    assert isinstance(constant.value, DenseIntOrFPElementsAttr)
    assert constant.result.type.get_shape() == (1000, 1000, 1000, 1000)
    assert constant.value.data.data == np.float32(0.5).tobytes()


def test_shape_and_size():
    data = floats(2, 3, 4)
    check("Shape", [data])
    check("Shape", [data], opset=15, start=1)
    check("Shape", [data], opset=15, start=-2, end=-1)
    check("Size", [data])


@pytest.mark.parametrize("bounds", [(2, 11, 3), (5, -5, -2), (3, 3, 1), (0.5, 2.0, 0.25)])
def test_range(bounds: tuple[float, float, float]):
    check("Range", [], [np.array(bound) for bound in bounds])


def test_computed_shapes_are_folded():
    """What exporters write for x.reshape(x.shape[0] // 2, -1, 4), and some detours."""
    nodes = [
        helper.make_node("Shape", ["x"], ["shape"]),
        helper.make_node("Gather", ["shape", "zero"], ["rows"]),
        helper.make_node("Div", ["rows", "two"], ["half"]),
        helper.make_node("Unsqueeze", ["half", "axes"], ["half1"]),
        helper.make_node("Slice", ["shape", "axes", "minus"], ["front"]),
        helper.make_node("ReduceProd", ["front"], ["product"]),
        helper.make_node("Mul", ["product", "minus"], ["negative"]),
        helper.make_node("Min", ["negative", "minus"], ["bounded"]),
        helper.make_node("Max", ["bounded", "minus"], ["inferred"]),
        helper.make_node("Cast", ["inferred"], ["real"], to=TensorProto.FLOAT),
        helper.make_node("Floor", ["real"], ["whole"]),
        helper.make_node("Cast", ["whole"], ["integer"], to=TensorProto.INT64),
        helper.make_node("Concat", ["half1", "integer", "four"], ["joined"], axis=0),
        helper.make_node("Split", ["joined", "parts"], ["first", "rest"]),
        helper.make_node("Concat", ["first", "rest"], ["again"], axis=0),
        helper.make_node("Equal", ["again", "minus"], ["is_minus"]),
        helper.make_node("Where", ["is_minus", "minus", "again"], ["new"]),
        helper.make_node("Reshape", ["x", "new"], ["y"]),
    ]
    initializers = [
        numpy_helper.from_array(array, name)
        for name, array in {
            "zero": np.array(0),
            "two": np.array(2),
            "axes": longs(0),
            "minus": longs(-1),
            "four": longs(4),
            "parts": longs(1, 2),
        }.items()
    ]
    data = floats(6, 2, 2)
    model = build(nodes, [value_info("x", data)], [untyped("y")], initializers)
    require_equal(by_import(model, [data]), [data.reshape(3, -1, 4)])
    assert kinds(model) == ["reshape"]


def test_weights_are_not_folded():
    model = build(
        [
            helper.make_node("Unsqueeze", ["w", "axes"], ["u"]),
            helper.make_node("Mul", ["x", "u"], ["y"]),
        ],
        [value_info("x", floats(2, 64, 3))],
        [untyped("y")],
        [numpy_helper.from_array(floats(64), "w"), numpy_helper.from_array(longs(1), "axes")],
    )
    assert kinds(model) == ["expand_dims", "multiply"]
