"""
A small language of patterns over values: what computes a value, down to named leaves.

    x = Leaf("x")
    relu_of_sum = Op(ReluOp, Op(AddOp, x, Number(1.0)))
    match(relu_of_sum, value)   ──►  Match(leaves={"x": …}, ops=[relu, add])

Operands of commutative operators match in either order. A leaf that occurs twice must be the same value.
All ways to match are tried in the order in which they are written, so that results do not depend on
anything but the pattern and the program.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from math import isclose
from typing import Any

import numpy as np
from xdsl.ir import Operation, SSAValue

from xrelay.dialects.binary import AddOp, MaximumOp, MinimumOp, MultiplyOp
from xrelay.dialects.core import BlobAttr, ConstantOp
from xrelay.dialects.shapes import is_tensor_type
from xrelay.interpreters.arrays import BFLOAT16, constant_array, dtype_of
from xrelay.interpreters.numerics import is_float

COMMUTATIVE = (AddOp, MultiplyOp, MaximumOp, MinimumOp)


@dataclass(frozen=True)
class Match:
    """What a pattern found."""

    leaves: Mapping[str, SSAValue] = field(default_factory=dict[str, SSAValue])
    numbers: Mapping[str, float] = field(default_factory=dict[str, float])
    ops: tuple[Operation, ...] = ()
    """The operations that the pattern names, the root first; one may occur twice."""

    def with_leaf(self, name: str, value: SSAValue) -> "Match":
        """With one more leaf."""
        return Match({**self.leaves, name: value}, self.numbers, self.ops)

    def with_number(self, name: str, number: float) -> "Match":
        """With one more number."""
        return Match(self.leaves, {**self.numbers, name: number}, self.ops)

    def with_op(self, op: Operation) -> "Match":
        """With one more operation."""
        return Match(self.leaves, self.numbers, (*self.ops, op))


class Pattern(ABC):
    """Describes values."""

    @abstractmethod
    def matches(self, value: SSAValue, before: Match) -> Iterator[Match]:
        """All ways in which `value` is as described, given what was found before."""


@dataclass(frozen=True)
class Leaf(Pattern):
    """Any value, the same one wherever the name occurs."""

    name: str

    def matches(self, value: SSAValue, before: Match) -> Iterator[Match]:
        known = before.leaves.get(self.name)
        if known is None:
            yield before.with_leaf(self.name, value)
        elif known is value:
            yield before


@dataclass(frozen=True)
class Number(Pattern):
    """A constant whose elements are all one number, up to rounding in its type."""

    value: float

    def matches(self, value: SSAValue, before: Match) -> Iterator[Match]:
        found = number_of(value)
        if found is not None and isclose(found, self.value, rel_tol=_rounding(value)):
            yield before


@dataclass(frozen=True)
class AnyNumber(Pattern):
    """A constant whose elements are all one number, which the match remembers."""

    name: str

    def matches(self, value: SSAValue, before: Match) -> Iterator[Match]:
        found = number_of(value)
        if found is not None and before.numbers.get(self.name, found) == found:
            yield before.with_number(self.name, found)


class Op(Pattern):
    """The result of an operation of a type, whose operands are as described."""

    def __init__(
        self,
        type_: type[Operation],
        *operands: Pattern,
        where: Callable[[Any], bool] | None = None,
    ):
        self.type = type_
        self.operands = operands
        self.where = where

    def matches(self, value: SSAValue, before: Match) -> Iterator[Match]:
        op = value.owner
        if not isinstance(op, self.type) or len(op.operands) != len(self.operands):
            return
        if self.where is not None and not self.where(op):
            return
        found = before.with_op(op)
        yield from _all_match(self.operands, tuple(op.operands), found)
        if isinstance(op, COMMUTATIVE):
            yield from _all_match(self.operands, tuple(reversed(op.operands)), found)


class OneOf(Pattern):
    """A value that one of several patterns describes; the first that does counts."""

    def __init__(self, *patterns: Pattern):
        self.patterns = patterns

    def matches(self, value: SSAValue, before: Match) -> Iterator[Match]:
        for pattern in self.patterns:
            yield from pattern.matches(value, before)


class Through(Pattern):
    """A value that some operators of one operand, any number of them, make of one as described."""

    def __init__(self, types: tuple[type[Operation], ...], pattern: Pattern):
        self.types = types
        self.pattern = pattern

    def matches(self, value: SSAValue, before: Match) -> Iterator[Match]:
        chain = [(value, before)]
        while isinstance(op := value.owner, self.types) and len(op.operands) == 1:
            value, before = op.operands[0], before.with_op(op)
            chain.append((value, before))
        for reached, found in reversed(chain):
            yield from self.pattern.matches(reached, found)


def _all_match(
    patterns: tuple[Pattern, ...], values: tuple[SSAValue, ...], before: Match
) -> Iterator[Match]:
    if not patterns:
        yield before
        return
    for found in patterns[0].matches(values[0], before):
        yield from _all_match(patterns[1:], values[1:], found)


def match(pattern: Pattern, value: SSAValue) -> Match | None:
    """The first way in which a pattern describes a value, None when it does not."""
    return next(pattern.matches(value, Match()), None)


def _rounding(value: SSAValue) -> float:
    """How far a number in the type of a tensor may be from the one that was meant, relatively."""
    assert is_tensor_type(value.type)
    dtype = dtype_of(value.type.element_type)
    if not is_float(dtype):
        return 0.0
    return 2.0**-6 if dtype == BFLOAT16 else 2 * float(np.finfo(dtype).eps)


def number_of(value: SSAValue) -> float | None:
    """The number that all elements of a small or uniform constant are, None for other values."""
    op = value.owner
    if not isinstance(op, ConstantOp) or isinstance(op.value, BlobAttr):
        return None
    array = constant_array(op)
    if array.size == 0 or not np.all(array == array.flat[0]):
        return None
    first = array.flat[0].item()
    return float(first) if isinstance(first, float | int) else None
