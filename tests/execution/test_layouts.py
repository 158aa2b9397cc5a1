"""Whole networks whose images have their channels last."""

import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp

import xrelay
from xrelay.compiler import context, parse_program
from xrelay.interpreters.relay import interpret

NETWORK = """func.func @main(
    %x: tensor<1x15x17x3xf32>, %w: tensor<3x3x3x32xf32>, %b: tensor<32xf32>,
    %d: tensor<3x3x32x1xf32>, %v: tensor<16x1x1x32xf32>) -> tensor<1x1x1x16xf32> {
  %0 = relay.nn.conv2d %x, %w {data_layout = "NHWC", kernel_layout = "HWIO", strides = array<i64: 2, 2>, padding = array<i64: 1, 1>} : (tensor<1x15x17x3xf32>, tensor<3x3x3x32xf32>) -> tensor<1x8x9x32xf32>
  %1 = relay.nn.bias_add %0, %b {axis = 3 : i64} : (tensor<1x8x9x32xf32>, tensor<32xf32>) -> tensor<1x8x9x32xf32>
  %2 = relay.nn.relu %1 : (tensor<1x8x9x32xf32>) -> tensor<1x8x9x32xf32>
  %3 = relay.nn.max_pool2d %2 {layout = "NHWC", pool_size = array<i64: 2, 2>, strides = array<i64: 2, 2>, ceil_mode = true} : (tensor<1x8x9x32xf32>) -> tensor<1x4x5x32xf32>
  %4 = relay.nn.conv2d %3, %d {data_layout = "NHWC", kernel_layout = "HWOI", groups = 32 : i64, padding = array<i64: 1, 1>} : (tensor<1x4x5x32xf32>, tensor<3x3x32x1xf32>) -> tensor<1x4x5x32xf32>
  %5 = relay.nn.avg_pool2d %4 {layout = "NHWC", pool_size = array<i64: 2, 2>} : (tensor<1x4x5x32xf32>) -> tensor<1x3x4x32xf32>
  %6 = relay.nn.conv2d %5, %v {data_layout = "NHWC", kernel_layout = "OHWI"} : (tensor<1x3x4x32xf32>, tensor<16x1x1x32xf32>) -> tensor<1x3x4x16xf32>
  %7 = relay.nn.upsampling %6 {layout = "NHWC", scale_h = 2.0 : f64, scale_w = 2.0 : f64, method = "bilinear"} : (tensor<1x3x4x16xf32>) -> tensor<1x6x8x16xf32>
  %8 = relay.nn.global_avg_pool2d %7 {layout = "NHWC"} : (tensor<1x6x8x16xf32>) -> tensor<1x1x1x16xf32>
  func.return %8 : tensor<1x1x1x16xf32>
}"""


def program(text: str) -> ModuleOp:
    return parse_program(text.encode(), "test.mlir", context())


@pytest.mark.parametrize("target", ["x86-64", "x86-64-v3"])
def test_channels_last(target: str) -> None:
    rng = np.random.default_rng(1)
    module = program(NETWORK)
    shapes = ((1, 15, 17, 3), (3, 3, 3, 32), (32,), (3, 3, 32, 1), (16, 1, 1, 32))
    inputs = [rng.standard_normal(shape).astype(np.float32) for shape in shapes]
    (expected,) = interpret(program(NETWORK), inputs)
    model = xrelay.compile(module, target=target)
    names = [each.name for each in model.signature.inputs]
    (found,) = model.run(dict(zip(names, inputs, strict=True))).values()
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-4)
