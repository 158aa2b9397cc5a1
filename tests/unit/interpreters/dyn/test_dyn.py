"""
Operators whose result has a shape that operands decide: types, with and without constants, and the
NumPy meaning.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest
from operator_oracles import F32, close, evaluate, reference, same, sample
from xdsl.dialects import func
from xdsl.dialects.builtin import DYNAMIC_INDEX, FunctionType, ModuleOp, TensorType, TupleType, f32
from xdsl.ir import Attribute, Block, Region
from xdsl.utils.exceptions import InterpretationError, VerifyException

import xrelay
from xrelay.dialects.dyn import image as dyn_image
from xrelay.dialects.dyn import select as dyn_select
from xrelay.dialects.dyn import tensor as dyn
from xrelay.dialects.dyn.base import DynamicOp
from xrelay.dialects.shapes import boolean
from xrelay.interpreters.arrays import Array, type_of
from xrelay.interpreters.constants import constant_op

X = sample(1, (2, 3, 4), F32, edges=False)
ROW = np.array([4.0, 1.0, 3.0], F32)
SCALAR = np.array(7, np.float32)
PLACES = np.array([[0, 1], [2, 0]])


def ints(*numbers: int) -> Array:
    return np.array(numbers, np.int64)


Build = Callable[..., DynamicOp]

CASES: dict[str, tuple[Build, list[Array], Any]] = {
    "broadcast_to": (dyn.DynBroadcastToOp, [ROW, ints(2, 3)], np.broadcast_to(ROW, (2, 3))),
    "expand_dims": (
        lambda *v: dyn.DynExpandDimsOp(*v, num_newaxis=2),
        [X, np.array(1)],
        X.reshape(2, 1, 1, 3, 4),
    ),
    "expand_dims of one": (dyn.DynExpandDimsOp, [X, ints(-1)], X[..., None]),
    "full": (dyn.DynFullOp, [SCALAR, ints(2, 0, 3)], np.full((2, 0, 3), 7, F32)),
    "ones": (lambda v: dyn.DynOnesOp(v, f32), [ints(2, 3)], np.ones((2, 3), F32)),
    "zeros": (lambda v: dyn.DynZerosOp(v, f32), [ints()], np.zeros((), F32)),
    "reshape": (dyn.DynReshapeOp, [X, ints(0, -1)], X.reshape(2, 12)),
    "squeeze": (dyn.DynSqueezeOp, [X[:, :1, :, None], ints(1, -1)], X[:, 0]),
    "strided_slice": (
        dyn.DynStridedSliceOp,
        [X, ints(1, -1), ints(2, -9), ints(1, -2)],
        X[1:2, ::-2],
    ),
    "strided_slice by size": (
        lambda *v: dyn.DynStridedSliceOp(*v, slice_mode="size", axes=[2]),
        [X, ints(1), ints(2), ints(1)],
        X[..., 1:3],
    ),
    "tile": (dyn.DynTileOp, [X, ints(2, 1)], np.tile(X, (2, 1))),
    "tile to more axes": (dyn.DynTileOp, [ROW, ints(2, 3)], np.tile(ROW, (2, 3))),
    "one_hot": (
        lambda *v: dyn_select.DynOneHotOp(*v, axis=0),
        [ints(1, 0, 5), SCALAR, np.array(0, F32), np.array(2)],
        np.array([[0, 7, 0], [7, 0, 0]], F32),
    ),
    "pad": (
        dyn_select.DynPadOp,
        [ROW, np.array([[1, 2]]), SCALAR],
        np.array([7, 4, 1, 3, 7, 7], F32),
    ),
    "reflecting pad": (
        lambda *v: dyn_select.DynPadOp(*v, pad_mode="reflect"),
        [ROW, np.array([[1, 0]]), SCALAR],
        np.array([1, 4, 1, 3], F32),
    ),
    "sparse_to_dense": (
        dyn_select.DynSparseToDenseOp,
        [PLACES, np.array([5, 6], F32), SCALAR, ints(3, 2)],
        np.array([[7, 5], [7, 7], [6, 7]], F32),
    ),
    "upsampling": (
        dyn_select.DynUpsamplingOp,
        [X[None], np.array(2, F32), np.array(1.5, F32)],
        X[None].repeat(2, 2)[..., [0, 0, 1, 2, 2, 3]],
    ),
    "topk": (
        lambda *v: dyn_select.DynTopkOp(*v, ret_type="values"),
        [ROW, np.array(2)],
        np.array([4, 3], F32),
    ),
}
"""A builder, operands, and the result."""
EACH = pytest.mark.parametrize("name", CASES)


@EACH
def test_meaning(name: str):
    build, operands, expected = CASES[name]
    same(evaluate(build, *operands), np.asarray(expected))


def operation(name: str, *, constant: bool) -> DynamicOp:
    """The operator on parameters, with deciding operands that are constants or not."""
    build, operands, _ = CASES[name]
    block = Block(arg_types=[type_of(value) for value in operands])
    op = build(*block.args)
    if not constant:
        return op
    names = [name for name, _ in op.get_irdl_definition().operands]
    values = [
        constant_op(value).result if own in op.DECIDING else arg
        for own, value, arg in zip(names, operands, block.args, strict=True)
    ]
    return build(*values)


def tensor(type_: Attribute) -> TensorType[Attribute]:
    assert isinstance(type_, TensorType)
    return type_


@EACH
def test_types(name: str):
    expected = np.asarray(CASES[name][2])
    known = tensor(operation(name, constant=True).results[0].type)
    assert known.get_shape() == expected.shape
    unknown = tensor(operation(name, constant=False).results[0].type)
    assert len(unknown.get_shape()) == expected.ndim
    pairs = zip(unknown.get_shape(), expected.shape, strict=True)
    assert all(dim in (DYNAMIC_INDEX, size) for dim, size in pairs)
    assert DYNAMIC_INDEX in unknown.get_shape() or not expected.ndim


def test_values_and_indices():
    found = evaluate(dyn_select.DynTopkOp, ROW, np.array(2))
    same(found[0], np.array([4, 3], F32))
    same(found[1], np.array([0, 2], np.int32))
    block = Block(arg_types=[type_of(ROW), type_of(np.array(2))])
    assert isinstance(dyn_select.DynTopkOp(*block.args).result.type, TupleType)


def test_results_that_no_array_holds():
    shape = np.array([1 << 40, 1 << 40])
    with pytest.raises(InterpretationError, match=f"tensor<{1 << 40}x{1 << 40}xf32> is too large"):
        evaluate(lambda v: dyn.DynZerosOp(v, f32), shape)


def test_constants_of_which_the_text_names_the_bytes():
    # More numbers than are printed inline are a blob.
    widths = np.arange(18).reshape(9, 2)
    block = Block(arg_types=[TensorType(f32, [1] * 9), TensorType(f32, [])])
    op = dyn_select.DynPadOp(block.args[0], constant_op(widths), block.args[1])
    assert tensor(op.result.type).get_shape() == tuple(1 + 4 * i + 1 for i in range(9))


@pytest.mark.parametrize(
    ("build", "operands", "message"),
    [
        (dyn.DynReshapeOp, [ROW, ints(2, -1)], r"'data' \[3\] does not divide into"),
        (dyn.DynBroadcastToOp, [ROW, ints(4)], "'data' .* does not broadcast|do not broadcast"),
        (dyn.DynExpandDimsOp, [ROW, ints(5)], r"'axis' is 5, accepted range is \[-2, 1\]"),
        (dyn.DynTileOp, [ROW, ints(-1)], r"'reps' is \[-1\], expected no negative number"),
        (dyn_select.DynTopkOp, [ROW, np.array(4)], "'k' is 4, axis 0 of 'data' has length 3"),
    ],
)
def test_numbers_that_make_no_sense(build: Build, operands: list[Array], message: str):
    with pytest.raises(InterpretationError, match=message):
        evaluate(build, *operands)
    with pytest.raises(VerifyException, match=message):
        evaluate(lambda v: build(v, constant_op(operands[1])), operands[0])


@pytest.mark.parametrize(
    ("build", "operands", "message"),
    [
        (dyn.DynBroadcastToOp, [ROW, ROW], "'shape' is tensor<3xf32>, expected integers"),
        (dyn.DynBroadcastToOp, [ROW, PLACES], "'shape' is tensor<2x2xi64>, expected rank 1"),
        (dyn.DynExpandDimsOp, [ROW, ints(1, 2)], "'axis' is tensor<2xi64>, expected one integer"),
        (dyn.DynFullOp, [ROW, ints(2)], "'fill_value' is tensor<3xf32>, expected a scalar"),
        (dyn.DynSqueezeOp, [ROW, ints(0, 1)], "'axes' names 2 dimensions, 'data' has 1"),
        (
            dyn.DynStridedSliceOp,
            [ROW, ints(0), ints(1, 1), ints(1)],
            "'end' is tensor<2xi64>, 'begin' has 1 elements",
        ),
        (dyn_select.DynPadOp, [X, PLACES, SCALAR], "'pad_width' is tensor<2x2xi64>, expected two"),
        (
            dyn_select.DynUpsamplingOp,
            [X[None], SCALAR, ints(2)],
            "'scale_w' is tensor<1xi64>, expected a scalar",
        ),
    ],
)
def test_refusals(build: Build, operands: list[Array], message: str):
    with pytest.raises(VerifyException, match=message):
        evaluate(build, *operands)


@pytest.mark.parametrize("name", ["reshape", "tile"])
def test_operands_that_are_inputs_are_compiled(name: str):
    """A program for the elements that come, which decide about the shape of the result."""
    op = operation(name, constant=False)
    data = op.operands[0].owner
    assert isinstance(data, Block)
    data.add_ops([op, func.ReturnOp(op.results[0])])
    type_ = FunctionType.from_lists(data.arg_types, [op.results[0].type])
    module = ModuleOp([func.FuncOp("main", type_, Region(data))])
    module.verify()
    _, operands, expected = CASES[name]
    model = xrelay.compile(module, cache=False)
    names = [spec.name for spec in model.signature.inputs]
    (found,) = model.run(dict(zip(names, operands, strict=True))).values()
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize(
    ("op_type", "stated"), [(dyn.DynReshapeOp, [100]), (dyn.DynSqueezeOp, [2, 3, 5])]
)
def test_reshapes_keep_the_number_of_elements(op_type: type[DynamicOp], stated: list[int]):
    block = Block(arg_types=[type_of(X[None]), type_of(ints(0))])
    op = op_type.create(
        operands=block.args,
        properties={"allowzero": boolean(False)} if op_type is dyn.DynReshapeOp else {},
        result_types=[TensorType(f32, stated)],
    )
    with pytest.raises(VerifyException, match="has 24 elements"):
        op.verify()


@pytest.mark.parametrize("mode", ["half_pixel", "asymmetric", "align_corners"])
@pytest.mark.parametrize("method", ["nearest_neighbor", "linear", "cubic"])
@pytest.mark.parametrize("size", [(5, 7), (2, 9), (3, 4), (1, 1)])
def test_resize2d(mode: str, method: str, size: tuple[int, int]):
    image = sample(2, (2, 3, 3, 4), F32, edges=False)
    options = {"coordinate_transformation_mode": mode, "nearest_mode": "round_prefer_ceil"}
    name = method.removesuffix("_neighbor")
    empty, sizes = np.zeros(0, F32), np.array([2, 3, *size])
    expected = reference(
        "Resize", image, empty, empty, sizes, mode=name, cubic_coeff_a=-0.5, **options
    )
    build = partial(dyn_image.DynResize2DOp, method=method, coordinate_transformation_mode=mode)
    roi = np.zeros(4, F32)
    found = evaluate(build, image, ints(*size), roi)
    close(found, expected, 1e-5, 1e-5)
    last = evaluate(
        partial(build, layout="NHWC"), np.moveaxis(image, 1, -1), np.array(size, F32), roi
    )
    same(last, np.moveaxis(found, 1, -1))
    constant = evaluate(lambda v, r: build(v, constant_op(ints(*size)), r), image, roi)
    same(constant, found)


def test_resize2d_of_a_region():
    image = np.arange(12.0).reshape(1, 1, 3, 4)
    build = partial(
        dyn_image.DynResize2DOp,
        coordinate_transformation_mode="tf_crop_and_resize",
        extrapolation_value=-1.0,
    )
    found = evaluate(build, image, ints(2, 2), np.array([0, 0, 1, 1], F32))
    same(found[0, 0], np.array([[0.0, 3], [8, 11]]))
    found = evaluate(build, image, ints(2, 2), np.array([0.5, 0, 2, 1], F32))
    same(found[0, 0], np.array([[4.0, 7], [-1, -1]]))
    with pytest.raises(InterpretationError, match=r"'size' is \[0, 2\], expected positive numbers"):
        evaluate(build, image, ints(0, 2), np.zeros(4, F32))


@pytest.mark.parametrize("mode", ["half_pixel", "asymmetric", "align_corners"])
@pytest.mark.parametrize("method", ["nearest_neighbor", "trilinear"])
@pytest.mark.parametrize("scales", [(2.0, 1.5, 3.0), (0.5, 1.0, 2.0)])
def test_upsampling3d(mode: str, method: str, scales: tuple[float, float, float]):
    volume = sample(3, (1, 2, 2, 4, 3), F32, edges=False)
    shape = [round(n * s) for n, s in zip(volume.shape[2:], scales, strict=True)]
    empty, sizes = np.zeros(0, F32), np.array([1, 2, *shape])
    rounding = "round_prefer_ceil" if mode == "align_corners" else "floor"
    options = {"coordinate_transformation_mode": mode, "nearest_mode": rounding}
    name = "nearest" if method == "nearest_neighbor" else "linear"
    expected = reference("Resize", volume, empty, empty, sizes, mode=name, **options)
    operands = [np.array(scale, F32) for scale in scales]
    build = partial(dyn_image.DynUpsampling3DOp, method=method, coordinate_transformation_mode=mode)
    close(evaluate(build, volume, *operands), expected, 1e-5, 1e-5)
    found = evaluate(lambda v: build(v, *map(constant_op, operands)), volume)
    close(found, expected, 1e-5, 1e-5)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"layout": "NCDHW"}, "'layout' is \"NCDHW\", expected the letters of"),
        ({"method": "area"}, "'method' is \"area\""),
        ({"coordinate_transformation_mode": "x"}, "'coordinate_transformation_mode' is \"x\""),
        ({"rounding_method": "up"}, "'rounding_method' is \"up\""),
    ],
)
def test_resizing_refusals(options: dict[str, str], message: str):
    image, roi = sample(2, (1, 1, 2, 2), F32), np.zeros(4, F32)
    with pytest.raises(VerifyException, match=message):
        evaluate(partial(dyn_image.DynResize2DOp, **options), image, ints(2, 2), roi)
