"""
Lengths of dimensions that are known when a program runs, not when it is compiled.

A program is compiled *at* some lengths, those of the first call, and serves others as well. A `Length` stands in types
and in shape arithmetic where a number stands otherwise; sums, products, quotients, minima and maxima of lengths are
lengths. It knows its value in the first call, its *hint*, and what holds for any value:

    n       symbol, 0 or more         n * 784 % 16 == 0       holds for any n
    n < 6   may or may not be         decided by the hint, and a *guard* of the program from now on

A program serves the lengths for which all its guards hold, so that whatever code does with a length, the program is
right where it is used. What asks for the number itself (`range(n)`, `int(n)`, an attribute) *pins* the symbols in it:
it raises Pinned, and the program is compiled anew with their numbers.

Source: symbolic integers of PyTorch (SymInt), shape polymorphism of JAX.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from math import floor, gcd, isfinite
from operator import index
from typing import NoReturn, TypeGuard, cast

from xdsl.dialects.builtin import ArrayAttr, DenseArrayBase, IntegerType, TensorType, TupleType, i64
from xdsl.ir import Attribute, Data, Operation, TypeAttribute
from xdsl.irdl import irdl_attr_definition
from xdsl.parser import AttrParser
from xdsl.printer import Printer

from xrelay.dialects.length_scope import Scope
from xrelay.dialects.polynomials import (
    RELATIONS,
    Polynomial,
    difference,
    multiplied,
    number,
    split,
    times,
    total,
)
from xrelay.dialects.scaling import Scaling

MOST_TERMS = 128
MOST_FACTOR = 2**62
"""Sums of more terms, or with larger factors, pin their symbols."""


def symbol(scope: Scope, name: str, hint: int, range: tuple[int, int] | None = None) -> int:
    """
    A new symbol of a scope, for a length of 0 or more, or of those in a range, before anything is computed
    with one.
    """
    return length_of(scope, scope.symbol(name, hint, range))


def length_of(scope: Scope, value: Polynomial) -> int:
    """What a polynomial is: a number where it depends on nothing."""
    if not value:
        return 0
    if len(value) == 1 and not value[0][0]:
        return value[0][1]
    known = scope.lengths.get(value)
    if known is None:
        if len(value) > MOST_TERMS or any(abs(factor) > MOST_FACTOR for _, factor in value):
            scope.pin(value)
        known = scope.lengths[value] = Length(scope, value)
    return cast(int, known)


class Length:
    """
    A number that depends on symbols. It passes for an int (`isinstance`), as in types and annotations, and has the
    arithmetic of one.
    """

    __slots__ = ("_hash", "scope", "value")

    def __init__(self, scope: Scope, value: Polynomial):
        self.scope, self.value = scope, value
        # Equal hashes make a dictionary ask whether lengths are equal, which is a decision, and -1 has the hash of -2.
        self._hash = hash((id(scope), value, *(factor == -1 for _, factor in value)))

    @property
    def hint(self) -> int:
        """The number in the first call."""
        return self.scope.hint(self.value)

    def __hash__(self) -> int:
        return self._hash

    def __repr__(self) -> str:
        ranges = [self.scope.stated.get(each) for each in sorted(self.scope.symbols_in(self.value))]
        stated = [f"{least} to {most}" for least, most in filter(None, ranges)]
        return " ".join([f"{self} ~ {self.hint}", *stated])

    def __str__(self) -> str:
        return self.scope.text(self.value)

    def __format__(self, specification: str) -> str:
        return format(int(self), specification) if specification not in ("", "d") else str(self)

    # -- arithmetic -------------------------------------------------------------------------------

    def _other(self, other: object) -> Polynomial | None:
        """An operand as a polynomial; None for what is no whole number."""
        if type(other) is Length:
            assert other.scope is self.scope, (
                "lengths of two programs have nothing to do with each other"
            )
            return other.value
        if type(other) is int:
            return number(other)
        try:
            return number(index(cast(int, other)))
        except TypeError:
            return None

    def _with(self, other: object, code: Callable[[Polynomial, Polynomial], Polynomial]) -> object:
        value = self._other(other)
        return NotImplemented if value is None else length_of(self.scope, code(self.value, value))

    def __add__(self, other: object) -> object:
        return float(self) + other if isinstance(other, float) else self._with(other, total)

    __radd__ = __add__

    def __sub__(self, other: object) -> object:
        if isinstance(other, float):
            return float(self) - other
        return self._with(other, difference)

    def __rsub__(self, other: object) -> object:
        if isinstance(other, float):
            return other - float(self)
        return self._with(other, lambda a, b: difference(b, a))

    def __mul__(self, other: object) -> object:
        return float(self) * other if isinstance(other, float) else self._with(other, multiplied)

    __rmul__ = __mul__

    def _divided(self, value: Polynomial, by: Polynomial) -> Polynomial:
        if not self.scope.decide(by, ">"):
            self.scope.pin(total(value, by) or by)
        return self.scope.divide(value, by)

    def _rest(self, value: Polynomial, by: Polynomial) -> Polynomial:
        return difference(value, multiplied(self._divided(value, by), by))

    def __floordiv__(self, other: object) -> object:
        return self._with(other, self._divided)

    def __rfloordiv__(self, other: object) -> object:
        return self._with(other, lambda a, b: self._divided(b, a))

    def __mod__(self, other: object) -> object:
        return self._with(other, self._rest)

    def __rmod__(self, other: object) -> object:
        return self._with(other, lambda a, b: self._rest(b, a))

    def __divmod__(self, other: object) -> tuple[object, object]:
        return self // other, self % other

    def __rdivmod__(self, other: object) -> tuple[object, object]:
        return self.__rfloordiv__(other), self.__rmod__(other)

    def __neg__(self) -> int:
        return length_of(self.scope, times(self.value, -1))

    def __pos__(self) -> Length:
        return self

    def __abs__(self) -> object:
        return self if self >= 0 else -self

    # -- decisions --------------------------------------------------------------------------------

    def _compared(self, other: object, relation: str) -> bool:
        if isinstance(other, float):
            return self._compared_with(other, relation)
        value = self._other(other)
        if value is None:
            return NotImplemented
        return self.scope.decide(difference(self.value, value), relation)

    def _compared_with(self, other: float, relation: str) -> bool:
        """A comparison with a number that may have a fraction, or be infinite or none."""
        if not isfinite(other):
            return RELATIONS[relation](0.0, other)
        whole = floor(other)
        if whole == other:
            return self._compared(whole, relation)
        if relation in ("==", "!="):
            return relation == "!="
        return self._compared(whole, "<=" if relation in ("<", "<=") else ">")

    def __eq__(self, other: object) -> bool:
        if type(other) is Length and other.scope is not self.scope:
            return False
        return self is other or self._compared(other, "==")

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __lt__(self, other: object) -> bool:
        return self._compared(other, "<")

    def __le__(self, other: object) -> bool:
        return self._compared(other, "<=")

    def __gt__(self, other: object) -> bool:
        return self._compared(other, ">")

    def __ge__(self, other: object) -> bool:
        return self._compared(other, ">=")

    def __bool__(self) -> bool:
        return self.scope.decide(self.value, "!=")

    # -- the number itself ------------------------------------------------------------------------

    def __index__(self) -> int:
        return self.scope.pin(self.value)

    __int__ = __trunc__ = __floor__ = __ceil__ = __round__ = bit_length = __index__

    def __float__(self) -> float:
        return self.scope.pin(self.value)

    def __truediv__(self, other: float) -> float:
        return int(self) / other

    def __rtruediv__(self, other: float) -> float:
        return other / int(self)

    def __pow__(self, other: int) -> int:
        return int(self) ** other

    def __rpow__(self, other: int) -> int:
        return other ** int(self)

    def __lshift__(self, other: int) -> object:
        return self * (1 << other)

    def __rshift__(self, other: int) -> object:
        return self // (1 << other)

    def __rlshift__(self, other: int) -> int:
        return other << int(self)

    def __rrshift__(self, other: int) -> int:
        return other >> int(self)

    def __and__(self, other: int) -> int:
        return int(self) & other

    def __or__(self, other: int) -> int:
        return int(self) | other

    def __xor__(self, other: int) -> int:
        return int(self) ^ other

    __rand__, __ror__, __rxor__ = __and__, __or__, __xor__

    @property
    def __class__(self) -> type[int]:
        return int

    @__class__.setter
    def __class__(self, type_: type, /) -> None:
        raise TypeError("a length stays one")


def is_open(value: object) -> bool:
    """Whether a number, or one of those in a shape, is known when the program runs only."""
    return type(value) is Length


def _is_length(value: object) -> TypeGuard[Length]:
    return type(value) is Length


def is_of_element(value: int) -> bool:
    """Whether a length depends on an element of an input."""
    return _is_length(value) and not value.scope.symbols_in(value.value).isdisjoint(
        value.scope.told
    )


def scope_of(value: object) -> Scope | None:
    """The scope of a length that is known when the program runs only."""
    return value.scope if _is_length(value) else None


def is_open_type(type_: Attribute) -> bool:
    """Whether a type is that of tensors with a length that is not known before the program runs, or has one within."""
    if isinstance(type_, TupleType):
        return any(map(is_open_type, type_.types.data))
    return isinstance(type_, TensorType) and any(map(is_open, type_.get_shape()))


def type_at(type_: Attribute, number_of: Callable[[int], int]) -> Attribute:
    """A type with numbers for its lengths: `likely` or `hint` ones, of which those that fall as others grow may be too small."""
    if isinstance(type_, TupleType):
        parts = (cast(TypeAttribute, type_at(each, number_of)) for each in type_.types.data)
        return TupleType(tuple(parts))
    if not is_open_type(type_):
        return type_
    tensor = cast("TensorType[Attribute]", type_)
    lengths = (max(number_of(each), 1) if is_open(each) else each for each in tensor.get_shape())
    return TensorType(tensor.element_type, tuple(lengths))


def hint(value: int) -> int:
    """A number; for a length that of the first call. It is no guard, and nothing may rely on it."""
    return value.hint if _is_length(value) else value


def likely(value: int) -> int:
    """A number; for a length the one that choices are made for, which must serve all lengths: it is no guard."""
    return value.scope.likely(value.value) if _is_length(value) else value


def certainly(value: float | None, other: float) -> bool:
    """
    Whether two numbers are the same whatever the lengths are, of those that conditions leave. They may turn out to be so when
    the program runs: a length that may be 1 is treated as a longer one, which is right for it as well.
    """
    if not _is_length(value) and not _is_length(other):
        return value == other
    first, second = (value, other) if _is_length(value) else (cast(Length, other), value)
    if second is None or isinstance(second, float):
        return False
    return first.scope.is_zero(difference(first.value, polynomial(cast(int, second))))


def equal_as_data(lhs: int, rhs: int) -> bool:
    """Whether two numbers are equal, of which a model makes something: `==` may be wrong where a length turns out to be 0."""
    found = lhs == rhs
    scope = scope_of(lhs) or scope_of(rhs)
    if scope is not None:
        apart = difference(polynomial(lhs), polynomial(rhs))
        scope.empty.relies_on(apart, "==" if found else "!=", as_data=True)
    return found


def divides(part: int, whole: int) -> bool:
    """Whether a positive number divides another one whatever the lengths are."""
    if not is_open(part) and not is_open(whole):
        return 0 < part <= whole and whole % part == 0
    return not split(polynomial(whole), polynomial(part))[1]


def whole_quotient(value: int, by: int) -> int | None:
    """
    A quotient without a rest whatever the lengths are, and without a guard: that of n * m and n is m, also for n = 0. None where
    there is none such.
    """
    scope = scope_of(by)
    if scope is None:
        return None
    quotient, rest = split(polynomial(value), polynomial(by))
    return None if rest else length_of(scope, quotient)


def same_for_many(value: int, other: int) -> bool:
    """
    Whether two numbers are the same: whatever the lengths are, or as `==` decides where several lengths are in them. What is
    so for some number of one length alone is not, and nothing asks for that number.
    """
    scope = scope_of(value) or scope_of(other)
    if scope is None:
        return value == other
    apart = difference(polynomial(value), polynomial(other))
    return scope.is_zero(apart) or (len(scope.symbols_in(apart)) > 1 and value == other)


def place_of(value: int, *more: int) -> int:
    """
    The place of a length in the table that the code reads; of several numbers with a length among them, that of the first,
    which the others follow.
    """
    numbers = value, *more
    scope = next(cast(Length, each).scope for each in numbers if is_open(each))
    return scope.place(*map(polynomial, numbers))


def may_exceed(value: int, bound: int) -> bool:
    """Whether a number is greater than another one, or may turn out to be when the program runs: it is no guard."""
    return not certainly(larger(value, bound, of_empty=True), bound)


def pin_here(value: int) -> NoReturn:
    """Raises Pinned for a length whose number is needed in this call, and not for all lengths."""
    length = cast(Length, value)
    length.scope.pin(length.value, asked=False)
    raise AssertionError("pinning raises")


def common_divisor(value: int) -> int:
    """A number that divides a number whatever the lengths are; 0 for 0."""
    return gcd(*(factor for _, factor in value.value)) if _is_length(value) else value


def scaled(value: int, scaling: Scaling) -> int:
    """A length, which is not negative, times a number with a fraction, rounded."""
    scope = scope_of(value)
    if scope is None:
        return scaling(value)
    return length_of(scope, scope.scaled(polynomial(value), scaling))


def smaller(lhs: int, rhs: int) -> int:
    """The smaller of two numbers, without a guard but for lengths of 0."""
    return _extreme("min", lhs, rhs)


def may_be_empty(value: int) -> bool:
    """Whether a number may turn out to be 0 when the program runs because a length does; it is no guard."""
    if not _is_length(value):
        return False
    empty = value.scope.empty
    return bool(empty.symbols(value.value)) and empty.bounds(value.value)[0] <= 0


def larger(lhs: int, rhs: int, *, of_empty: bool = False) -> int:
    """The larger of two numbers, without a guard but for lengths of 0, and with `of_empty` for these, too."""
    return _extreme("max", lhs, rhs, of_empty=of_empty)


def _extreme(operation: str, lhs: int, rhs: int, *, of_empty: bool = False) -> int:
    scope = scope_of(lhs) or scope_of(rhs)
    if scope is None:
        return min(lhs, rhs) if operation == "min" else max(lhs, rhs)
    operands = polynomial(lhs), polynomial(rhs)
    return length_of(scope, scope.extreme(operation, *operands, of_empty=of_empty))


def polynomial(value: int) -> Polynomial:
    """A number as a polynomial."""
    return value.value if _is_length(value) else number(value)


@irdl_attr_definition
class LengthsAttr(Data[tuple[int, ...]]):
    """
    Whole numbers some of which are lengths, in the place of an `array<i64: …>`, whose bytes cannot hold them. It is
    written, and not read.
    """

    name = "relay.lengths"

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> tuple[int, ...]:
        parser.raise_error("lengths have no meaning outside of the program that they are of")

    def print_parameter(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            printer.print_string(", ".join(map(str, self.data)))

    def get_values(self) -> tuple[int, ...]:
        """The numbers."""
        return self.data

    def iter_values(self) -> Iterator[int]:
        """The numbers."""
        return iter(self.data)

    def get_element_type(self) -> IntegerType:
        """That of 64-bit numbers."""
        return i64

    def __len__(self) -> int:
        return len(self.data)


def holds_lengths(op: Operation) -> bool:
    """Whether a property of an operation has lengths in it."""
    return any(map(_is_of_lengths, op.properties.values()))


def _is_of_lengths(attr: Attribute) -> bool:
    if isinstance(attr, ArrayAttr):
        return any(map(_is_of_lengths, cast(ArrayAttr[Attribute], attr).data))
    return isinstance(attr, LengthsAttr)


def length_array(values: Iterable[int]) -> DenseArrayBase[IntegerType]:
    """A property that holds numbers, among them lengths: `array<i64: …>`, or what passes for one."""
    numbers = tuple(values)
    if any(map(is_open, numbers)):
        return cast("DenseArrayBase[IntegerType]", LengthsAttr(numbers))
    return DenseArrayBase.from_list(i64, numbers)
