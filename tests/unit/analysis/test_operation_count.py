"""How much arithmetic operators do: where all operands are ones, a product's result adds up to its multiply-adds."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from guards.passes import GuardGraph
from xdsl.ir import SSAValue

from xrelay.analysis.facts.operation_count import OperatorUse, operation_count, operator_uses
from xrelay.analysis.facts.operation_count import multiply_adds as counted
from xrelay.compiler import context, parse_program
from xrelay.dialects.base import RelayOp
from xrelay.dialects.conv.conv import Conv1DOp, Conv2DOp, Conv2DTransposeOp, Conv3DOp
from xrelay.dialects.conv.gradient import Conv2DBackwardWeightOp
from xrelay.dialects.conv.packed import ContribConv2DNCHWcOp
from xrelay.dialects.conv.transpose import Conv1DTransposeOp, Conv3DTransposeOp
from xrelay.dialects.conv.winograd import (
    ContribConv2DWinogradWeightTransformOp,
    ContribConv2DWinogradWithoutWeightTransformOp,
)
from xrelay.dialects.nn.correlation import DeformableConv2DOp
from xrelay.dialects.nn.dense import BatchMatmulOp, ContribDensePackOp, DenseOp, MatmulOp
from xrelay.dialects.qnn.blocks import QnnDenseBlocksOp
from xrelay.dialects.qnn.products import QnnConv2DOp, QnnDenseOp
from xrelay.dialects.tensor.transform import TransposeOp
from xrelay.dialects.tensor.unary import ExpOp
from xrelay.frontends.relay_text.importer import read_relay_text
from xrelay.interpreters.relay import interpret

Build = Callable[[GuardGraph], RelayOp]


def ones(g: GuardGraph, *shape: int, dtype: Any = "float64") -> SSAValue:
    return g.constant(np.ones(shape, dtype))


def of(op_type: Callable[..., RelayOp], *shapes: tuple[int, ...], **options: Any) -> Build:
    return lambda g: op_type(*(ones(g, *shape) for shape in shapes), **options)


def winograd(g: GuardGraph) -> RelayOp:
    weight = g.op(ContribConv2DWinogradWeightTransformOp(ones(g, 5, 3, 3, 3), 2))
    swapped = g.op(TransposeOp(weight, [0, 1, 3, 2]))
    data = ones(g, 2, 3, 6, 6)
    return ContribConv2DWinogradWithoutWeightTransformOp(data, swapped, tile_size=2)


def deformable(g: GuardGraph) -> RelayOp:
    offset = g.constant(np.zeros((2, 18, 3, 3)))
    data, weight = ones(g, 2, 4, 5, 5), ones(g, 6, 2, 3, 3)
    return DeformableConv2DOp(data, offset, weight, groups=2)


def quantized(g: GuardGraph, op_type: Callable[..., RelayOp], *shapes: tuple[int, ...]) -> RelayOp:
    factors = [ones(g, *shape, dtype="int8") for shape in shapes]
    zeros = [g.constant(np.zeros((), "int32")) for _ in shapes]
    scales = [g.constant(np.ones((), "float32")) for _ in shapes]
    return op_type(*factors, *zeros, *scales)


def blocks(g: GuardGraph) -> RelayOp:
    weight = g.constant(np.full((4, 5), 0x11, np.uint8))
    scale, zero = g.constant(np.ones((4, 3), np.float32)), g.constant(np.asarray(0, np.uint8))
    data = g.constant(np.ones((2, 3, 10), np.float32))
    return QnnDenseBlocksOp(data, weight, scale, zero, block_size=4)


PRODUCTS: dict[str, Build] = {
    "conv1d": of(Conv1DOp, (2, 4, 9), (6, 2, 3), groups=2, strides=[2]),
    "conv2d": of(Conv2DOp, (2, 4, 5, 6), (6, 2, 3, 2), groups=2, dilation=[1, 2]),
    "conv2d NHWC": of(
        *(Conv2DOp, (2, 5, 6, 4), (3, 2, 4, 6)), data_layout="NHWC", kernel_layout="HWIO"
    ),
    "conv2d depthwise": of(
        *(Conv2DOp, (2, 5, 6, 4), (3, 2, 4, 3)),
        groups=4,
        channels=12,
        data_layout="NHWC",
        kernel_layout="HWOI",
    ),
    "conv2d in blocks": of(
        *(ContribConv2DNCHWcOp, (2, 2, 5, 5, 4), (3, 2, 3, 3, 4, 2)),
        data_layout="NCHW4c",
        kernel_layout="OIHW4i2o",
        out_layout="NCHW2c",
    ),
    "conv3d": of(Conv3DOp, (2, 4, 5, 4, 3), (6, 4, 2, 3, 2)),
    "deformable": deformable,
    "conv1d_transpose": of(Conv1DTransposeOp, (2, 4, 5), (4, 3, 3), groups=2, strides=[2]),
    "conv2d_transpose": of(
        *(Conv2DTransposeOp, (2, 4, 5, 4), (4, 3, 3, 2)), strides=[2, 3], kernel_layout="IOHW"
    ),
    "conv2d_transpose OIHW": of(Conv2DTransposeOp, (2, 4, 5, 4), (3, 4, 3, 2), groups=1),
    "conv3d_transpose": of(Conv3DTransposeOp, (2, 4, 3, 3, 3), (4, 5, 2, 2, 2)),
    "winograd": winograd,
    "backward weight": of(
        *(Conv2DBackwardWeightOp, (2, 6, 3, 4), (2, 4, 5, 5)), kernel_size=[3, 2], groups=2
    ),
    "dense": of(DenseOp, (2, 3, 5), (4, 5)),
    "dense in blocks": of(ContribDensePackOp, (3, 5), (2, 5, 4), units=8),
    "matmul": of(MatmulOp, (3, 5), (5, 4)),
    "matmul of transposes": of(MatmulOp, (5, 3), (4, 5), transpose_a=True, transpose_b=True),
    "batch_matmul": of(BatchMatmulOp, (2, 3, 5), (1, 4, 5), transpose_b=True),
    "batch_matmul of no depth": of(BatchMatmulOp, (2, 3, 0), (2, 0, 4)),
    "qnn.conv2d": lambda g: quantized(g, QnnConv2DOp, (2, 4, 5, 6), (6, 4, 3, 2)),
    "qnn.dense_blocks": blocks,
    "qnn.dense": lambda g: quantized(g, QnnDenseOp, (3, 5), (4, 5)),
}


@pytest.mark.parametrize("name", PRODUCTS)
def test_products_of_ones_add_up_to_the_count(name: str):
    g = GuardGraph()
    op = PRODUCTS[name](g)
    g.show(op)
    (result,) = interpret(g.module(), [])
    assert counted(op) == round(float(result.sum()))


def test_products_with_padding_count():
    g = GuardGraph()
    op = of(Conv2DOp, (2, 4, 5, 5), (6, 2, 3, 3), groups=2, padding=[1, 1])(g)
    assert counted(op) == (2 * 6 * 25) * (2 * 9)


def test_other_operators_count_their_elements():
    g = GuardGraph()
    op = ExpOp(g.x(2, 3))
    assert (counted(op), operation_count(op)) == (0, 6)
    dense = of(DenseOp, (2, 5), (4, 5))(g)
    assert operation_count(dense) == 2 * counted(dense) == 2 * 2 * 5 * 4


CALLS = """
func.func @main(%x: tensor<{n}x2xf32>) -> tensor<{n}x2xf32> {{
  %0 = func.call @twice(%x) : (tensor<{n}x2xf32>) -> tensor<{n}x2xf32>
  %6 = func.call @twice(%0) : (tensor<{n}x2xf32>) -> tensor<{n}x2xf32>
  %1 = relay.fused %6 : (tensor<{n}x2xf32>) -> tensor<{n}x2xf32> {{
  ^bb0(%p: tensor<{n}x2xf32>):
    %2 = relay.nn.relu %p : (tensor<{n}x2xf32>) -> tensor<{n}x2xf32>
    relay.yield %2 : tensor<{n}x2xf32>
  }}
  %3 = func.call @product(%1) : (tensor<{n}x2xf32>) -> tensor<{n}x2xf32>
  %4 = relay.tuple %3 : (tensor<{n}x2xf32>) -> tuple<tensor<{n}x2xf32>>
  %5 = relay.tuple_get_item %4[0] : (tuple<tensor<{n}x2xf32>>) -> tensor<{n}x2xf32>
  func.return %5 : tensor<{n}x2xf32>
}}
func.func @product(%x: tensor<{n}x2xf32>) -> tensor<{n}x2xf32> {{
  %w = relay.constant dense<1.0> : tensor<2x2xf32>
  %0 = relay.nn.dense %x, %w : (tensor<{n}x2xf32>, tensor<2x2xf32>) -> tensor<{n}x2xf32>
  func.return %0 : tensor<{n}x2xf32>
}}
func.func @twice(%x: tensor<{n}x2xf32>) -> tensor<{n}x2xf32> {{
  %0 = func.call @product(%x) : (tensor<{n}x2xf32>) -> tensor<{n}x2xf32>
  %f = relay.global_var @product : !relay.fn<(tensor<{n}x2xf32>) -> tensor<{n}x2xf32>>
  %1 = relay.apply %f(%0) : (!relay.fn<(tensor<{n}x2xf32>) -> tensor<{n}x2xf32>>, tensor<{n}x2xf32>) -> tensor<{n}x2xf32>
  func.return %1 : tensor<{n}x2xf32>
}}
func.func @unused(%x: tensor<{n}x2xf32>) -> tensor<{n}x2xf32> {{
  %0 = relay.exp %x : (tensor<{n}x2xf32>) -> tensor<{n}x2xf32>
  func.return %0 : tensor<{n}x2xf32>
}}
"""


def uses_of(rows: str) -> list[OperatorUse]:
    return operator_uses(parse_program(CALLS.format(n=rows).encode(), "program.mlir", context()))


def test_operators_of_functions_count_for_each_call():
    assert uses_of("3") == [OperatorUse("nn.relu", 1, 0), OperatorUse("nn.dense", 5, 5 * 12)]


def test_products_of_unknown_shape_are_unknown():
    assert uses_of("?") == [OperatorUse("nn.relu", 1, 0), OperatorUse("nn.dense", 5, None)]


REGIONS = """#[version = "0.0.5"]
def @main(%x: Tensor[(4, 8), int8], %w: Tensor[(6, 8), int8], %v: Tensor[(8, 6), int8], %y: Tensor[(4, 6), float32]) {{
  %0 = qnn.dequantize(%x, 2f, 0);
  %1 = qnn.dequantize(%w, 0.5f, 0);
  %2 = nn.dense(%0, %1, units=None);
  %3 = qnn.quantize(%2, 1f, 0, out_dtype="int8");
  %4 = qnn.dequantize(%3, 2f, 114);
  %5 = nn.relu(%4);
  {more}
}}
"""
"""What TVM's tests of ExtractFakeQuantizedOps look like."""


