"""
`legalize-convolutions`: convolutions that have no kernels of their own, by ones that have.

    relay.nn.conv1d %x, %w             [N, C, W] → [N, C, 1, W], relay.nn.conv2d, → [N, O, W']

    relay.nn.conv2d_transpose %x, %w   relay.nn.conv2d with the weight [O, C / groups, KH, KW] upside
                                       down; padding (K - 1) * dilation less than before

With strides s, %x would get s - 1 zeros between its elements. What is s apart in the result meets the
same taps on elements of %x and the others on zeros, so that there are as many convolutions as such
*phases*, each of %x itself with some of the taps:

    strides 2, taps a b c d:     result   0   1   2   3   4   5          even: taps a c
                                 taps     ac  bd  ac  bd  ac  bd         odd:  taps b d

The results are concatenated as channels and then transposed to lie between each other. For strides of
more than 64 phases %x is dilated (relay.nn.dilate) and there is one convolution. Taps also meet the zeros around %x,
so that an infinite weight would give NaN at the borders where the transposed convolution gives a number: the weight has to be a
constant of finite numbers, or one of integers. `unsafe` takes all weights.

The weight is transposed by operators, which `fold-constant` computes when it is a constant.

Leaves alone: weights that may be infinite, unless `unsafe` allows them; other layouts than NCW, NCHW, OIW, OIHW and IOHW; `relay.composite`, which a backend
knows by its shape, and functions for other compilers. Run it after legalize-layouts, and before
fold-constant and alter-op-layout.

Source: Relay's Legalize.
"""

from dataclasses import dataclass
from itertools import product
from math import gcd, prod

import numpy as np
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import SSAValue
from xdsl.pattern_rewriter import (
    GreedyRewritePatternApplier,
    PatternRewriter,
    RewritePattern,
    op_type_rewrite_pattern,
)

from xrelay.analysis.facts.pattern_walker import Outside, PatternWalker
from xrelay.analysis.facts.scopes import belongs_to_backend
from xrelay.analysis.relay_pass import RelayPass
from xrelay.dialects.conv.conv import Conv1DOp, Conv2DOp, Conv2DTransposeOp
from xrelay.dialects.core.values import TupleOp
from xrelay.dialects.shapes import element_type_of, is_dynamic, is_empty, shape_of
from xrelay.dialects.tensor.creation import ZerosOp
from xrelay.dialects.tensor.reshape import ExpandDimsOp, ReshapeOp, SqueezeOp
from xrelay.dialects.tensor.transform import ConcatenateOp, StridedSliceOp, TransposeOp
from xrelay.interpreters.constants import known_array
from xrelay.transforms.rules.legalize.transposed import convolved, dilated, mirrored
from xrelay.transforms.rules.rewriting import Emitter, is_floating


