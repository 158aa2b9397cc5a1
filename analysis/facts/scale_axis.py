"""
Which multiplications can be folded into weights, and why others cannot.

A *plan* for one multiplication `data · scale` is the list of operands to scale in place of its result. It is
found by the demands of `xrelay.analysis.facts.scale_demands`: backward it needs that on `data`, and forward that on
its own result. The scale has the lengths of `data` along the demanded axes and 1 along all others, or with the rules
`cpu` is a single number. relu wants factors that are known not to be negative, and a summand is
divided only by what cannot be zero: constants, and reciprocals.

Infinite factors and NaN stay where they are: a zero in a weight would become NaN. So do factors with which a
constant weight, summand or factor may become infinite or vanish. Unless `unsafe` allows them, so do factors that may be
infinite, as they are computed when the program runs, and zeros behind or in front of relu, which makes 0 of an infinity.

Source: Relay's ForwardFoldScaleAxis and BackwardFoldScaleAxis, which divide by zeros, too.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, cast

import ml_dtypes
import numpy as np
from xdsl.ir import Operation, SSAValue

from xrelay.analysis.facts.scale_demands import (
    Backward,
    Demand,
    Demands,
    Edit,
    Forward,
    Given,
    Refused,
    axes_text,
    refuse,
    varies_along,
)
from xrelay.analysis.facts.scopes import Within, keeps_body
from xrelay.analysis.facts.walking import walk
from xrelay.dialects.core.blob import stored_content
from xrelay.dialects.core.values import ConstantOp
from xrelay.dialects.lengths import certainly
from xrelay.dialects.shapes import Shape, is_empty, is_float, same_type, tensor_type
from xrelay.dialects.tensor.binary import DivideOp, MultiplyOp
from xrelay.dialects.tensor.reshape import RESHAPE_OPS
from xrelay.dialects.tensor.transform import TransposeOp
from xrelay.dialects.tensor.unary import RsqrtOp
from xrelay.interpreters.arrays import Array, DType, dtype_of
from xrelay.interpreters.constants import constant_array

Direction = Literal["backward", "forward"]

MOST_AXES = 2
"""A scale lies along the channels, which may be in blocks."""


@dataclass(frozen=True)
class Plan:
    """What happens to one multiplication."""

    multiply: MultiplyOp
    direction: Direction
    index: int
    """Which operand is the scale."""
    axes: tuple[int, ...] = ()
    """The axes of the other operand that the scale lies along, none for a single number."""
    edits: Sequence[Edit] = ()
    """The operands to scale, in the order of the program."""
    path: Sequence[Operation] = ()
    """The operators that the scale moves into or past, in the order of the program."""
    demand: Demand | None = None
    """The demand that the scale meets, None when the multiplication stays."""
    refusal: str = ""
    """Why the multiplication stays, empty when it is folded."""

    @property
    def folds(self) -> bool:
        """Whether the multiplication disappears."""
        return self.demand is not None

    def __str__(self) -> str:
        what = f"{self.multiply.name} %{self.multiply.result.name_hint or '?'} {self.direction}"
        if self.refusal:
            return f"{what}: stays, {self.refusal}"
        return f"{what}: folded into {', '.join(edit.op.name for edit in self.edits)}"


def computed_of_constants(ops: Iterable[Operation]) -> frozenset[SSAValue]:
    """Which results are constants whose bytes are known, or such as were scaled and not yet folded."""
    found = set[SSAValue]()
    for op in ops:
        if isinstance(op, ConstantOp):
            if stored_content(op.value) is not None:
                found.add(op.result)
        elif isinstance(op, (MultiplyOp, DivideOp, *RESHAPE_OPS)) and found.issuperset(op.operands):
            found.add(op.result)
    return frozenset(found)


def _source(value: SSAValue) -> SSAValue:
    """What elements are taken from that are only moved."""
    while isinstance(value.owner, (TransposeOp, *RESHAPE_OPS)):
        value = value.owner.data
    return value


def known_factors(value: SSAValue) -> Array | None:
    """The elements of a constant, in some order; None for other values."""
    op = _source(value).owner
    if not isinstance(op, ConstantOp) or stored_content(op.value) is None:
        return None
    return constant_array(op)


def is_never_zero(value: SSAValue) -> bool:
    """Whether all quotients by a value are numbers if its elements are: constants, and reciprocals."""
    factors = known_factors(value)
    if factors is not None:
        with np.errstate(all="ignore"):
            return bool(np.all(np.isfinite(1 / factors)))
    op = _source(value).owner
    return isinstance(op, RsqrtOp) or isinstance(op, DivideOp) and is_never_zero(op.lhs)


def _require(scale: SSAValue, demand: Demand, given: Given) -> None:
    """Refuses a scale whose factors a demand excludes."""
    factors = known_factors(scale)
    if factors is not None and not np.all(np.isfinite(factors)):
        raise Refused("the scale is not finite: 0 in a weight times infinity is NaN")
    if given.constant_weights and scale not in given.constants:
        raise Refused("the scale is not constant")
    if demand.constant is not None and scale not in given.constants:
        refuse(demand.constant, "takes a constant scale only")
    if demand.not_negative is not None:
        if factors is None or not np.all(factors >= 0):
            refuse(demand.not_negative, "needs a scale that is known not to be negative")
        if not given.unsafe and not np.all(factors > 0):
            refuse(demand.not_negative, "needs a scale without zeros: 0 times infinity is NaN")
    if demand.divides is not None and not is_never_zero(scale):
        refuse(demand.divides, "needs a scale that is known to have no zeros")


@dataclass(frozen=True)
class _Reach:
    """Absolute values of constants."""

    largest: float
    """The largest one, or more; NaN if one is."""
    reciprocal: float
    """That of the reciprocals."""
    smallest: float
    """The smallest one that is not zero, or less; infinite where all are."""

    def __mul__(self, other: "_Reach") -> "_Reach":
        return _Reach(
            self.largest * other.largest,
            self.reciprocal * other.reciprocal,
            self.smallest * other.smallest,
        )

    @property
    def inverse(self) -> "_Reach":
        """Of the reciprocals."""
        return _Reach(self.reciprocal, self.largest, 1 / self.largest if self.largest else math.inf)

    @staticmethod
    def of(factors: Array) -> "_Reach":
        """That of a constant."""
        with np.errstate(all="ignore"):
            wide = factors.astype(np.float64)
            sizes = np.abs(wide)
            smallest = float(sizes.min(initial=math.inf, where=sizes > 0))
            return _Reach(_largest(wide), _largest(1 / wide), smallest)


def _least_normal(dtype: DType) -> float:
    """The smallest number of a type that has all its digits."""
    return float(cast(Any, ml_dtypes).finfo(dtype).tiny)  # partly untyped


def _largest(array: Array) -> float:
    """The largest absolute value of elements; NaN if one is."""
    return float(np.maximum(array.max(initial=0), -array.min(initial=0)))


class _Planner:
    """Plans for the multiplications of a program in one direction."""

    def __init__(self, ops: Sequence[Operation], direction: Direction, given: Given):
        self.direction: Direction = direction
        self.given = given
        self.demands: Demands = Backward(given) if direction == "backward" else Forward(given)
        self.order = {op: number for number, op in enumerate(ops)}
        self.folded: dict[Operation, Plan] = {}
        """The plans that fold a multiplication."""
        self.reaches: dict[SSAValue, _Reach | None] = {}

    def plan(self, op: MultiplyOp) -> Plan | None:
        """What happens to a multiplication, None when neither operand may be a scale."""
        refused: Plan | None = None
        for index in (1, 0):
            if not self._may_be_scale(op, index):
                continue
            try:
                self.folded[op] = self._folded(op, index)
                return self.folded[op]
            except Refused as why:
                refused = refused or Plan(op, self.direction, index, refusal=str(why))
        return refused

    def _may_be_scale(self, op: MultiplyOp, index: int) -> bool:
        """Whether an operand varies along few axes, and is broadcast to one that is computed."""
        data, scale = (op.lhs, op.rhs) if index == 1 else (op.rhs, op.lhs)
        type_ = op.result.type
        if not is_float(type_.element_type) or is_empty(type_.get_shape()):
            return False
        if not same_type(data.type, type_) or data in self.given.constants:
            return False
        return sum(not certainly(length, 1) for length in scale.type.get_shape()) <= MOST_AXES

    def _folded(self, op: MultiplyOp, index: int) -> Plan:
        """The plan that folds an operand. Raises Refused."""
        data, scale = (op.lhs, op.rhs) if index == 1 else (op.rhs, op.lhs)
        if isinstance(self.demands, Backward):
            start, demand = data, self.demands.of_operand(data, op)
        else:
            start, demand = op.result, self.demands.demand(op.result)
        axes = self._axes(scale.type.get_shape(), data.type.get_shape(), demand)
        _require(scale, demand, self.given)
        edits: list[Edit] = []
        path: list[Operation] = []
        pending: list[SSAValue] = [start]
        while pending:
            for step in self.demands.steps[pending.pop()]:
                edits.extend(step.edits)
                path.append(step.op)
                pending.extend(step.onward)
        reach = self._reach(scale)
        if not self.given.unsafe and not (reach is not None and self._is_finite(reach, scale)):
            raise Refused(
                "the scale is not known to be finite: 0 in a weight times infinity is NaN"
            )
        if reach is not None:
            self._require_held(edits, reach)
        edits.sort(key=lambda edit: self.order[edit.op])
        path.sort(key=self.order.__getitem__)
        met = replace(demand, axes=axes or demand.axes)
        return Plan(op, self.direction, index, axes, edits, path, met)

    def _reach(self, value: SSAValue) -> _Reach | None:
        """That of a constant, or of a product or quotient of two, as an earlier run leaves it; None for other values."""
        if value not in self.reaches:
            op = _source(value).owner
            if isinstance(op, MultiplyOp | DivideOp):
                left, right = (known_factors(each) for each in op.operands)
                found = None
                if left is not None and right is not None:
                    other = _Reach.of(right)
                    found = _Reach.of(left) * (other.inverse if isinstance(op, DivideOp) else other)
            else:
                factors = known_factors(value)
                found = None if factors is None else _Reach.of(factors)
            self.reaches[value] = found
        return self.reaches[value]

    @staticmethod
    def _is_finite(reach: _Reach, value: SSAValue) -> bool:
        """Whether the largest elements are numbers in the dtype of a value."""
        dtype = dtype_of(tensor_type(value, "an operand").element_type)
        with np.errstate(all="ignore"):
            return bool(np.isfinite(np.asarray(reach.largest).astype(dtype)))

    @staticmethod
    def _vanishes(reach: _Reach, value: SSAValue) -> bool:
        """Whether the smallest elements are nothing in the dtype of a value, or the largest below its normal numbers."""
        dtype = dtype_of(tensor_type(value, "an operand").element_type)
        with np.errstate(all="ignore"):
            least = np.asarray(reach.smallest).astype(dtype)
        return bool(least == 0) or 0 < reach.largest < _least_normal(dtype)

    def _require_held(self, edits: Sequence[Edit], reach: _Reach) -> None:
        """
        Refuses factors with which a constant may be infinite, as 0 times infinity is NaN; and unless `unsafe` allows
        them, those with which an element may vanish, or nothing but numbers below the normal ones is left.
        """
        pending = [(edit, reach) for edit in edits]
        while pending:
            edit, reach = pending.pop()
            value = edit.op.operands[edit.index]
            own = self._reach(value)
            if own is None:
                continue
            scaled = own * (reach.inverse if edit.divide else reach)
            if not self._is_finite(scaled, value):
                refuse(edit.op, "would have an infinite constant")
            if not self.given.unsafe and self._vanishes(scaled, value):
                refuse(edit.op, "would have a constant that is too small for its type")
            # What moves into the factor of a multiplication that is folded moves on with it.
            inner = self.folded.get(edit.op)
            if inner is not None and inner.index == edit.index:
                pending += [(each, scaled) for each in inner.edits]

    def _axes(self, shape: Shape, data: Shape, demand: Demand) -> tuple[int, ...]:
        """The axes that a scale of some shape lies along, as a demand wants it. Raises Refused."""
        lengths = enumerate(shape, len(data) - len(shape))
        long = tuple(axis for axis, length in lengths if not certainly(length, 1))
        if demand.axes and varies_along(shape, data, demand.axes):
            return demand.axes
        if self.demands.beyond_relay and (not long or demand.axes is None and len(long) == 1):
            return long
        raise Refused(f"the scale lies along {axes_text(long)}, not {axes_text(demand.axes)}")


def plans(
    root: Operation,
    direction: Direction,
    constant_weights: bool = False,
    rules: str = "relay",
    unsafe: bool = False,
) -> list[Plan]:
    """
    The plans of all multiplications by what may be a scale within an operation, in program order.
    `constant_weights` refuses what would have to be multiplied when the program runs, `unsafe` allows scales with which
    NaN and infinities need not stay where they are.
    """
    is_kept = Within(keeps_body)
    ops = [op for op in walk(root) if not is_kept(op)]
    given = Given(rules, computed_of_constants(ops), constant_weights, unsafe)
    planner = _Planner(ops, direction, given)
    found: list[Plan] = []
    for op in ops if direction == "backward" else reversed(ops):
        plan = planner.plan(op) if isinstance(op, MultiplyOp) else None
        if plan is not None:
            found.append(plan)
        planner.demands.visit(op, None if plan is None else plan.demand)
    return found if direction == "backward" else found[::-1]
