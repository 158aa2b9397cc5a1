"""Operators that ONNX says otherwise, or not at all: both sides of what is refused."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from xdsl.dialects.builtin import DYNAMIC_INDEX, TensorType, bf16, f16, f32, i1, i8, i32, i64
from xdsl.dialects.test import TestOp
from xdsl.ir import Attribute, Operation, SSAValue

from xrelay.dialects.conv import conv
from xrelay.dialects.core.values import TupleOp
from xrelay.dialects.image import resize
from xrelay.dialects.nn import norm
from xrelay.dialects.pool import pool
from xrelay.dialects.qnn.conversion import QnnRequantizeOp
from xrelay.dialects.tensor import binary, indexing, reorder, sort
from xrelay.dialects.vision import regions
from xrelay.frontends.onnx import reason_not_exported
from xrelay.interpreters.constants import constant_op


def value(dtype: Attribute, *shape: int) -> SSAValue:
    return TestOp(result_types=[TensorType(dtype, shape)]).results[0]


def constant(numbers: Any, dtype: str = "float32") -> SSAValue:
    return constant_op(np.asarray(numbers, dtype)).result


def resized(dtype: Attribute = f32, **options: Any) -> Operation:
    return resize.Resize2DOp(value(dtype, 1, 2, 3, 4), (5, 6), **options)


def cropped(outside: float, dtype: Attribute = i8) -> Operation:
    mode = {"method": "nearest_neighbor", "coordinate_transformation_mode": "tf_crop_and_resize"}
    return resized(dtype, extrapolation_value=outside, **mode)


def half_pixel(method: str, rounding: str) -> Operation:
    mode = "tf_half_pixel_for_nn"
    return resized(method=method, rounding_method=rounding, coordinate_transformation_mode=mode)


def requantized(old: float, new: float) -> Operation:
    zeros = constant(0, "int32"), constant(0, "int32")
    data = value(i32, 2, 3)
    return QnnRequantizeOp(data, constant(old), zeros[0], constant(new), zeros[1], out_dtype=i8)


def reversed_rows(sequence: int, batch: int) -> Operation:
    data, lengths = value(f32, 3, 3), value(i32, 3)
    return reorder.ReverseSequenceOp(data, lengths, seq_axis=sequence, batch_axis=batch)


def aligned(mode: str) -> Operation:
    return regions.RoiAlignOp(value(f32, 1, 2, 4, 4), value(f32, 3, 5), (2, 2), 1.0, mode=mode)


Case = tuple[Callable[[], Operation], str | None]
CASES: Sequence[Case] = (
    (lambda: resized(out_dtype=f16), "'out_dtype' is float16, ONNX's Resize keeps float32"),
    (lambda: resized(out_dtype=f32), None),
    (lambda: resized(i8, method="linear"), "leaves open how the int8 elements are rounded"),
    (lambda: resized(i8, method="nearest_neighbor"), None),
    (lambda: cropped(0.5), "'extrapolation_value' is 0.5, which is no int8"),
    (lambda: cropped(128.0), "'extrapolation_value' is 128.0, which is no int8"),
    (lambda: cropped(np.inf), "'extrapolation_value' is inf, which is no int8"),
    (lambda: cropped(-np.inf), "'extrapolation_value' is -inf, which is no int8"),
    (lambda: cropped(np.nan), "'extrapolation_value' is nan, which is no int8"),
    (lambda: cropped(-128.0), None),
    (lambda: cropped(0.5, f32), None),
    (lambda: resized(scales=(1.75, 1.5)), None),
    (lambda: resized(scales=(1.75, 1.2)), "'scales' are [1.75, 1.2] for lengths"),
    (lambda: resized(scales=(1.25, 1.5)), "'size' is [5, 6]"),
    (lambda: half_pixel("linear", ""), "which operator set 21 lacks"),
    (lambda: half_pixel("nearest_neighbor", "round"), "which operator set 21 lacks"),
    (lambda: half_pixel("nearest_neighbor", "floor"), None),
    (lambda: conv.Conv2DOp(value(f32, 1, 2, 5, 5), value(f32, DYNAMIC_INDEX, 2, 3, 3)), "'weight' has"),
    (lambda: conv.Conv2DOp(value(f32, 1, 2, 5, 5), value(f32, 4, 2, 3, 3)), None),
    (
        lambda: conv.Conv2DTransposeOp(value(f32, 1, 2, 5, 5), value(f32, 2, DYNAMIC_INDEX, 3, 3), kernel_layout="IOHW"),
        "'weight' has an unknown dimension",
    ),
    (lambda: norm.LrnOp(value(f32, 5), axis=0), "'data' has one axis"),
    (lambda: norm.LrnOp(value(f32, 5, 3), axis=0), None),
    (lambda: requantized(-0.5, 1.0), "the scales are not positive finite numbers"),
    (lambda: requantized(np.nan, 1.0), "the scales are not positive finite numbers"),
    (lambda: requantized(0.5, 0.0), "the scales are not positive finite numbers"),
    (lambda: requantized(0.5, np.inf), "the scales are not positive finite numbers"),
    (lambda: requantized(0.0, 0.5), None),
    (lambda: indexing.GatherNDOp(value(f32, 3, 4), value(i64, 0, 2)), "'indices' names no axis"),
    (lambda: indexing.GatherNDOp(value(f32, 3, 4), value(i64, 1, 2)), None),
    (
        lambda: indexing.ScatterNDOp(value(f32, 3, 4), value(i64, 0, 2), value(f32, 2, 3, 4), "update"),
        "'indices' names no axis",
    ),
    (lambda: indexing.ScatterNDOp(value(f32, 3, 4), value(i64, 1, 2), value(f32, 2, 4), "add"), None),
    (
        lambda: indexing.AdvIndexOp(TupleOp([value(f32, DYNAMIC_INDEX, 2), value(i64, 3)]).result),
        "unknown",
    ),
    (
        lambda: reorder.MeshgridOp(TupleOp([value(f32, DYNAMIC_INDEX), value(f32, 3)]).result),
        "a field of 'data' has an unknown length",
    ),
    (lambda: reversed_rows(1, 1), "'seq_axis' and 'batch_axis' are both 1"),
    (lambda: reversed_rows(0, 1), None),
    (lambda: sort.ArgwhereOp(value(i1)), "'condition' is a scalar"),
    (lambda: sort.ArgwhereOp(value(i1, 3)), None),
    (lambda: aligned("max"), "'mode' is \"max\", which ONNX weights differently"),
    (lambda: aligned("avg"), None),
    (lambda: binary.LeftShiftOp(value(i1, 3), value(i1, 3)), "bools, which ONNX does not shift"),
    (lambda: pool.GlobalMaxPool2DOp(value(f32, 1, 2, 0, 3)), "'data' has channels without elements"),
    (lambda: binary.AddOp(value(bf16, 3), value(bf16, 3)), None),
)  # fmt: skip


@pytest.mark.parametrize("number", range(len(CASES)))
def test_what_is_not_exported(number: int) -> None:
    make, reason = CASES[number]
    op = make()
    op.verify()
    found = reason_not_exported(op)
    assert (found is None) if reason is None else (reason in (found or "")), found
