"""Transposed convolutions of any geometry mean the same as convolutions; the interpreter judges."""

import numpy as np
import pytest
from graphs import Graph

from xrelay.compiler import run_passes
from xrelay.dialects.conv.conv import Conv2DTransposeOp
from xrelay.interpreters.relay import interpret
from xrelay.transforms.legalize.legalize_convolutions import LegalizeConvolutionsPass


@pytest.mark.parametrize("is_special", [False, True], ids=["finite", "special"])
@pytest.mark.parametrize("seed", range(60))
def test_transposed(seed: int, is_special: bool) -> None:
    """Also of images with NaN and infinities; weights are finite, as they also meet the zeros around the images."""
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
    if is_special:
        image = g.inputs[0]
        places = rng.integers(0, image.size, 4)
        image.flat[places] = [np.inf, -np.inf, np.nan, -0.0]
    with np.errstate(invalid="ignore"):
        (expected,) = interpret(g.module(), g.inputs)
    module = g.module().clone()
    run_passes(module, [LegalizeConvolutionsPass(unsafe=True)])
    module.verify()
    assert not any(isinstance(each, Conv2DTransposeOp) for each in module.walk())
    with np.errstate(invalid="ignore"):
        (found,) = interpret(module, g.inputs)
    np.testing.assert_array_equal(found, expected)