@pytest.mark.parametrize(
    ("more", "expected"),
    [
        # What lies behind the last quantization is outside.
        (
            """%6 = qnn.quantize(%5, 1f, 0, out_dtype="int8");
            %7 = qnn.dequantize(%6, 1f, 0);
            %8 = qnn.dequantize(%v, 0.5f, 0);
            %9 = nn.dense(%7, %8, units=None);
            %10 = qnn.quantize(%9, 1f, 0, out_dtype="int8");
            sigmoid(%10)""",
            {"nn.dense": 2, "nn.relu": 1},
        ),
        ("%5", {"nn.dense": 1}),
        # A constant is as good as what is dequantized, an input is not.
        ('qnn.quantize(maximum(%5, 1f), 1f, 0, out_dtype="int8")', {"nn.dense": 1, "nn.relu": 1, "maximum": 1}),
        ('qnn.quantize(maximum(%5, %y), 1f, 0, out_dtype="int8")', {"nn.dense": 1}),
        ('qnn.quantize(maximum(%5, zeros(shape=[1], dtype="float32")), 1f, 0, out_dtype="int8")',
         {"nn.dense": 1, "nn.relu": 1, "maximum": 1, "zeros": 1}),
        # Tuples belong to a region, as do regions without an end of their own.
        (
            """%6 = (%5, %4);
            %7 = concatenate(%6);
            %8 = qnn.quantize(exp(%7), 1f, 0, out_dtype="int8");
            qnn.quantize(cast(%8, dtype="float32"), 1f, 0, out_dtype="int8")""",
            {"nn.dense": 1, "nn.relu": 1, "concatenate": 1, "exp": 1, "cast": 1},
        ),
        # A call that two quantizations need is one call.
        (
            """%6 = qnn.quantize(exp(%5), 1f, 0, out_dtype="int8");
            %7 = qnn.quantize(tanh(%5), 1f, 0, out_dtype="int8");
            (%6, %7)""",
            {"nn.dense": 1, "nn.relu": 1, "exp": 1, "tanh": 1},
        ),
        ('if (True) { qnn.quantize(%5, 1f, 0, out_dtype="int8") } else { qnn.quantize(exp(%2), 1f, 0, out_dtype="int8") }',
         {"nn.dense": 1, "nn.relu": 1, "exp": 1}),
        ('qnn.quantize(if (True) { %4 } else { %5 }, 1f, 0, out_dtype="int8")', {"nn.dense": 1}),
    ],
)  # fmt: skip
def test_fake_quantized_calls(more: str, expected: dict[str, int]):
    program = read_relay_text(REGIONS.format(more=more))
    found = {use.name: use.fake_quantized for use in operator_uses(program) if use.fake_quantized}
    assert found == expected
