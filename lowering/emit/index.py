"""
Constants and index arithmetic of kernels.

Index arithmetic folds constants, so that a kernel for static shapes has no arithmetic left that
could be done when it is built. Indices are i64.
"""

from collections.abc import Callable, Generator, Hashable, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from math import copysign, gcd
from typing import TypeAlias, TypeGuard, TypeVar, cast

from xdsl.dialects import arith, llvm, vector
from xdsl.dialects.builtin import VectorType, i64
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from xrelay.dialects.dtypes import FloatType
from xrelay.dialects.lengths import certainly, common_divisor, is_open, larger, place_of, smaller
from xrelay.dialects.shapes import is_integer_type
from xrelay.lowering.emit.attributes import Number, address_op, float_number, load_op, whole_number
from xrelay.lowering.emit.elements import nearest_float
from xrelay.lowering.emit.target import Target


@dataclass(frozen=True)
class Sum:
    """An i64 that is computed when the kernel runs, plus a number known before."""

    base: SSAValue
    constant: int


Index: TypeAlias = int | SSAValue | Sum
"""
An i64 that is known when the kernel is built, or computed when it runs. What is known is kept
apart as long as possible: it ends as the constant offset of an address.
"""

Condition: TypeAlias = bool | SSAValue
"""Whether something holds: known when the kernel is built, or an i1 that is computed when it runs."""

OpT = TypeVar("OpT", bound=Operation)


def is_vector_type(type_: Attribute) -> TypeGuard[VectorType[Attribute]]:
    """Whether a type is that of vectors."""
    return isinstance(type_, VectorType)


def lanes_of(value: SSAValue) -> int:
    """1 for a scalar, the number of elements for a vector."""
    return value.type.get_shape()[0] if is_vector_type(value.type) else 1


@cache
def with_lanes(scalar: Attribute, lanes: int) -> Attribute:
    """The type of `lanes` elements: a scalar for one."""
    return scalar if lanes == 1 else VectorType(scalar, [lanes])


def scalar_type(value: SSAValue) -> Attribute:
    """The type of one lane."""
    return value.type.element_type if is_vector_type(value.type) else value.type


