"""Programs that were compiled wrongly once."""

import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp

import xrelay
from xrelay.compiler import context, parse_program
from xrelay.lowering.kernel import KernelOptions
from xrelay.lowering.program import entry_function, lower_function
from xrelay.lowering.target import TARGETS
from xrelay.transforms.alter_op_layout import AlterOpLayoutPass


def program(text: str) -> ModuleOp:
    return parse_program(text.encode(), "test.mlir", context())


@pytest.mark.parametrize("sign", [1.0, -1.0])
@pytest.mark.parametrize("op", ["softmax", "log_softmax"])
def test_nan_of_either_sign_spoils_its_row(op: str, sign: float) -> None:
    """0 / 0 is NaN with the sign bit set on x86-64."""
    text = f"""func.func @main(%x: tensor<2x40xf32>) -> tensor<2x40xf32> {{
      %0 = relay.nn.{op} %x : (tensor<2x40xf32>) -> tensor<2x40xf32>
      func.return %0 : tensor<2x40xf32>
    }}"""
    x = np.linspace(-1, 1, 80, dtype=np.float32).reshape(2, 40)
    x[1, 5] = np.copysign(np.float32(np.nan), np.float32(sign))
    model = xrelay.compile(program(text))
    (y,) = model.run({model.signature.inputs[0].name: x}).values()
    assert np.isfinite(y[0]).all()
    assert np.isnan(y[1]).all()


def test_masked_softmax_vanishes() -> None:
    """What is too small for a normal number is 0."""
    text = """func.func @main(%x: tensor<1x24xf32>) -> tensor<1x24xf32> {
      %0 = relay.nn.softmax %x : (tensor<1x24xf32>) -> tensor<1x24xf32>
      func.return %0 : tensor<1x24xf32>
    }"""
    x = np.full((1, 24), -1e4, np.float32)
    x[0, :4] = 1, 1, -86, -89
    model = xrelay.compile(program(text))
    (y,) = model.run({model.signature.inputs[0].name: x}).values()
    np.testing.assert_allclose(y[0, :2], 0.5, rtol=1e-6)
    np.testing.assert_array_equal(y[0, 3:], 0)


def test_constants_outside_of_a_group_are_not_part_of_its_kernel() -> None:
    """Two powers with different exponents share a kernel that reads the exponent."""
    text = """func.func @main(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
      %two = relay.constant dense<2.0> : tensor<f32>
      %five = relay.constant dense<5.0> : tensor<f32>
      %0 = relay.power %x, %two : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
      %1 = relay.power %x, %five : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
      func.return %0, %1 : tensor<4xf32>, tensor<4xf32>
    }"""
    lowered = lower_function(entry_function(program(text)), KernelOptions(TARGETS["x86-64"]))
    first, second = lowered.steps
    kernel = next(op for op in lowered.module.walk() if op.name == "func.func")
    assert first.name == second.name
    assert sum(op.name == "llvm.load" for op in kernel.walk()) >= 2


@pytest.mark.parametrize("channels", [64, 192, 256, 512])
@pytest.mark.parametrize("size", [7, 12, 14, 28])
def test_implementations_do_not_depend_on_threads(channels: int, size: int) -> None:
    """Other implementations round otherwise, and results are the same bits for all threads."""
    image, weight = (
        f"tensor<1x{channels}x{size}x{size}xf32>",
        f"tensor<{channels}x{channels}x3x3xf32>",
    )
    chosen: set[tuple[str, ...]] = set()
    for threads in (1, 2, 4):
        module = program(f"""func.func @main(%x: {image}) -> {image} {{
          %w = relay.constant dense<0.5> : {weight}
          %0 = relay.nn.conv2d %x, %w {{padding = array<i64: 1, 1>}} : ({image}, {weight}) -> {image}
          func.return %0 : {image}
        }}""")
        target = TARGETS["x86-64-v3"]
        AlterOpLayoutPass(lanes=target.lanes(4)).apply(context(), module)
        lowered = lower_function(entry_function(module), KernelOptions(target, threads))
        names = [name for step in lowered.steps for name in step.implementations]
        chosen.add(tuple(names))
    assert len(chosen) == 1
