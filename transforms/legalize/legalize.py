"""
`legalize`: operators that a target does not have, by ones that it has. The table of the target `cpu`, this project's code
generator, is about operators without kernels; `TARGETS` takes those of others.

    relay.nn.l2_normalize %x                 x / sqrt(maximum(sum(x * x), eps))
    relay.nn.cross_entropy %x, %y            sum(log(x) * y) / -N; with logits without the log
    relay.nn.nll_loss %p, %t, %w             gather_nd and take by the classes, where, sum
    relay.nn.contrib_dense_pack %x, %w       transpose and reshape of the weight, relay.nn.dense
    relay.nn.upsampling, bicubic             relay.image.resize2d
    relay.einsum of several tensors          matrix products, relay.multiply
    relay.nn.conv1d_transpose, …3d_…         relay.nn.conv2d_transpose, dilate and relay.nn.conv3d
    relay.nn.contrib_*_winograd_* …          products with the matrices of Winograd's algorithm
    relay.nn.bitserial_conv2d, …_dense       the bits as integers, relay.nn.conv2d, relay.nn.dense
    relay.on_device %x, of a CPU or no type  %x: there is one device

Arithmetic of f16 takes place in f32, as in an operator of its own. What becomes of weights are
operators, which `fold-constant` computes when the weights are constants.

Leaves alone: what is on other devices than a CPU, transposed convolutions in other layouts than those of their defaults, operators on
tensors with unknown dimensions, `relay.composite`, which a backend knows
by its shape, and functions for other compilers. Run it after legalize-layouts, and before
legalize-convolutions and fold-constant.

Source: Relay's Legalize.
"""

from dataclasses import dataclass

import numpy as np
from xdsl.dialects.builtin import ModuleOp, i64
from xdsl.ir import Operation, SSAValue

from xrelay.analysis.relay_pass import RelayPass
from xrelay.dialects.core.device import CPU, UNDECIDED, OnDeviceOp
from xrelay.dialects.nn.dense import ContribDensePackOp, DenseOp
from xrelay.dialects.nn.loss import (
    CrossEntropyFamilyOp,
    CrossEntropyOp,
    CrossEntropyWithLogitsOp,
    NllLossOp,
)
from xrelay.dialects.nn.norm import L2NormalizeOp
from xrelay.dialects.nn.upsampling import UpsamplingOp
from xrelay.dialects.shapes import shape_of
from xrelay.dialects.tensor.binary import DivideOp, EqualOp, MultiplyOp
from xrelay.dialects.tensor.einsum import EinsumOp
from xrelay.dialects.tensor.indexing import GatherNDOp, TakeOp
from xrelay.dialects.tensor.reduce import SumOp
from xrelay.dialects.tensor.reshape import ReshapeOp
from xrelay.dialects.tensor.transform import TransposeOp, WhereOp
from xrelay.dialects.tensor.unary import LogOp, NegativeOp
from xrelay.transforms.rules.emitting import cast, narrowed, relaid, reshaped, widened
from xrelay.transforms.rules.l2_normalization import l2_normalized
from xrelay.transforms.rules.legalize.bits import BITS_RULES
from xrelay.transforms.rules.legalize.einsum import einsum
from xrelay.transforms.rules.legalize.tables import TargetTables, of_static_shapes
from xrelay.transforms.rules.legalize.transposed import TRANSPOSED_RULES
from xrelay.transforms.rules.legalize.winograd import WINOGRAD_RULES
from xrelay.transforms.rules.rewriting import Emitter, Rule


def _cross_entropy(op: CrossEntropyFamilyOp, emit: Emitter) -> SSAValue:
    x, y = widened(emit, op.x), widened(emit, op.y)
    if isinstance(op, CrossEntropyOp):
        x = emit(LogOp(x))
    total = emit(SumOp(emit(MultiplyOp(x, y))))
    count = emit.scalar(shape_of(op.x)[0], total)
    return narrowed(emit, emit(DivideOp(emit(NegativeOp(total)), count)), op.x)


def _nll_loss(op: NllLossOp, emit: Emitter) -> SSAValue:
    _, classes, *rest = shape_of(op.predictions)
    places = shape_of(op.targets)
    count = int(np.prod(places))
    predictions, weights = widened(emit, op.predictions), widened(emit, op.weights)
    last = emit(TransposeOp(predictions, (0, *range(2, 2 + len(rest)), 1)))
    rows = reshaped(emit, last, (count, classes))
    targets = emit(ReshapeOp(cast(emit, op.targets, i64), (count,), allowzero=True))
    indices = reshaped(emit, targets, (1, count))
    chosen = emit(GatherNDOp(rows, indices, batch_dims=1))
    ignored = emit(EqualOp(targets, emit.scalar(op.ignore_index.value.data, targets)))
    zero = emit.scalar(0, weights)
    weight = emit(WhereOp(ignored, zero, emit(TakeOp(weights, targets, axis=0))))
    losses = emit(WhereOp(ignored, zero, emit(MultiplyOp(emit(NegativeOp(chosen)), weight))))
    if op.reduction.data == "none":
        result = reshaped(emit, losses, places)
    else:
        result = emit(SumOp(losses))
        if op.reduction.data == "mean":
            result = emit(DivideOp(result, emit(SumOp(weight))))
    return narrowed(emit, result, op.predictions)


def _dense_pack(op: ContribDensePackOp, emit: Emitter) -> SSAValue:
    blocks, depth, lanes = shape_of(op.weight)
    rows = emit(TransposeOp(op.weight, (0, 2, 1)))
    weight = reshaped(emit, rows, (blocks * lanes, depth))
    return emit(DenseOp(op.data, weight, out_dtype=op.out_dtype))


def _upsampling(op: UpsamplingOp, emit: Emitter) -> SSAValue | None:
    if not op.is_cubic:
        return None
    layout, canonical = op.data_layout, op.IMAGE_LAYOUT
    lengths = layout.lengths(shape_of(op.result))
    image = relaid(emit, op.data, layout, canonical)
    resized = emit(op.resize(image, [lengths[name] for name in "HW"]))
    return relaid(emit, resized, canonical, layout)


def _on_device(op: OnDeviceOp, emit: Emitter) -> SSAValue | None:
    return op.body if op.virtual_device.device_type.value.data in (UNDECIDED, CPU) else None


RULES: dict[type[Operation], Rule] = {
    L2NormalizeOp: l2_normalized,
    CrossEntropyOp: _cross_entropy,
    CrossEntropyWithLogitsOp: _cross_entropy,
    NllLossOp: _nll_loss,
    ContribDensePackOp: _dense_pack,
    OnDeviceOp: _on_device,
    **TRANSPOSED_RULES,
    **WINOGRAD_RULES,
    **BITS_RULES,
}
"""What replaces each operator that has no kernels."""
PARTIAL_RULES: dict[type[Operation], Rule] = {EinsumOp: einsum, UpsamplingOp: _upsampling}
"""What replaces some uses of operators that have kernels for the others."""


TARGETS = TargetTables(
    {
        "cpu": {
            op: rule if op is OnDeviceOp else of_static_shapes(rule)
            for op, rule in {**RULES, **PARTIAL_RULES}.items()
        }
    },
)
"""The tables of targets. Whoever has another one registers it."""


@dataclass(frozen=True)
class LegalizePass(RelayPass):
    """Replaces operators by what a target has for them."""

    name = "legalize"

    target: str = "cpu"
    """Whose table is used: by default that of this project's code generator, for operators without kernels."""

    def rewrite(self, op: ModuleOp) -> None:
        TARGETS.rewrite(op, self.target)