class LineAsImage(RewritePattern):
    """A line is an image of height 1."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: Conv1DOp, rewriter: PatternRewriter, /) -> None:
        if not op.is_plain:
            return
        left, right = op.pads
        emit = Emitter()
        image = emit(
            Conv2DOp(
                emit(ExpandDimsOp(op.data, 2)),
                emit(ExpandDimsOp(op.weight, 2)),
                strides=(1, *op.window_strides),
                padding=(0, left, 0, right),
                dilation=(1, *op.window_dilation),
                groups=op.group_count(),
                out_dtype=op.out_dtype,
            )
        )
        emit(SqueezeOp(image, (2,)))
        rewriter.replace(op, emit.located(op))


@dataclass(frozen=True)
class _Phase:
    """
    The elements `offset`, `offset` + stride, … of the result along an axis, as a convolution: the
    padding before and after, and every `step`-th tap of the mirrored kernel from `first` on.
    """

    first: int
    taps: int
    step: int
    dilation: int
    before: int
    after: int


def _phases(
    length: int, taps: int, stride: int, dilation: int, pad: int, result: int
) -> list[_Phase]:
    """
    All phases of an axis, each of as many elements as the first. Element t of the result is the sum
    of data[i] * tap[k] where i * stride + k * dilation = t + pad.
    """
    phases: list[_Phase] = []
    count = -(-result // stride)
    common = gcd(stride, dilation)
    step, gap = stride // common, dilation // common
    for offset in range(stride):
        rest = (offset + pad) % stride
        used = [k for k in range(taps) if k * dilation % stride == rest]
        # Element number p meets data[p + start], data[p + start - gap], … with its taps.
        start = (offset + pad) // stride - (used[0] * dilation // stride if used else 0)
        before = (len(used) - 1) * gap - start
        after = count - length - before + (len(used) - 1) * gap
        first = taps - 1 - used[-1] if used else 0
        phases.append(_Phase(first, len(used), step, gap, before, after))
    return phases


MOST_PHASES = 64


def is_finite(weight: SSAValue) -> bool:
    """Whether a weight is a constant of finite numbers, or holds integers."""
    if not is_floating(weight):
        return True
    values = known_array(weight)
    return values is not None and bool(np.isfinite(values).all())


@dataclass(frozen=True)
class TransposedAsConvolutions(RewritePattern):
    """
    What a window adds to an element of the result comes from every element of `data` that the
    mirrored window meets, when there are strides - 1 zeros between those.
    """

    unsafe: bool
    """Whether the weight may be infinite."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: Conv2DTransposeOp, rewriter: PatternRewriter, /) -> None:
        if is_dynamic(op.weight.type) or is_dynamic(op.data.type):
            return
        if not op.is_plain or not (self.unsafe or is_finite(op.weight)):
            return
        emit = Emitter()
        phases = prod(op.window_strides)
        apart = 1 < phases <= MOST_PHASES and not is_empty(op.result.type.get_shape())
        result = in_phases(emit, op) if apart else dilated(emit, op)
        rewriter.replace(op, emit.located(op), (result,))


def in_phases(emit: Emitter, op: Conv2DTransposeOp) -> SSAValue:
    """A convolution of `data` for each phase."""
    strides, dilation, pads = op.window_strides, op.window_dilation, op.pads
    batch, channels, *size = op.result.type.get_shape()
    kernel = op.weight.type.get_shape()[2:]
    along = [
        _phases(length, taps, stride, gap, pad, result)
        for length, taps, stride, gap, pad, result in zip(
            shape_of(op.data)[2:], kernel, strides, dilation, pads[:2], size, strict=True
        )
    ]
    counts = [-(-length // stride) for length, stride in zip(size, strides, strict=True)]
    weight = mirrored(emit, op)
    parts: list[SSAValue] = []
    for axes in product(*along):
        if any(phase.taps == 0 for phase in axes):
            parts.append(emit(ZerosOp((batch, channels, *counts), element_type_of(op.result))))
            continue
        window = emit(
            StridedSliceOp(
                weight,
                [phase.first for phase in axes],
                [phase.first + (phase.taps - 1) * phase.step + 1 for phase in axes],
                [phase.step for phase in axes],
                axes=(2, 3),
            )
        )
        rows, columns = axes
        borders = (rows.before, columns.before, rows.after, columns.after)
        parts.append(convolved(emit, op, op.data, window, borders, [p.dilation for p in axes]))
    joined = emit(ConcatenateOp(emit(TupleOp(parts)), axis=1))
    apart = emit(ReshapeOp(joined, (batch, *strides, channels, *counts)))
    between = emit(TransposeOp(apart, (0, 3, 4, 1, 5, 2)))
    whole = [count * stride for count, stride in zip(counts, strides, strict=True)]
    result = emit(ReshapeOp(between, (batch, channels, *whole)))
    if whole != list(size):
        result = emit(StridedSliceOp(result, (0, 0), size, axes=(2, 3)))
    return result


@dataclass(frozen=True)
class LegalizeConvolutionsPass(RelayPass):
    """Replaces convolutions that have no kernels of their own."""

    name = "legalize-convolutions"

    unsafe: bool = False
    """Replace transposed convolutions also where weights may be infinite, which would give NaN at the borders."""

    def rewrite(self, op: ModuleOp) -> None:
        patterns = GreedyRewritePatternApplier(
            [LineAsImage(), TransposedAsConvolutions(self.unsafe)], dce_enabled=False
        )
        PatternWalker(
            Outside(belongs_to_backend, patterns), apply_recursively=False
        ).rewrite_module(op)