@dataclass(eq=False)
class IndexBuilder:
    """Appends operations to the innermost open block of a function: constants, and index arithmetic."""

    entry: Block
    target: Target
    lengths: SSAValue | None = None
    """Pointer to the table of what is known of lengths when the program is called, in programs that have one."""
    open_blocks: list[Block] = field(default_factory=list[Block])
    """The blocks that are being filled, outermost first: what they define is visible."""
    _constants: dict[Attribute, SSAValue] = field(default_factory=dict[Attribute, SSAValue])
    _indices: dict[int, SSAValue] = field(default_factory=dict[int, SSAValue])
    _last_constant: Operation | None = None
    _last_length: Operation | None = None
    _computed: dict[Hashable, tuple[SSAValue, Block]] = field(
        default_factory=dict[Hashable, tuple[SSAValue, Block]]
    )
    """Index arithmetic and addresses that are computed already, and where."""
    _divisors: dict[SSAValue, int] = field(default_factory=dict[SSAValue, int])
    """Numbers that are known to divide indices."""
    _bounds: dict[SSAValue, tuple[int, int]] = field(
        default_factory=dict[SSAValue, tuple[int, int]]
    )
    """The least and the largest number that indices are known to be."""

    def __post_init__(self) -> None:
        self.open_blocks.append(self.entry)

    @property
    def block(self) -> Block:
        """The block that operations are appended to."""
        return self.open_blocks[-1]

    def insert(self, op: OpT) -> OpT:
        """Appends an operation."""
        self.block.add_op(op)
        return op

    @contextmanager
    def inside(self, block: Block) -> Generator[None]:
        """Appends to `block` meanwhile. Of the open blocks, those around it stay visible."""
        before = self.open_blocks
        around = [i for i, each in enumerate(before) if each is block]
        self.open_blocks = before[: around[0] + 1] if around else [*before, block]
        yield
        self.open_blocks = before

    # -- constants: kept once, at the top of the function ------------------------------------

    def attribute(self, value: Number) -> SSAValue:
        """A constant given as a typed attribute."""
        known = self._constants.get(value)
        if known is not None:
            return known
        op = arith.ConstantOp.create(result_types=[value.type], properties={"value": value})
        self._insert_at_top([op], self._last_constant)
        self._last_constant = op
        self._constants[value] = op.result
        return op.result

    def _insert_at_top(self, ops: Sequence[Operation], behind: Operation | None) -> None:
        """Inserts operations at the top of the function, behind one that is there if it is given."""
        start = InsertPoint.at_start(self.entry) if behind is None else InsertPoint.after(behind)
        Rewriter.insert_op(ops, start)

    def constant(self, type_: Attribute, value: float, lanes: int = 1) -> SSAValue:
        """A number of a scalar type, in every lane."""
        if is_open(value):
            return self._length_as(type_, cast(int, value), lanes)
        if is_integer_type(type_):
            return self.attribute(whole_number(type_, int(value), lanes))
        assert isinstance(type_, FloatType)
        number = nearest_float(value, type_)
        return self.attribute(float_number(type_, number, lanes, copysign(1.0, number)))

    def _length_as(self, type_: Attribute, value: int, lanes: int) -> SSAValue:
        """A length as a number of a type."""
        number = self.index(value)
        if isinstance(type_, FloatType):
            number = self.insert(llvm.SIToFPOp(number, type_)).result
        elif type_ != i64:
            assert is_integer_type(type_) and type_.width.data < 64
            number = self.insert(llvm.TruncOp(number, type_)).res
        return self.splat(number, lanes)

    def splat(self, value: SSAValue, lanes: int) -> SSAValue:
        """A scalar in every lane; vectors stay as they are."""
        if lanes == 1 or lanes_of(value) == lanes:
            return value
        return self.insert(vector.BroadcastOp(value, VectorType(value.type, [lanes]))).vector

    def index(self, value: Index) -> SSAValue:
        """An index as a value."""
        if isinstance(value, Sum):
            return self._once(arith.AddiOp, value.base, self.index(value.constant))
        if not isinstance(value, int):
            return value
        known = self._indices.get(value)
        if known is None:
            found = self._length(value) if is_open(value) else self.constant(i64, value)
            known = self._indices[value] = found
        return known

    def _length(self, value: int) -> SSAValue:
        """A number from the table, read at the top of the function, behind the constants."""
        assert self.lengths is not None, "a kernel with lengths gets their table"
        slot = address_op([self.lengths], place_of(value), i64)
        load = load_op(slot.result, i64, 8)
        self._insert_at_top([slot, load], self._last_length or self._last_constant)
        self._last_length = load
        return self._divided(load.dereferenced_value, common_divisor(value))

    def _remember(self, key: Hashable, build: Callable[[], SSAValue]) -> SSAValue:
        """A value that is computed once in every block that sees it."""
        known = self._computed.get(key)
        if known is not None and any(known[1] is block for block in self.open_blocks):
            return known[0]
        value = build()
        self._computed[key] = value, self.block
        return value

    def _once(self, kind: type[Operation], lhs: SSAValue, rhs: SSAValue) -> SSAValue:
        def build() -> SSAValue:
            # Constructors check what they are given, which takes longer than to make the operation.
            op = kind.create(operands=[lhs, rhs], result_types=[lhs.type])
            return self.insert(op).results[0]

        return self._remember((kind, lhs, rhs), build)

    # -- index arithmetic ---------------------------------------------------------------------

    def divisor(self, value: Index) -> int:
        """A number that is known to divide an index; 0, which every number divides, for 0."""
        base, constant = parts_of(value)
        known = common_divisor(constant)
        return known if base is None else gcd(self._divisors.get(base, 1), known)

    def _divided(self, value: SSAValue, divisor: int) -> SSAValue:
        if divisor > 1:
            self._divisors[value] = divisor
        return value

    def bounds(self, value: Index) -> tuple[int, int] | None:
        """The least and the largest number that an index is known to be; None where nothing is known."""
        base, constant = parts_of(value)
        if is_open(constant):
            return None
        if base is None:
            return constant, constant
        known = self._bounds.get(base)
        return None if known is None else (known[0] + constant, known[1] + constant)

    def bound(self, value: Index, least: int, largest: int) -> None:
        """States between which numbers an index is."""
        base, constant = parts_of(value)
        if base is not None and not any(map(is_open, (least, largest, constant))):
            self._bounds[base] = least - constant, largest - constant

    def add(self, lhs: Index, rhs: Index) -> Index:
        """lhs + rhs"""
        (left, first), (right, second) = parts_of(lhs), parts_of(rhs)
        constant = first + second
        if left is None or right is None:
            base = right if left is None else left
        else:
            common = gcd(self.divisor(left), self.divisor(right))
            base = self._divided(self._once(arith.AddiOp, left, right), common)
        return _joined(base, constant)

    def sub(self, lhs: Index, rhs: Index) -> Index:
        """lhs - rhs"""
        (left, first), (right, second) = parts_of(lhs), parts_of(rhs)
        base = left
        if right is not None:
            base = None if left is right else self._subtract(left, right)
        return _joined(base, first - second)

    def _subtract(self, left: SSAValue | None, right: SSAValue) -> SSAValue:
        return self._once(arith.SubiOp, self.index(0) if left is None else left, right)

    def mul(self, lhs: Index, rhs: Index) -> Index:
        """lhs * rhs"""
        if isinstance(lhs, int):
            lhs, rhs = rhs, lhs
        if not isinstance(rhs, int):
            return self._once(arith.MuliOp, self.index(lhs), self.index(rhs))
        base, constant = parts_of(lhs)
        if base is None or certainly(rhs, 0):
            return constant * rhs
        if not certainly(rhs, 1):
            factor, known = self.divisor(base) * abs(common_divisor(rhs)), self.bounds(base)
            base = self._divided(self._once(arith.MuliOp, base, self.index(rhs)), factor)
            if known is not None and not is_open(rhs):
                self.bound(base, *sorted(number * rhs for number in known))
        return _joined(base, constant * rhs)

    def div(self, lhs: Index, rhs: Index) -> Index:
        """lhs / rhs for lhs >= 0, rhs > 0"""
        if isinstance(lhs, int) and isinstance(rhs, int):
            return lhs // rhs
        if isinstance(rhs, int) and certainly(rhs, 1):
            return lhs
        quotient = self._once(arith.DivUIOp, self.index(lhs), self.index(rhs))
        if not isinstance(rhs, int) or is_open(rhs):
            return quotient
        known = self.divisor(lhs)
        return self._divided(quotient, known // rhs if known % rhs == 0 else 1)

    def mod(self, lhs: Index, rhs: int) -> Index:
        """lhs modulo rhs for lhs >= 0, rhs > 0"""
        if isinstance(lhs, int):
            return lhs % rhs
        known = self.divisor(lhs)
        if not is_open(rhs) and known % rhs == 0:
            return 0
        own = lhs if is_open(rhs) else self._without_multiples(lhs, rhs)
        if self.known_within(own, 0, rhs):
            return own
        rest = self._once(arith.RemUIOp, self.index(lhs), self.index(rhs))
        return self._divided(rest, gcd(known, common_divisor(rhs)))

    def _without_multiples(self, value: Index, divisor: int) -> Index:
        """An index without a term that a number divides, if it is a sum with one."""
        base, constant = parts_of(value)
        if base is not None and isinstance(base.owner, arith.AddiOp):
            one, other = base.owner.operands
            for term, rest in ((one, other), (other, one)):
                if self.divisor(term) % divisor == 0:
                    return _joined(rest, constant)
        return value

    def smaller(self, lhs: Index, rhs: Index) -> Index:
        """The smaller of two indices."""
        if isinstance(lhs, int) and isinstance(rhs, int):
            return smaller(lhs, rhs)
        return self.insert(arith.MinSIOp(self.index(lhs), self.index(rhs))).result

    def larger(self, lhs: Index, rhs: Index) -> Index:
        """The larger of two indices."""
        if isinstance(lhs, int) and isinstance(rhs, int):
            return larger(lhs, rhs)
        return self.insert(arith.MaxSIOp(self.index(lhs), self.index(rhs))).result

    def known_within(self, value: Index, low: int | None, high: int | None) -> bool | None:
        """Whether an index is not below `low`, and below `high`, if that is known. None is no limit."""
        if any(limit is not None and is_open(limit) for limit in (low, high)):
            return None
        if low is not None and high is not None and high <= low:
            return False
        bounds = self.bounds(value)
        if bounds is None:
            return None
        least, largest = bounds
        if (low is None or low <= least) and (high is None or largest < high):
            return True
        outside = (low is not None and largest < low) or (high is not None and high <= least)
        return False if outside else None

    def within(self, value: Index, low: int | None, high: int | None) -> Condition:
        """Whether an index is not below `low`, and below `high`. None is no limit."""
        known = self.known_within(value, low, high)
        if known is not None:
            return known
        tests: list[Condition] = []
        if low is not None and not self.known_within(value, low, None):
            tests.append(self.compare_index(value, "sge", low))
        if high is not None and not self.known_within(value, None, high):
            tests.append(self.compare_index(value, "slt", high))
        return self.all_of(tests)

    def all_of(self, conditions: Sequence[Condition]) -> Condition:
        """Whether all of some conditions hold."""
        if any(each is False for each in conditions):
            return False
        result: SSAValue | None = None
        for each in conditions:
            if not isinstance(each, bool):
                result = each if result is None else self.insert(arith.AndIOp(result, each)).result
        return True if result is None else result

    def part(self, number: Index, size: int, length: int) -> tuple[Index, Index]:
        """The numbers below `length` in one of the parts of `size`: from a number up to another."""
        start = self.mul(number, size)
        stop = self.add(start, size)
        return start, stop if certainly(length % size, 0) else self.smaller(stop, length)

    def flatten(self, coords: Sequence[Index], shape: Sequence[int]) -> Index:
        """The row-major offset of coordinates."""
        offset: Index = 0
        for coord, dim in zip(coords, shape, strict=True):
            offset = self.add(self.mul(offset, dim), coord)
        return offset

    def unflatten(self, offset: Index, shape: Sequence[int]) -> tuple[Index, ...]:
        """The coordinates of a row-major offset."""
        coords: list[Index] = []
        for axis in reversed(range(len(shape))):
            if axis == 0:
                coords.append(offset)
            elif certainly(shape[axis], 1) or certainly(shape[axis], 0):
                # Of nothing there are no coordinates: what is written then does not run.
                coords.append(0)
            else:
                coords.append(self.mod(offset, shape[axis]))
                offset = self.div(offset, shape[axis])
        return tuple(reversed(coords))

    def compare_index(self, lhs: Index, predicate: str, rhs: Index) -> SSAValue:
        """An i1: signed comparison of indices ("slt", "sge", "eq", …)."""
        return self.insert(arith.CmpiOp(self.index(lhs), self.index(rhs), predicate)).result


def parts_of(value: Index) -> tuple[SSAValue | None, int]:
    """What is computed of an index, and what is known."""
    match value:
        case int():
            return None, value
        case Sum():
            return value.base, value.constant
        case _:
            return value, 0


def _joined(base: SSAValue | None, constant: int) -> Index:
    if base is None:
        return constant
    return base if certainly(constant, 0) else Sum(base, constant)
