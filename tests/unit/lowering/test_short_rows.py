"""Vectors that are longer than what they take elements from, compiled and compared with the interpreter."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from graphs import Graph
from xdsl.ir import SSAValue

from xrelay.dialects.nn.space import PadOp
from xrelay.dialects.nn.upsampling import UpsamplingOp
from xrelay.dialects.tensor.unary import NegativeOp


def padded(*widths: tuple[int, int]) -> Callable[[Any, SSAValue], SSAValue]:
    def body(inner: Any, x: SSAValue) -> SSAValue:
        border = inner.constant(np.float32(7))
        return inner.op(NegativeOp(inner.op(PadOp(x, border, widths))))

    return body


def enlarged(inner: Any, x: SSAValue) -> SSAValue:
    """Numbers between those of an image, which are computed on demand."""
    op = UpsamplingOp(x, scale_h=2.0, scale_w=4.0, method="bilinear", align_corners=False)
    return inner.op(NegativeOp(inner.op(op)))


@pytest.mark.parametrize(
    ("shape", "body", "tolerance"),
    [
        ((3, 2), padded((1, 0), (3, 3)), 0.0),
        ((3, 2), padded((0, 0), (0, 14)), 0.0),
        ((3, 2), padded((0, 0), (14, 0)), 0.0),
        ((2, 17), padded((0, 1), (0, 3)), 0.0),
        ((2, 17), padded((0, 1), (3, 0)), 0.0),
        ((1, 1, 2, 4), enlarged, 4.0),
    ],
)
def test_rows(
    shape: tuple[int, ...], body: Callable[[Any, SSAValue], SSAValue], tolerance: float
) -> None:
    g = Graph()
    x = g.input(g.small("float32", *shape))
    g.returns(g.fused([x], body), tolerance)
    g.check("x86-64-v3")
