"""
Parallel matrix products that become a batch of them.

    %0 = relay.nn.dense %x, %u                 %0 = relay.nn.batch_matmul (stack %x, %x), (stack %u, %v)
    %1 = relay.add %0, %a                      %1 = relay.add %0, (stack (expand_dims %a, %b))
    %2 = relay.nn.dense %x, %v           ──►   %2 = relay.split %1
    %3 = relay.add %2, %b                      %3, %4 = squeeze of %2.0, of %2.1

Other operands of the operators after them have one shape, and are stacked as matrices: vectors and scalars get axes of
length 1 in front. What changes the shape of a product stays, and so does `relay.nn.bias_add`.

Source: Relay's ParallelOpBatchCombiner, which stacks scalars to a vector along the last axis.
"""

from abc import ABC
from collections.abc import Hashable, Sequence
from dataclasses import dataclass

from xdsl.ir import SSAValue

from xrelay.dialects.base import RelayOp
from xrelay.dialects.core.values import TupleGetItemOp, TupleOp
from xrelay.dialects.nn.dense import BatchMatmulOp, DenseOp
from xrelay.dialects.nn.norm import BiasAddOp
from xrelay.dialects.shapes import same_shape, shape_of
from xrelay.dialects.tensor.reshape import ExpandDimsOp, SqueezeOp
from xrelay.dialects.tensor.transform import SplitOp, StackOp
from xrelay.transforms.rules.combine.parallel import Combiner, Layer
from xrelay.transforms.rules.rewriting import Emitter


@dataclass(frozen=True)
class StackingCombiner(Combiner, ABC):
    """Uses of `relay.nn.dense` that become a batch of products."""

    def weight_key(self, op: RelayOp) -> Hashable:
        return shape_of(op.operands[1])

    def widened_shape(self, shape: Sequence[int], branches: Sequence[RelayOp]) -> list[int]:
        return [len(branches), *shape]

    def combined(self, emit: Emitter, branches: Sequence[RelayOp]) -> SSAValue:
        first = branches[0]
        assert isinstance(first, DenseOp)
        data = stacked(emit, [op.operands[0] for op in branches])
        weights = stacked(emit, [op.operands[1] for op in branches])
        return emit(BatchMatmulOp(data, weights, transpose_b=True, out_dtype=first.out_dtype))

    def fits(self, layer: Layer, tails: Sequence[RelayOp]) -> bool:
        shapes = set(map(shape_of, layer.others))
        return (
            not isinstance(layer.ops[0], BiasAddOp)
            and len(shapes) == 1
            and same_shape(shape_of(layer.ops[0].results[0]), shape_of(tails[0].results[0]))
        )

    def other_operand(self, emit: Emitter, layer: Layer, tails: Sequence[RelayOp]) -> SSAValue:
        rank = len(shape_of(tails[0].results[0]))
        return stacked(emit, [_of_rank(emit, other, rank) for other in layer.others])

    def parts(self, emit: Emitter, value: SSAValue, branches: Sequence[RelayOp]) -> list[SSAValue]:
        split = emit(SplitOp(value, len(branches)))
        items = [emit(TupleGetItemOp(split, number)) for number in range(len(branches))]
        return [emit(SqueezeOp(item, [0])) for item in items]


def _of_rank(emit: Emitter, value: SSAValue, rank: int) -> SSAValue:
    """A value with axes of length 1 in front."""
    missing = rank - len(shape_of(value))
    return emit(ExpandDimsOp(value, 0, num_newaxis=missing)) if missing else value


def stacked(emit: Emitter, values: Sequence[SSAValue]) -> SSAValue:
    """Values along a new first axis."""
    return emit(StackOp(emit(TupleOp(values))))
