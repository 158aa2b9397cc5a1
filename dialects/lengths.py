"""
Lengths of dimensions that are known when a program runs, not when it is compiled.

A program is compiled *at* some lengths, those of the first call, and serves others as well. A `Length` stands in types
and in shape arithmetic where a number stands otherwise; sums, products, quotients, minima and maxima of lengths are
lengths. It knows its value in the first call, its *hint*, and what holds for any value:

    n       symbol, 2 or more         n * 784 % 16 == 0       holds for any n
    n < 6   may or may not be         decided by the hint, and a *guard* of the program from now on

A program serves the lengths for which all its guards hold, so that whatever code does with a length, the program is
right where it is used. What asks for the number itself (`range(n)`, `int(n)`, an attribute) *pins* the symbols in it:
it raises Pinned, and the program is compiled anew with their numbers.

Source: symbolic integers of PyTorch (SymInt), shape polymorphism of JAX.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from math import gcd, inf, prod
from operator import eq, ge, gt, index, le, lt, ne
from typing import TypeAlias, cast

from xdsl.dialects.builtin import DenseArrayBase, IntegerType, TensorType, TupleType, i64
from xdsl.ir import Attribute, Data, TypeAttribute
from xdsl.irdl import irdl_attr_definition
from xdsl.parser import AttrParser
from xdsl.printer import Printer

Monomial: TypeAlias = tuple[int, ...]
"""A product of atoms, by their numbers in ascending order; nothing is 1."""
Polynomial: TypeAlias = tuple[tuple[Monomial, int], ...]
"""A sum of products, each with its factor, in ascending order; nothing is 0."""
Bounds: TypeAlias = tuple[float, float]
"""The least and the greatest value: whole numbers, or infinite."""

LEAST = 2
"""The least value of a symbol: lengths of 0 and 1 behave differently (broadcasting, empty loops), and are numbers."""
MOST = 2**31 - 1
"""The greatest value of a symbol."""
LIKELY = 32
"""Choices are made for lengths of so much at least: a program serves long ones as well as short ones, and these take time."""
MOST_TERMS = 64
MOST_FACTOR = 2**62
"""Sums of more terms, or with larger factors, pin their symbols."""

RELATIONS: dict[str, Callable[[float, float], bool]] = {
    "==": eq, "!=": ne, "<": lt, "<=": le, ">": gt, ">=": ge,
}  # fmt: skip


def _div(lhs: float, rhs: float) -> float:
    return lhs // rhs


def _min(lhs: float, rhs: float) -> float:
    return min(lhs, rhs)


def _max(lhs: float, rhs: float) -> float:
    return max(lhs, rhs)


OPERATIONS: dict[str, Callable[[float, float], float]] = {"div": _div, "min": _min, "max": _max}


class Pinned(Exception):
    """Somebody has asked for the number that a length is: its symbols have to be numbers."""

    def __init__(self, scope: Scope, symbols: frozenset[int]):
        super().__init__(", ".join(scope.symbols[each] for each in sorted(symbols)))
        self.symbols = symbols


@dataclass(frozen=True)
class Atom:
    """A symbol, or a function of two polynomials that is none."""

    operation: str
    """"symbol", "div" (floor), "min" or "max"."""
    left: Polynomial
    right: Polynomial
    hint: int
    likely: int
    bounds: Bounds
    symbols: frozenset[int]


@dataclass(frozen=True)
class Guard:
    """What a program relies on: the relation of a polynomial to 0."""

    value: Polynomial
    relation: str


@dataclass(eq=False)
class Scope:
    """The lengths of one program: their symbols, and what has been decided about them."""

    symbols: list[str] = field(default_factory=list[str])
    """Their names; symbol i is atom i."""
    atoms: list[Atom] = field(default_factory=list[Atom])
    guards: dict[Guard, None] = field(default_factory=dict[Guard, None])
    """What is equal, and what is not."""
    ranges: dict[Polynomial, Bounds] = field(default_factory=dict[Polynomial, Bounds])
    """The bounds of sums that are decided."""
    pinned: set[int] = field(default_factory=set[int])
    """The symbols that have to be numbers."""
    asked: set[int] = field(default_factory=set[int])
    """Those of them whose number something has asked for, which it does for all lengths."""
    table: dict[Polynomial, int] = field(default_factory=dict[Polynomial, int])
    """The values that the code reads, with their places."""
    _numbers: dict[Hashable, int] = field(default_factory=dict[Hashable, int])
    """Of the atoms, by what they are."""

    def symbol(self, name: str, hint: int) -> int:
        """A new symbol, for a length of 2 or more. All symbols come before anything is computed with one."""
        assert LEAST <= hint <= MOST and len(self.atoms) == len(self.symbols)
        number = len(self.symbols)
        self.symbols.append(name)
        own = frozenset((number,))
        likely = max(hint, LIKELY)
        self.atoms.append(Atom("symbol", (), (), hint, likely, (LEAST, MOST), own))
        return self.length((((number,), 1),))

    # -- polynomials ------------------------------------------------------------------------------

    def length(self, value: Polynomial) -> int:
        """What a polynomial is: a number where it depends on nothing."""
        if not value:
            return 0
        if len(value) == 1 and not value[0][0]:
            return value[0][1]
        if len(value) > MOST_TERMS or any(abs(factor) > MOST_FACTOR for _, factor in value):
            self.pin(value)
        return cast(int, Length(self, value))

    def hint(self, value: Polynomial) -> int:
        """The value in the first call."""
        return sum(
            factor * prod(self.atoms[each].hint for each in atoms) for atoms, factor in value
        )

    def likely(self, value: Polynomial) -> int:
        """The value that choices are made for."""
        numbers = self.atoms
        return sum(factor * prod(numbers[each].likely for each in atoms) for atoms, factor in value)

    def bounds(self, value: Polynomial) -> Bounds:
        """Between what the value is certain to lie."""
        low: float = 0
        high: float = 0
        for atoms, factor in value:
            ends: Bounds = (factor, factor)
            for each in atoms:
                ends = _product(ends, self.atoms[each].bounds)
            low, high = low + ends[0], high + ends[1]
        if self.ranges and value:
            core, factor, known = _core(value)
            least, most = sorted(factor * end + known for end in self.ranges.get(core, (-inf, inf)))
            low, high = max(low, least), min(high, most)
        return low, high

    def symbols_in(self, value: Polynomial) -> frozenset[int]:
        """What a polynomial depends on."""
        atoms = (each for atoms, _ in value for each in atoms)
        return frozenset[int]().union(*(self.atoms[each].symbols for each in atoms))

    def divide(self, value: Polynomial, by: Polynomial) -> Polynomial:
        """The quotient, rounded down. Divisors are positive."""
        whole, rest = _split(value, by)
        if not rest:
            return whole
        if len(by) == 1 and not by[0][0]:
            return _sum(whole, self._divide_by_number(rest, by[0][1]))
        return _sum(whole, self._atom("div", rest, by))

    def _divide_by_number(self, value: Polynomial, by: int) -> Polynomial:
        """The same for a number that does not divide any of the factors."""
        if value[-1][0] and value[-1][1] < 0:  # -(p / b) rounded down is p / b rounded up.
            upward = _sum(_times(value, -1), _number(by - 1))
            return _times(self.divide(upward, _number(by)), -1)
        common = gcd(by, *(factor for atoms, factor in value if atoms))
        if common > 1:
            value = tuple((atoms, factor // common) for atoms, factor in value if factor // common)
            return self.divide(value, _number(by // common))
        low, high = self.bounds(value)
        if 0 <= low and high < by:
            return ()
        return self._atom("div", value, _number(by))

    def extreme(self, operation: str, left: Polynomial, right: Polynomial) -> Polynomial:
        """The smaller ("min") or the larger ("max") of two."""
        low, high = self.bounds(_sum(left, _times(right, -1)))
        if high > 0 > low:
            return self._atom(operation, *sorted((left, right)))
        return left if (high <= 0) == (operation == "min") else right

    def _atom(self, operation: str, left: Polynomial, right: Polynomial) -> Polynomial:
        key = operation, left, right
        number = self._numbers.get(key)
        if number is None:
            number = self._numbers[key] = len(self.atoms)
            self.atoms.append(self._made(operation, left, right))
        return (((number,), 1),)

    def _made(self, operation: str, left: Polynomial, right: Polynomial) -> Atom:
        (low, high), (least, most) = self.bounds(left), self.bounds(right)
        code = OPERATIONS[operation]
        if operation == "div":
            bounds = _quotient((low, high), (least, most))
        else:
            bounds = code(low, least), code(high, most)
        hint = int(code(self.hint(left), self.hint(right)))
        likely = int(code(self.likely(left), max(self.likely(right), 1)))
        symbols = self.symbols_in(left) | self.symbols_in(right)
        return Atom(operation, left, right, hint, likely, bounds, symbols)

    # -- decisions --------------------------------------------------------------------------------

    def decide(self, value: Polynomial, relation: str) -> bool:
        """Whether a polynomial has a relation to 0: for any lengths, or for the hints, which becomes a guard."""
        low, high = self.bounds(value)
        compare = RELATIONS[relation]
        if low == high:
            return compare(low, 0)
        if relation in ("==", "!="):
            if low > 0 or high < 0:
                return relation == "!="
        elif compare(low, 0) == compare(high, 0):
            return compare(low, 0)
        holds = compare(self.hint(value), 0)
        stated = relation if holds else _OPPOSITE[relation]
        if stated == "==" and len(self.symbols_in(value)) == 1:
            self.pin(value, asked=False)
        if stated in ("==", "!="):
            sign = 1 if value[-1][1] > 0 else -1
            self.guards[Guard(_times(value, sign), stated)] = None
        else:
            self._narrow(value, stated)
        return holds

    def _narrow(self, value: Polynomial, relation: str) -> None:
        """Narrows the bounds of what has a relation of order to 0, which is a condition from now on."""
        core, factor, known = _core(value)
        # factor * core + known is at least 0 or 1, or the same of the opposite.
        if relation in ("<", "<="):
            factor, known = -factor, -known
        least = (1 if relation in ("<", ">") else 0) - known
        symbol = self._symbol(core)
        low, high = self.ranges.get(core, (-inf, inf))
        if symbol is not None:
            low, high = self.atoms[symbol].bounds
        if factor > 0:
            low = max(low, -(-least // factor))
        else:
            high = min(high, least // factor)
        if symbol is not None:
            self.atoms[symbol] = replace(self.atoms[symbol], bounds=(low, high))
        else:
            self.ranges[core] = low, high

    def _symbol(self, value: Polynomial) -> int | None:
        """The symbol that a polynomial is, if it is one."""
        if len(value) != 1 or len(value[0][0]) != 1 or value[0][1] != 1:
            return None
        number = value[0][0][0]
        return number if number < len(self.symbols) else None

    def conditions(self) -> list[Guard]:
        """What the lengths have to meet beside the bounds of the symbols."""
        found = list(self.guards)
        for core, (low, high) in self.ranges.items():
            if low > -inf:
                found.append(Guard(_sum(core, _number(-int(low))), ">="))
            if high < inf:
                found.append(Guard(_sum(core, _number(-int(high))), "<="))
        return found

    def pin(self, value: Polynomial, *, asked: bool = True) -> int:
        """Raises Pinned for the symbols in a polynomial."""
        symbols = self.symbols_in(value)
        self.pinned |= symbols
        if asked:
            self.asked |= symbols
        raise Pinned(self, symbols)

    def place(self, value: Polynomial) -> int:
        """The place of a value in the table that the code reads."""
        return self.table.setdefault(value, len(self.table))

    def condition(self, guard: Guard) -> str:
        """A guard as people write it."""
        known = [factor for atoms, factor in guard.value if not atoms]
        rest = tuple(each for each in guard.value if each[0])
        relation, sign = guard.relation, 1
        if rest[-1][1] < 0:
            relation, sign = _MIRRORED.get(relation, relation), -1
        return f"{self.text(_times(rest, sign))} {relation} {-sign * sum(known)}"

    def text(self, value: Polynomial, depth: int = 4) -> str:
        """A polynomial as people write it, what is nested deeper than `depth` as `…`."""
        parts: list[str] = []
        for atoms, factor in reversed(value):
            factors = [self._atom_text(each, depth) for each in atoms]
            if abs(factor) != 1 or not atoms:
                factors.insert(0, str(abs(factor)))
            sign = ("- " if factor < 0 else "+ ") if parts else "-" * (factor < 0)
            parts.append(sign + "*".join(factors))
        return " ".join(parts) or "0"

    def _atom_text(self, number: int, depth: int) -> str:
        atom = self.atoms[number]
        if atom.operation == "symbol":
            return self.symbols[number]
        if depth == 0:
            return "…"
        left, right = (
            f"({text})" if " " in text and atom.operation == "div" else text
            for text in (self.text(each, depth - 1) for each in (atom.left, atom.right))
        )
        return (
            f"{left}//{right}" if atom.operation == "div" else f"{atom.operation}({left}, {right})"
        )


_MIRRORED = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}
_OPPOSITE = {"==": "!=", "!=": "==", "<": ">=", ">=": "<", ">": "<=", "<=": ">"}


def _product(lhs: Bounds, rhs: Bounds) -> Bounds:
    """The bounds of a product."""
    ends = [a * b if a and b else 0 for a in lhs for b in rhs]
    return min(ends), max(ends)


def _quotient(value: Bounds, by: Bounds) -> Bounds:
    """The bounds of a quotient that is rounded down, where the divisor is positive."""
    divisors = max(by[0], 1), by[1]

    def divided(number: float, divisor: float) -> float:
        if abs(number) == inf:
            return number
        return number // divisor if divisor != inf else -int(number < 0)

    ends = [divided(number, divisor) for number in value for divisor in divisors]
    return min(ends), max(ends)


def _core(value: Polynomial) -> tuple[Polynomial, int, int]:
    """A sum as a factor times another one without a constant, of which the last factor is positive, and a constant."""
    rest = tuple(each for each in value if each[0])
    if not rest:
        return (), 1, sum(factor for _, factor in value)
    common = gcd(*(factor for _, factor in rest)) * (1 if rest[-1][1] > 0 else -1)
    core = tuple((atoms, factor // common) for atoms, factor in rest)
    return core, common, sum(factor for atoms, factor in value if not atoms)


def _number(value: int) -> Polynomial:
    return (((), value),) if value else ()


def _collected(terms: dict[Monomial, int]) -> Polynomial:
    return tuple(sorted((atoms, factor) for atoms, factor in terms.items() if factor))


def _sum(lhs: Polynomial, rhs: Polynomial) -> Polynomial:
    terms = dict(lhs)
    for atoms, factor in rhs:
        terms[atoms] = terms.get(atoms, 0) + factor
    return _collected(terms)


def _times(value: Polynomial, factor: int) -> Polynomial:
    return tuple((atoms, each * factor) for atoms, each in value) if factor else ()


def _multiplied(lhs: Polynomial, rhs: Polynomial) -> Polynomial:
    terms: dict[Monomial, int] = {}
    for left, first in lhs:
        for right, second in rhs:
            atoms = tuple(sorted(left + right))
            terms[atoms] = terms.get(atoms, 0) + first * second
    return _collected(terms)


def _split(value: Polynomial, by: Polynomial) -> tuple[Polynomial, Polynomial]:
    """The part that a divisor divides, divided, and the rest; that of a constant is less than a divisor that is a number."""
    if value == by:
        return _number(1), ()
    if len(by) != 1:
        return (), value
    (divisor, number) = by[0]
    whole: dict[Monomial, int] = {}
    rest: dict[Monomial, int] = {}
    for atoms, factor in value:
        left = _without(atoms, divisor)
        if left is None:
            rest[atoms] = factor
            continue
        if not atoms:
            quotient = factor // number
        else:
            quotient = abs(factor) // number * (1 if factor > 0 else -1)
        whole[left] = quotient
        rest[atoms] = factor - quotient * number
    return _collected(whole), _collected(rest)


def _without(atoms: Monomial, divisor: Monomial) -> Monomial | None:
    """A product without some of its factors; None where it does not have them."""
    left = list(atoms)
    for each in divisor:
        if each not in left:
            return None
        left.remove(each)
    return tuple(left)


class Length:
    """
    A number that depends on symbols. It passes for an int (`isinstance`), as in types and annotations, and has the
    arithmetic of one.
    """

    __slots__ = ("hint", "scope", "value")

    def __init__(self, scope: Scope, value: Polynomial):
        self.scope, self.value = scope, value
        self.hint = scope.hint(value)
        """The number in the first call."""

    def __hash__(self) -> int:
        return hash((id(self.scope), self.value))

    def __repr__(self) -> str:
        return f"{self} ~ {self.hint}"

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
        try:
            return _number(index(cast(int, other)))
        except TypeError:
            return None

    def _with(self, other: object, code: Callable[[Polynomial, Polynomial], Polynomial]) -> object:
        value = self._other(other)
        return NotImplemented if value is None else self.scope.length(code(self.value, value))

    def __add__(self, other: object) -> object:
        return float(self) + other if isinstance(other, float) else self._with(other, _sum)

    __radd__ = __add__

    def __sub__(self, other: object) -> object:
        if isinstance(other, float):
            return float(self) - other
        return self._with(other, lambda a, b: _sum(a, _times(b, -1)))

    def __rsub__(self, other: object) -> object:
        if isinstance(other, float):
            return other - float(self)
        return self._with(other, lambda a, b: _sum(b, _times(a, -1)))

    def __mul__(self, other: object) -> object:
        return float(self) * other if isinstance(other, float) else self._with(other, _multiplied)

    __rmul__ = __mul__

    def _divided(self, value: Polynomial, by: Polynomial) -> Polynomial:
        if not self.scope.decide(by, ">"):
            self.scope.pin(_sum(value, by) or by)
        return self.scope.divide(value, by)

    def _rest(self, value: Polynomial, by: Polynomial) -> Polynomial:
        return _sum(value, _times(_multiplied(self._divided(value, by), by), -1))

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
        return self.scope.length(_times(self.value, -1))

    def __pos__(self) -> Length:
        return self

    def __abs__(self) -> object:
        return self if self >= 0 else -self

    # -- decisions --------------------------------------------------------------------------------

    def _compared(self, other: object, relation: str) -> bool:
        if isinstance(other, float):
            return RELATIONS[relation](float(self), other)
        value = self._other(other)
        if value is None:
            return NotImplemented
        return self.scope.decide(_sum(self.value, _times(value, -1)), relation)

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


def is_open_type(type_: Attribute) -> bool:
    """Whether a type is that of tensors with a length that is not known before the program runs, or has one within."""
    if isinstance(type_, TupleType):
        return any(map(is_open_type, type_.types.data))
    return isinstance(type_, TensorType) and any(map(is_open, type_.get_shape()))


def likely_type(type_: Attribute) -> Attribute:
    """A type with numbers for its lengths: those that choices are made for."""
    if isinstance(type_, TupleType):
        return TupleType(tuple(cast(TypeAttribute, likely_type(each)) for each in type_.types.data))
    if not is_open_type(type_):
        return type_
    tensor = cast("TensorType[Attribute]", type_)
    return TensorType(tensor.element_type, tuple(map(likely, tensor.get_shape())))


def hint(value: int) -> int:
    """A number; for a length that of the first call. It is no guard, and nothing may rely on it."""
    return cast(Length, value).hint if is_open(value) else value


def likely(value: int) -> int:
    """A number; for a length the one that choices are made for, which must serve all lengths: it is no guard."""
    if not is_open(value):
        return value
    length = cast(Length, value)
    return length.scope.likely(length.value)


def certainly(value: int, number: int) -> bool:
    """Whether a number is a certain one. A length may turn out to be it when the program runs."""
    return not is_open(value) and value == number


def place_of(value: int) -> int:
    """The place of a length in the table that the code reads."""
    length = cast(Length, value)
    return length.scope.place(length.value)


def common_divisor(value: int) -> int:
    """A number that divides a number whatever the lengths are; 0 for 0."""
    return gcd(*(factor for _, factor in cast(Length, value).value)) if is_open(value) else value


def smaller(lhs: int, rhs: int) -> int:
    """The smaller of two numbers, without a guard."""
    return _extreme("min", lhs, rhs)


def larger(lhs: int, rhs: int) -> int:
    """The larger of two numbers, without a guard."""
    return _extreme("max", lhs, rhs)


def _extreme(operation: str, lhs: int, rhs: int) -> int:
    first = lhs if is_open(lhs) else rhs
    if not is_open(first):
        return min(lhs, rhs) if operation == "min" else max(lhs, rhs)
    scope = cast(Length, first).scope
    return scope.length(scope.extreme(operation, polynomial(lhs), polynomial(rhs)))


def polynomial(value: int) -> Polynomial:
    """A number as a polynomial."""
    return cast(Length, value).value if is_open(value) else _number(value)


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


def length_array(values: Iterable[int]) -> DenseArrayBase[IntegerType]:
    """A property that holds numbers, among them lengths: `array<i64: …>`, or what passes for one."""
    numbers = tuple(values)
    if any(map(is_open, numbers)):
        return cast("DenseArrayBase[IntegerType]", LengthsAttr(numbers))
    return DenseArrayBase.from_list(i64, numbers)
