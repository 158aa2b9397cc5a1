"""Transposed convolutions of any geometry mean the same as convolutions; the interpreter judges."""

import numpy as np
import pytest
from graphs import Graph

from xrelay.compiler import run_passes
from xrelay.dialects.conv.conv import Conv2DTransposeOp
from xrelay.interpreters.relay import interpret
from xrelay.transforms.legalize.legalize_convolutions import LEGALIZED, LegalizeConvolutionsPass


@pytest.mark.parametrize("seed", range(60))
def test_transposed(seed: int) -> None:
    rng = np.random.default_rng(seed)
    g = Graph(seed)
    groups = 1 + seed % 2
    kernel, strides, dilation = (rng.integers(1, most, 2).tolist() for most in (6, 5, 4))
    # More may be cut off than windows reach, as long as something is left.
    size, padding = rng.integers(3, 7, 2).tolist(), rng.integers(0, 3, 4).tolist()
    layout = ("IOHW", "OIHW")[seed // 2 % 2]
    channels = (2 * groups, 3)[:: 1 if layout == "IOHW" else -1]
    x = g.input(g.small("float32", 1 + seed % 3, 2 * groups, *size))
    w = g.input(g.small("float32", *channels, *kernel))
    op = Conv2DTransposeOp(
        x,
        w,
        strides=strides,
        padding=padding,
        output_padding=rng.integers(2, 5, 2).tolist(),
        dilation=dilation,
        groups=groups,
        kernel_layout=layout,
    )
    g.show(op)
    (expected,) = interpret(g.module(), g.inputs)
    module = g.module().clone()
    run_passes(module, [LegalizeConvolutionsPass()])
    module.verify()
    assert not any(isinstance(each, LEGALIZED) for each in module.walk())
    (found,) = interpret(module, g.inputs)
    np.testing.assert_array_equal(found, expected)
