"""
Kernels of tensors without elements: a length that is not known before the program runs may be 0.

    every result is empty      the step is not taken, and the kernel is code for lengths of 1 and more
    some are, or an operand    loops that have no round; where an operator needs elements that may not be there, the
                               length has to be 1 or more, which becomes a condition of the program
"""

from collections.abc import Generator, Iterable
from contextlib import AbstractContextManager, contextmanager
from functools import reduce
from math import prod

from xdsl.ir import Attribute, Operation

from xrelay.dialects.core.values import TupleGetItemOp, TupleOp
from xrelay.dialects.length_scope import Scope
from xrelay.dialects.lengths import is_open, pin_here, polynomial, scope_of
from xrelay.dialects.nn.dense import BatchMatmulOp, DenseOp, MatmulOp
from xrelay.dialects.nn.space import PadOp
from xrelay.dialects.polynomials import Polynomial, difference, multiplied, number, split, total
from xrelay.dialects.qnn.conversion import QnnConcatenateOp
from xrelay.dialects.shapes import leaf_types
from xrelay.dialects.tensor.einsum import EinsumOp
from xrelay.dialects.tensor.indexing import ScatterAddOp, ScatterNDOp, ScatterOp
from xrelay.dialects.tensor.random import DistributionOp
from xrelay.dialects.tensor.reduce import AllOp, AnyOp, MaxOp, MeanOp, MinOp, ProdOp, SumOp
from xrelay.dialects.tensor.sort import BoundedArgwhereOp, UniqueOp
from xrelay.dialects.tensor.transform import ConcatenateOp
from xrelay.dialects.vision.nms import AllClassNonMaxSuppressionOp
from xrelay.lowering.emit.group import Group
from xrelay.lowering.program.registry import RULES

SERVES_NONE = (
    *(ConcatenateOp, QnnConcatenateOp, TupleOp, TupleGetItemOp, DistributionOp),
    *(SumOp, ProdOp, MaxOp, MinOp, MeanOp, AllOp, AnyOp),
    *(DenseOp, MatmulOp, BatchMatmulOp, EinsumOp),
    *(BoundedArgwhereOp, UniqueOp, AllClassNonMaxSuppressionOp),
    *(ScatterOp, ScatterAddOp, ScatterNDOp),
)
"""Operators whose code serves tensors without elements: it reads and writes those that there are, in loops that may have no round."""


@contextmanager
def with_elements(group: Group) -> Generator[int]:
    """
    Around the code of the kernel of a group: gives the number of elements of its results, without which it must not run.
    """
    lengths = _lengths(value.type for value in group.values)
    opened = {polynomial(length): length for length in lengths if is_open(length)}
    scope = next(map(scope_of, opened.values()), None)
    elements = sum(prod(leaf.get_shape()) for leaf in leaf_types(group.result.type))
    if scope is None:
        yield elements
        return
    with scope.empty.assuming(frozenset(range(len(scope.symbols)))):
        # What is 0 for some lengths beside 0, as n - 3 is, takes another program, unless it leaves nothing to compute.
        emptying = [each for each in opened if _empties(each, group.result.type)]
        for op in group.ops:
            results, read = _read(op, group.result.type)
            for length in filter(is_open, read):
                value = polynomial(length)
                if value not in emptying and not _empties(value, results) and length < 1:
                    pin_here(length)
    with (
        scope.empty.assuming(_emptying(scope, group.result.type)),
        scope.assuming(emptying),
    ):
        for op in group.ops:
            _require_elements(scope, op, group.result.type)
        yield elements


def _empties(length: Polynomial, type_: Attribute) -> bool:
    """Whether tensors of a type have no element where a length is 0."""
    return all(
        any(not split(polynomial(each), length)[1] for each in leaf.get_shape())
        for leaf in leaf_types(type_)
    )


def with_rounds(count: int) -> AbstractContextManager[None]:
    """Around the code of rounds, of which there are as many as a length says: it has elements where there is a round."""
    scope = scope_of(count)
    assert scope is not None
    return scope.empty.assuming(scope.empty.emptying(polynomial(count)))


def _lengths(types: Iterable[Attribute]) -> Iterable[int]:
    return (length for type_ in types for leaf in leaf_types(type_) for length in leaf.get_shape())


def _require_elements(scope: Scope, op: Operation, results: Attribute) -> None:
    """Makes a condition of it that there are the elements that an operator reads for results that are not empty."""
    results, read = _read(op, results)
    with scope.empty.assuming(_emptying(scope, results)):
        lengths = map(polynomial, filter(is_open, read))
        uncertain = [each for each in lengths if scope.empty.bounds(each)[0] <= 0]
        there = _whether_there_are(scope, results) if uncertain else ()
        for each in uncertain:
            # Either the results are empty, or it is 1 or more.
            scope.empty.relies_on(difference(there, multiplied(there, each)), "<=")


def _read(op: Operation, results: Attribute) -> tuple[Attribute, list[int]]:
    """The lengths of which an operator needs elements, and the type of the results that it needs them for: `results` are those of the kernel."""
    if _serves_none(op) or not op.results:
        return results, []
    read = list(_lengths(each.type for each in op.operands))
    if type(op) in RULES:
        # Elements are computed on demand, of which there is none where the operator has no results.
        return op.results[0].type, read
    return results, [*read, *_lengths([op.results[0].type])]


def _whether_there_are(scope: Scope, type_: Attribute) -> Polynomial:
    """A sum that is 0 where tensors of a type have no elements, and more than 0 where they have some."""
    found: Polynomial = ()
    for leaf in leaf_types(type_):
        factors = map(polynomial, leaf.get_shape())
        uncertain = (each for each in factors if scope.empty.bounds(each)[0] <= 0)
        found = total(found, reduce(multiplied, uncertain, number(1)))
    return found


def _serves_none(op: Operation) -> bool:
    """Whether the code of an operator reads elements that there are only, also for results that are not empty."""
    return isinstance(op, SERVES_NONE) or isinstance(op, PadOp) and op.pad_mode.data == "constant"


def _emptying(scope: Scope, type_: Attribute) -> frozenset[int]:
    """The symbols that may be 0 and leave no tensor of a type an element where they are."""
    leaves = [
        frozenset[int]().union(
            *(scope.empty.emptying(polynomial(each)) for each in leaf.get_shape() if is_open(each))
        )
        for leaf in leaf_types(type_)
    ]
    return leaves[0].intersection(*leaves[1:]) if leaves else frozenset()
