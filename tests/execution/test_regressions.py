"""Programs that were compiled wrongly once."""

from collections.abc import Callable

import numpy as np
import pytest
from graphs import LEGALIZATION, Graph
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

import xrelay
from xrelay.analysis.facts.ports import entry_function
from xrelay.compiler import context, parse_program, run_passes
from xrelay.dialects.conv.conv import Conv1DOp, Conv2DOp, Conv3DOp
from xrelay.dialects.pool.pool import AvgPool2DOp, MaxPool1DOp, MaxPool2DOp
from xrelay.lowering.emit.target import TARGETS
from xrelay.lowering.program.options import KernelOptions
from xrelay.lowering.program.program import lower_function
from xrelay.transforms.layout.alter_op_layout import AlterOpLayoutPass


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


HUGE = 1 << 62
LONE_PLACES: dict[str, Callable[[Graph], Operation]] = {
    "line": lambda g: MaxPool1DOp(
        g.input(g.small("float32", 1, 3, 7)), [2], strides=[HUGE], ceil_mode=True
    ),
    "image": lambda g: AvgPool2DOp(
        g.input(g.small("float32", 1, 3, 7, 9)), [3, 1], strides=[HUGE, 1], dilation=[1, HUGE]
    ),
    "blocks": lambda g: MaxPool2DOp(
        g.input(g.small("float32", 1, 1, 7, 9, 16)), [2, 2], strides=[HUGE, HUGE], layout="NCHW16c"
    ),
    "convolution": lambda g: Conv2DOp(
        g.input(g.small("float32", 1, 3, 7, 9)),
        g.input(g.small("float32", 4, 3, 2, 1)),
        strides=[1, 3],
        dilation=[1, HUGE],
    ),
    "convolution of one place": lambda g: Conv2DOp(
        g.input(g.small("float32", 1, 3, 7, 9)),
        g.input(g.small("float32", 16, 3, 2, 9)),
        strides=[HUGE, HUGE],
    ),
    "volume": lambda g: Conv3DOp(
        g.input(g.small("float32", 1, 2, 3, 4, 5)),
        g.input(g.small("float32", 3, 2, 3, 2, 5)),
        strides=[HUGE, 2, HUGE],
    ),
}


LONE_WINDOWS: dict[str, Callable[[Graph], Operation]] = {
    "line": lambda g: MaxPool1DOp(
        g.input(g.small("float32", 1, 3, 5)), [4], strides=[4], dilation=[2], ceil_mode=True
    ),
    "image": lambda g: AvgPool2DOp(
        g.input(g.small("float32", 2, 3, 2, 9)),
        [3, 20],
        strides=[3, 12],
        padding=[0, 1, 1, 0],
        ceil_mode=True,
        count_include_pad=True,
    ),
    "blocks": lambda g: AvgPool2DOp(
        g.input(g.small("float32", 1, 1, 3, 7, 16)),
        [5, 8],
        strides=[4, 5],
        padding=[1, 0, 0, 0],
        ceil_mode=True,
        layout="NCHW16c",
    ),
    "blocks of columns": lambda g: MaxPool2DOp(
        g.input(g.small("float32", 1, 1, 3, 2, 8)),
        [2, 5],
        strides=[2, 5],
        ceil_mode=True,
        layout="NCHW8c",
    ),
}


@pytest.mark.parametrize("target", ("x86-64", "x86-64-v3"))
@pytest.mark.parametrize("name", LONE_WINDOWS)
def test_windows_that_reach_beyond_images(name: str, target: str) -> None:
    graph = Graph()
    graph.show(LONE_WINDOWS[name](graph), 4)
    graph.check(target)


def test_taps_beyond_images_take_no_memory() -> None:
    text = """func.func @main(%x: tensor<1x1x4x4xf32>) -> tensor<1x1x1x1xf32> {
      %0 = relay.nn.avg_pool2d %x {pool_size = array<i64: 1073741824, 1073741824>,
        strides = array<i64: 1073741824, 1073741824>, ceil_mode = true}
        : (tensor<1x1x4x4xf32>) -> tensor<1x1x1x1xf32>
      func.return %0 : tensor<1x1x1x1xf32>
    }"""
    lowered = lower_function(entry_function(program(text)), KernelOptions(TARGETS["x86-64"]))
    assert lowered.workspace_bytes < 1000


@pytest.mark.parametrize("name", LONE_PLACES)
def test_strides_do_not_matter_along_axes_with_one_place(name: str) -> None:
    """Nor does the dilation of windows of one tap."""
    graph = Graph()
    graph.show(LONE_PLACES[name](graph))
    graph.check("x86-64")


def test_long_strides_make_little_code() -> None:
    """A loop for each column modulo the stride would be hundreds of loops."""
    graph = Graph()
    x = graph.input(graph.small("float32", 1, 2, 2100))
    graph.show(MaxPool1DOp(x, [300], strides=[260]))
    graph.show(Conv1DOp(x, graph.input(graph.small("float32", 3, 2, 250)), strides=[260]))
    graph.check("x86-64", threads=2)
    module = graph.module().clone()
    run_passes(module, LEGALIZATION)
    lowered = lower_function(entry_function(module), KernelOptions(TARGETS["x86-64"]))
    assert sum(1 for _ in lowered.module.walk()) < 1000


def test_sign_of_zero() -> None:
    """The sign of -0 is 0, as in ONNX, onnxruntime and NumPy; what divides by it has the sign of its other operand."""
    x = np.array([-0.0, 0.0, 5e-8, -5e-8, -np.inf, np.nan])
    text = """func.func @main(%x: tensor<6xf16>, %y: tensor<6xf32>, %z: tensor<6xf64>) -> (tensor<6xf16>, tensor<6xf32>, tensor<6xf64>) {
      %0 = relay.sign %x : (tensor<6xf16>) -> tensor<6xf16>
      %1 = relay.sign %y : (tensor<6xf32>) -> tensor<6xf32>
      %2 = relay.sign %z : (tensor<6xf64>) -> tensor<6xf64>
      func.return %0, %1, %2 : tensor<6xf16>, tensor<6xf32>, tensor<6xf64>
    }"""
    model = xrelay.compile(program(text))
    inputs = [x.astype(dtype) for dtype in (np.float16, np.float32, np.float64)]
    names = [each.name for each in model.signature.inputs]
    for found in model.run(dict(zip(names, inputs, strict=True))).values():
        np.testing.assert_array_equal(found, [0, 0, 1, -1, -1, np.nan])
        assert not np.signbit(found[:2]).any()
