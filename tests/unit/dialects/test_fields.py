"""Constructors that follow from the fields of operators bind arguments as written ones do."""

import pytest
from xdsl.dialects.builtin import StringAttr, TensorType, f32
from xdsl.ir import Block
from xdsl.utils.exceptions import VerifyException

from xrelay.dialects.base import Constructor, RelayOp
from xrelay.dialects.conv.conv import Conv2DOp
from xrelay.dialects.pool.pool import AvgPool2DOp
from xrelay.dialects.tensor.reduce import VarianceOp
from xrelay.dialects.tensor.transform import StridedSliceOp
from xrelay.dialects.tensor.unary import LeakyReluOp

SIGNATURES = {
    LeakyReluOp: "(data, alpha=0.25)",
    # A field of a base stands first, restated ones keep their place, and names come last.
    StridedSliceOp: "(data, begin, end, strides=None, *, slice_mode='end', axes=None)",
    VarianceOp: "(data, mean, *, axis=None, keepdims=False, exclude=False, unbiased=False)",
    AvgPool2DOp: "(data, pool_size, *, strides=(1, 1), dilation=(1, 1), padding=(0, 0), "
    "layout='NCHW', out_layout='', ceil_mode=False, count_include_pad=False)",
}
IMAGE, WEIGHT = Block(arg_types=[TensorType(f32, [1, 2, 4, 4]), TensorType(f32, [3, 2, 1, 1])]).args
WRONG = {
    "missing a required argument: 'weight'": ([IMAGE], {}),
    "too many positional arguments": ([IMAGE, WEIGHT, [1, 1]], {}),
    "multiple values for argument 'data'": ([IMAGE, WEIGHT], {"data": IMAGE}),
    "got an unexpected keyword argument 'stride'": ([IMAGE, WEIGHT], {"stride": [1, 1]}),
}


@pytest.mark.parametrize("op", SIGNATURES, ids=lambda op: op.name)
def test_signatures(op: type[RelayOp]):
    assert str(Constructor.of(op).signature) == SIGNATURES[op]


@pytest.mark.parametrize("message", WRONG)
def test_arguments_that_do_not_fit_are_refused(message: str):
    args, named = WRONG[message]
    with pytest.raises(TypeError, match=message):
        Conv2DOp(*args, **named)


def test_properties_are_given_as_numbers_or_attributes():
    first = Conv2DOp(IMAGE, weight=WEIGHT, strides=[2, 2], out_layout=StringAttr("NHWC"))
    second = Conv2DOp(IMAGE, WEIGHT, strides=first.strides, out_layout="NHWC", channels=None)
    assert first.properties == second.properties
    assert first.result.type == TensorType(f32, [1, 2, 2, 3])
    assert "channels" not in first.properties and first.padding.get_values() == (0, 0)


def test_what_type_inference_refuses_is_refused_by_the_constructor():
    with pytest.raises(VerifyException, match="'data' has 3 channels"):
        Conv2DOp(WEIGHT, IMAGE, data_layout="CNHW")
