"""
Kernels of tensors without elements: a length that is not known before the program runs may be 0.

    every result is empty      the step is not taken, and the kernel is code for lengths of 1 and more
    some are, or an operand    loops that have no round; where an operator needs elements that may not be there, the
                               length has to be 1 or more, which becomes a condition of the program
"""

from collections.abc import Generator, Iterable, Iterator
from contextlib import contextmanager
from math import prod

from xdsl.ir import Attribute, Operation, SSAValue

from xrelay.dialects.core.values import TupleGetItemOp, TupleOp
from xrelay.dialects.length_scope import Scope
from xrelay.dialects.lengths import is_open, pin_here, polynomial, scope_of
from xrelay.dialects.nn.dense import BatchMatmulOp, DenseOp, MatmulOp
from xrelay.dialects.nn.space import PadOp
from xrelay.dialects.polynomials import Polynomial, split
from xrelay.dialects.qnn.conversion import QnnConcatenateOp
from xrelay.dialects.shapes import leaf_types
from xrelay.dialects.tensor.einsum import EinsumOp
from xrelay.dialects.tensor.random import DistributionOp
from xrelay.dialects.tensor.reduce import MaxOp, MinOp, ProdOp, SumOp
from xrelay.dialects.tensor.transform import ConcatenateOp
from xrelay.lowering.emit.group import Group
from xrelay.lowering.program.registry import RULES

SERVES_NONE = (
    *(ConcatenateOp, QnnConcatenateOp, TupleOp, TupleGetItemOp, DistributionOp),
    *(SumOp, ProdOp, MaxOp, MinOp, DenseOp, MatmulOp, BatchMatmulOp, EinsumOp),
)
"""Operators whose code serves tensors without elements: it reads and writes those that there are, in loops that may have no round."""


@contextmanager
def with_elements(group: Group) -> Generator[int]:
    """
    Around the code of the kernel of a group: gives the number of elements of its results, without which it must not run.
    """
    lengths = _lengths(value.type for value in values_of(group))
    opened = {polynomial(length): length for length in lengths if is_open(length)}
    scope = next(map(scope_of, opened.values()), None)
    elements = sum(prod(leaf.get_shape()) for leaf in leaf_types(group.result.type))
    if scope is None:
        yield elements
        return
    with scope.empty.assuming(frozenset(range(len(scope.symbols)))):
        # What is 0 for some lengths beside 0, as n - 3 is, takes another program.
        for length in opened.values():
            if length < 1:
                pin_here(length)
    with scope.empty.assuming(_emptying(scope, group.result.type)):
        for op in group.ops:
            _require_elements(scope, op, group.result.type)
        yield elements


def values_of(group: Group) -> Iterator[SSAValue]:
    """The values of a group."""
    yield from group.params
    for op in group.ops:
        yield from op.results


def _lengths(types: Iterable[Attribute]) -> Iterable[int]:
    return (length for type_ in types for leaf in leaf_types(type_) for length in leaf.get_shape())


def _require_elements(scope: Scope, op: Operation, results: Attribute) -> None:
    """Makes a condition of it that there are the elements that an operator reads for results that are not empty."""
    if _serves_none(op) or not op.results:
        return
    read = [length for each in op.operands for length in _may_be_0(scope, each.type)]
    if type(op) in RULES:
        # Elements are computed on demand, of which there is none where the operator has no results.
        results = op.results[0].type
    else:
        read += _may_be_0(scope, op.results[0].type)
    single = len(leaf_types(results)) == 1
    known = list(map(polynomial, _lengths([results]))) if single else []
    with scope.empty.assuming(_emptying(scope, results)):
        for each in read:
            if all(split(length, each)[1] for length in known):
                scope.empty.relies_on(each, ">")


def _serves_none(op: Operation) -> bool:
    """Whether the code of an operator reads elements that there are only, also for results that are not empty."""
    return isinstance(op, SERVES_NONE) or isinstance(op, PadOp) and op.pad_mode.data == "constant"


def _may_be_0(scope: Scope, type_: Attribute) -> list[Polynomial]:
    """The lengths of tensors that may be 0."""
    lengths = map(polynomial, filter(is_open, _lengths([type_])))
    return [each for each in lengths if scope.empty.bounds(each)[0] <= 0]


def _emptying(scope: Scope, type_: Attribute) -> frozenset[int]:
    """The symbols that may be 0 and leave no tensor of a type an element where they are."""
    leaves = [
        frozenset[int]().union(
            *(_factors(scope, polynomial(each)) for each in leaf.get_shape() if is_open(each))
        )
        for leaf in leaf_types(type_)
    ]
    return leaves[0].intersection(*leaves[1:]) if leaves else frozenset()


def _factors(scope: Scope, value: Polynomial) -> frozenset[int]:
    """The symbols that may be 0 and are a factor of a length."""
    products = [frozenset(atoms) for atoms, _ in value]
    return products[0].intersection(*products[1:]) & scope.empty.symbols(value)
