"""
How exporters write scaled dot-product attention, and what moves elements for it.

    softmax(queries · keysᵀ · scale + mask) · values

The scale is a factor or divisor of the scores, of the queries, or its root one of queries and keys.
The mask is added, or it chooses between scores and a large negative number. Heads are cut out of
projections by slices, reshapes and transposes, and put together again behind. Operands, weights and the result may be
rounded to another type.
"""

from collections.abc import Sequence

from xdsl.ir import Block, Operation

from xrelay.analysis.patterns.language import Pattern, is_number, is_op, one_of, through, wildcard
from xrelay.dialects.core.values import TupleGetItemOp
from xrelay.dialects.nn.dense import MatrixProductOp
from xrelay.dialects.nn.norm import SoftmaxOp
from xrelay.dialects.tensor.binary import AddOp, DivideOp, MultiplyOp, NotEqualOp
from xrelay.dialects.tensor.reshape import RESHAPE_OPS
from xrelay.dialects.tensor.transform import (
    BroadcastToOp,
    RepeatOp,
    SplitOp,
    StridedSliceOp,
    TransposeOp,
    WhereOp,
)
from xrelay.dialects.tensor.unary import CastOp
from xrelay.transforms.rules.scaling import is_single_number, scaled_operand

MOST_STEPS = 3
"""Operators between the first product and the softmax, reshapes not counted."""

MOVES = (*RESHAPE_OPS, TransposeOp)
ROUNDED_MOVES = (*MOVES, CastOp)
SOURCES = (*MOVES, StridedSliceOp, SplitOp, TupleGetItemOp, BroadcastToOp, RepeatOp)
"""What moves elements of the operands."""


def _after_step(scores: Pattern) -> Pattern:
    """Scores that were scaled or masked."""
    mask = wildcard()
    return through(
        MOVES,
        one_of(
            is_op(DivideOp)(scores, is_number()),
            is_op(MultiplyOp)(scores, is_number()),
            is_op(AddOp)(scores, mask),
            is_op(WhereOp)(mask, scores, is_number()),
            is_op(WhereOp)(mask, is_number(), scores),
        ),
    )


def _scores() -> Pattern:
    forms: list[Pattern] = []
    for steps in range(MOST_STEPS + 1):
        scores: Pattern = through(MOVES, is_op(MatrixProductOp)(wildcard(), wildcard()))
        for _ in range(steps):
            scores = _after_step(scores)
        forms.append(scores)
    return one_of(*forms)


def _is_along_last_axis(op: SoftmaxOp) -> bool:
    return op.normalized_axis + 1 == op.data.type.get_num_dims()


_SOFTMAX = through(ROUNDED_MOVES, is_op(SoftmaxOp)(_scores()).where(_is_along_last_axis))
# The softmax of a row that is masked as a whole is NaN, for which some write zeros: where it is NaN, which is a part of the
# composite then, or where something else says so.
_CONDITION = one_of(is_op(NotEqualOp)(_SOFTMAX, _SOFTMAX), wildcard())
_WEIGHTS = one_of(
    _SOFTMAX, through(ROUNDED_MOVES, is_op(WhereOp)(_CONDITION, is_number(), _SOFTMAX))
)
ATTENTION = through(ROUNDED_MOVES, is_op(MatrixProductOp)(_WEIGHTS, wildcard()))


def with_moves(ops: Sequence[Operation]) -> set[Operation]:
    """
    The operations of attention, what moves elements before them, and what scales the operands of the
    products by a number. Other users of these keep the originals. A value that is rounded where it is computed is not
    rounded inside.
    """
    inside = set(ops)
    pending = [(op, value) for op in ops for value in op.operands]
    while pending:
        user, value = pending.pop()
        op = value.owner
        if not isinstance(op, Operation) or op in inside:
            continue
        of_product = isinstance(user, MatrixProductOp)
        if _moves_or_scales(op, of_product) or (
            isinstance(op, CastOp) and _moves_or_scales(op.data.owner, of_product)
        ):
            inside.add(op)
            # The operand of a move counts as an operand of the operator behind the move.
            pending.extend((user if of_product else op, operand) for operand in op.operands)
    return inside


def _moves_or_scales(op: Operation | Block, of_product: bool) -> bool:
    """Whether an operator moves elements, or scales an operand of a product or hides elements of it."""
    if isinstance(op, SOURCES):
        return True
    return (
        of_product and isinstance(op, Operation) and (scaled_operand(op) is not None or _hides(op))
    )


def _hides(op: Operation) -> bool:
    """Whether a number stands for elements that are not to be seen, as those of a cache that nothing was written to."""
    return isinstance(op, WhereOp) and is_single_number(op.y)
