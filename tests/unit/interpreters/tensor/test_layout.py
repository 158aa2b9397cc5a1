"""Layouts in the interpreter: every element at its place, and operators that agree across layouts."""

from collections.abc import Callable, Sequence
from math import prod

import numpy as np
import pytest
from xdsl.dialects import func
from xdsl.dialects.builtin import FunctionType, ModuleOp
from xdsl.ir import Block, Region, SSAValue

from xrelay.dialects.base import RelayOp
from xrelay.dialects.conv.conv import Conv2DOp
from xrelay.dialects.pool.pool import AvgPool2DOp, GlobalAvgPool2DOp, GlobalMaxPool2DOp, MaxPool2DOp
from xrelay.dialects.tensor.layout import LayoutTransformOp
from xrelay.interpreters.arrays import Array, type_of
from xrelay.interpreters.relay import interpret


def run(build: Callable[[Sequence[SSAValue]], RelayOp], *arrays: Array) -> Array:
    block = Block(arg_types=[type_of(array) for array in arrays])
    op = build(block.args)
    block.add_ops([op, func.ReturnOp(op)])
    type_ = FunctionType.from_lists(block.arg_types, [op.results[0].type])
    module = ModuleOp([func.FuncOp("main", type_, Region(block))])
    module.verify()
    return interpret(module, arrays)[0]


def transform(array: Array, source: str, target: str) -> Array:
    return run(lambda args: LayoutTransformOp(args[0], source, target), array)


def numbered(*shape: int) -> Array:
    return np.arange(1, prod(shape) + 1, dtype=np.float32).reshape(shape)


def test_channels_in_blocks():
    x = numbered(2, 20, 3, 5)
    blocked = transform(x, "NCHW", "NCHW16c")
    assert blocked.shape == (2, 2, 3, 5, 16)
    for n, c, h, w in np.ndindex(*x.shape):
        assert blocked[n, c // 16, h, w, c % 16] == x[n, c, h, w]
    assert not blocked[:, 1, :, :, 4:].any()


def test_weights_in_blocks_of_two_axes():
    w = numbered(33, 20, 3, 2)
    blocked = transform(w, "OIHW", "HWOI4i16o")
    assert blocked.shape == (3, 2, 3, 5, 4, 16)
    for o, i, y, x in np.ndindex(*w.shape):
        assert blocked[y, x, o // 16, i // 4, i % 4, o % 16] == w[o, i, y, x]


@pytest.mark.parametrize("middle", ["NCHW4c", "NCHW16c", "NHWC", "CHWN", "NCHW8c2w", "NHCW3n"])
def test_there_and_back(middle: str):
    x = numbered(2, 20, 3, 5)
    back = transform(transform(x, "NCHW", middle), middle, "NCHW")
    inside = tuple(slice(length) for length in x.shape)
    assert np.array_equal(back[inside], x)
    assert back.sum(dtype=np.float64) == x.sum(dtype=np.float64)


def test_from_blocks_to_blocks():
    x = numbered(1, 20, 3, 5)
    small, large = (transform(x, "NCHW", layout) for layout in ("NCHW4c", "NCHW16c"))
    assert np.array_equal(transform(small, "NCHW4c", "NCHW16c"), large)
    assert np.array_equal(transform(large, "NCHW16c", "NCHW4c")[:, :5], small)


@pytest.mark.parametrize("groups", [1, 2, 20])
@pytest.mark.parametrize("layouts", [("NCHW16c", ""), ("NCHW16c", "NCHW"), ("NCHW", "NCHW8c")])
def test_convolution(groups: int, layouts: tuple[str, str]):
    rng = np.random.default_rng(0)
    x = rng.standard_normal((2, 20, 7, 6)).astype(np.float32)
    w = rng.standard_normal((40, 20 // groups, 3, 3)).astype(np.float32)

    def build(data_layout: str, out_layout: str) -> Callable[[Sequence[SSAValue]], RelayOp]:
        return lambda args: Conv2DOp(
            args[0],
            args[1],
            padding=(1, 0),
            groups=groups,
            data_layout=data_layout,
            out_layout=out_layout,
        )

    expected = run(build("NCHW", ""), x, w)
    data = x if layouts[0] == "NCHW" else transform(x, "NCHW", layouts[0])
    if data is not x:
        data[:, -1, :, :, 4:] = np.nan  # Padding is never read.
    out = layouts[1] or layouts[0]
    wanted = expected if out == "NCHW" else transform(expected, "NCHW", out)
    np.testing.assert_array_equal(run(build(*layouts), data, w), wanted)


POOLS: list[Callable[[SSAValue, str], RelayOp]] = [
    lambda x, layout: MaxPool2DOp(x, (3, 2), strides=(2, 2), padding=(1, 0), layout=layout),
    lambda x, layout: AvgPool2DOp(x, (3, 3), padding=(1, 1), ceil_mode=True, layout=layout),
    GlobalAvgPool2DOp,
    GlobalMaxPool2DOp,
]


@pytest.mark.parametrize("pool", POOLS)
def test_pooling(pool: Callable[[SSAValue, str], RelayOp]):
    x = np.random.default_rng(0).standard_normal((2, 20, 7, 6)).astype(np.float32)
    expected = run(lambda args: pool(args[0], "NCHW"), x)
    blocked = run(lambda args: pool(args[0], "NCHW8c"), transform(x, "NCHW", "NCHW8c"))
    np.testing.assert_array_equal(transform(blocked, "NCHW8c", "NCHW")[:, :20], expected)
