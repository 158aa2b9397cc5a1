"""Operators with numbers for their open lengths, for choices that serve all lengths."""

from collections.abc import Callable

from xdsl.ir import Block, Operation, SSAValue
from xdsl.rewriter import Rewriter

from xrelay.dialects.lengths import is_open_type, type_at


def has_lengths(op: Operation) -> bool:
    """Whether an operator computes from, or gives, tensors with lengths that are not known before the program runs."""
    return any(is_open_type(value.type) for value in (*op.operands, *op.results))


def with_numbers(
    op: Operation, number_of: Callable[[int], int]
) -> tuple[Operation, dict[SSAValue, SSAValue]]:
    """A copy of an operator with numbers for lengths, `likely` or `hint` ones; and its operands, by those of the operator."""
    operands = tuple(dict.fromkeys(op.operands))
    block = Block(arg_types=[type_at(value.type, number_of) for value in operands])
    given = dict[SSAValue, SSAValue](zip(operands, block.args, strict=True))
    copy = op.clone(dict(given))
    for each in copy.walk():
        args = (arg for region in each.regions for inner in region.blocks for arg in inner.args)
        for value in (*each.results, *args):
            if is_open_type(value.type):
                Rewriter.replace_value_with_new_type(value, type_at(value.type, number_of))
    return copy, given
