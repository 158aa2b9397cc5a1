"""
The lengths of one program that are not known before it runs: symbols, what is computed from them, and what was decided about them.

A decision that holds for some lengths only is taken as it is at the *hints*, the lengths of the first call, and becomes a condition.

Lengths of 0 are lengths like others, but what is decided about them is what holds for those of 1 and more. Where it
does not hold for 0 as well, that becomes a condition, too (`empty_lengths.py`). Nothing is one that is asked while the code of
a kernel is written that does not run where its results are empty. A length of 1 would be broadcast, which is a decision only
where it meets another length.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Hashable, Iterable, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from math import gcd, inf

from xrelay.dialects.empty_lengths import EmptyLengths
from xrelay.dialects.polynomials import (
    RELATIONS,
    Atom,
    Bounds,
    Polynomial,
    bounds_of,
    core_of,
    difference,
    number,
    quotient_bounds,
    settled,
    split,
    times,
    total,
    value_of,
)
from xrelay.dialects.scaling import Scaling

MOST = 2**31 - 1
"""The greatest value of a symbol."""
USUAL = 37
"""The length that a dimension is compiled at of which nothing is known: other numbers of models are hardly ever the same."""
LIKELY = 32
"""Choices are made for lengths of so much at least: a program serves long ones as well as short ones, and these take time."""


OPERATIONS: dict[str, Callable[[float, float], float]] = {
    "div": lambda a, b: a // b,
    "min": min,
    "max": max,
}


class Pinned(Exception):
    """Somebody has asked for the number that a length is: its symbols have to be numbers."""

    def __init__(self, scope: Scope, symbols: frozenset[int]):
        super().__init__(", ".join(scope.symbols[each] for each in sorted(symbols)))
        self.symbols = symbols


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
    hints: Mapping[str, int] = field(default_factory=dict[str, int])
    """Those that are not the lengths of the first call, by the names of symbols."""
    rehinted: dict[str, int] | None = None
    """
    Other hints, by the names of symbols: what is equal in the first call is equal for them, too, where hints are other lengths
    as some are 0 in it. Where there are any, nothing that was made with this scope is of use. None where none are wanted.
    """
    atoms: list[Atom] = field(default_factory=list[Atom])
    guards: dict[Guard, None] = field(default_factory=dict[Guard, None])
    """What is equal, and what is not."""
    ranges: dict[Polynomial, Bounds] = field(default_factory=dict[Polynomial, Bounds])
    """The bounds of sums that are decided."""
    remainders: dict[Polynomial, Bounds] = field(default_factory=dict[Polynomial, Bounds])
    """The bounds of n - 4 * (n // 4), of n - min(n, 4), and the like, which hold for any n."""
    assumed: dict[Polynomial, Bounds] = field(default_factory=dict[Polynomial, Bounds])
    """The bounds of sums that somebody else sees to at present."""
    stated: dict[int, tuple[int, int]] = field(default_factory=dict[int, tuple[int, int]])
    """What symbols are between, where that was stated."""
    empty: EmptyLengths = field(init=False)
    """Which symbols may be 0."""
    scalings: dict[str, Scaling] = field(default_factory=dict[str, Scaling])
    """Those of atoms, by their names."""
    rows: list[tuple[Polynomial, ...]] = field(default_factory=list[tuple[Polynomial, ...]])
    """What a call tells beside the shapes of inputs: elements of some of them, and capacities of arrays."""
    pinned: set[int] = field(default_factory=set[int])
    """The symbols that have to be numbers."""
    asked: set[int] = field(default_factory=set[int])
    """Those of them whose number something has asked for, which it does for all lengths."""
    table: list[Polynomial] = field(default_factory=list[Polynomial])
    """The values that the code reads."""
    lengths: dict[Polynomial, object] = field(
        default_factory=dict[Polynomial, object], repr=False, compare=False
    )
    """What stands for polynomials in types and arithmetic: the same each time."""
    _places: dict[tuple[Polynomial, ...], int] = field(
        default_factory=dict[tuple[Polynomial, ...], int]
    )
    """Where values that follow one another stand in the table."""
    _numbers: dict[Hashable, int] = field(default_factory=dict[Hashable, int])
    """Of the atoms, by what they are."""
    _decided: dict[tuple[Polynomial, str], bool] = field(
        default_factory=dict[tuple[Polynomial, str], bool]
    )
    """Decisions hold: what comes later narrows bounds only."""

    def __post_init__(self) -> None:
        self._known = self.ranges, self.remainders, self.assumed
        self.empty = EmptyLengths(self.atoms, self._known, partial(self.pin, asked=False))
        self._lengths: list[int] = []
        """What the symbols are in the first call, where hints may be other ones."""

    def symbol(self, name: str, hint: int, stated: tuple[int, int] | None = None) -> Polynomial:
        """
        A new symbol, for a length of 0 or more, and in a range where one is stated. All symbols come before
        anything is computed with one. Where it is 0 in the first call, a usual length is the hint.
        """
        assert 0 <= hint <= MOST and len(self.atoms) == len(self.symbols)
        new = len(self.symbols)
        self.symbols.append(name)
        own = frozenset((new,))
        least, most = 1, MOST
        if stated is not None:
            least, most = max(least, stated[0]), min(most, stated[1])
            self.stated[new] = stated
        if stated is None or stated[0] < 1:
            self.empty.add(new, is_0=hint == 0)
        self._lengths.append(hint)
        # Different ones: what is equal becomes a condition.
        hint = self.hints.get(name) or hint or min(USUAL + new, most)
        likely = min(max(hint, LIKELY), most)
        self.atoms.append(Atom("symbol", (), (), hint, likely, (least, most), own))
        return (((new,), 1),)

    # -- polynomials ------------------------------------------------------------------------------

    def hint(self, value: Polynomial) -> int:
        """The value in the first call."""
        return value_of(value, lambda each: self.atoms[each].hint)

    def likely(self, value: Polynomial) -> int:
        """The value that choices are made for, within its bounds: of lengths that fall as others grow it is the least."""
        found = value_of(value, lambda each: self.atoms[each].likely)
        low, high = self.bounds(value)
        return int(min(max(found, low), high))

    def bounds(self, value: Polynomial) -> Bounds:
        """Between what the value is certain to lie where no symbol is 0."""
        return bounds_of(value, self._bounds_of_atom, self._known)

    def _bounds_of_atom(self, atom: int) -> Bounds:
        return self.atoms[atom].bounds

    @property
    def told(self) -> frozenset[int]:
        """The symbols that a call tells beside the shapes of inputs."""
        return frozenset[int]().union(*(self.symbols_in(each) for row in self.rows for each in row))

    def symbols_in(self, value: Polynomial) -> frozenset[int]:
        """What a polynomial depends on."""
        atoms = (each for atoms, _ in value for each in atoms)
        return frozenset[int]().union(*(self.atoms[each].symbols for each in atoms))

    def divide(self, value: Polynomial, by: Polynomial) -> Polynomial:
        """The quotient, rounded down. Divisors are positive."""
        whole, rest = split(value, by)
        if not rest:
            return whole
        if len(by) == 1 and not by[0][0]:
            return total(whole, self._divide_by_number(rest, by[0][1]))
        low, high = quotient_bounds(self.bounds(rest), self.bounds(by))
        if low != high:
            return total(whole, self._atom("div", rest, by))
        self.empty.relies_on(difference(rest, times(by, int(low))), ">=")
        self.empty.relies_on(difference(rest, times(by, int(low) + 1)), "<")
        return total(whole, number(int(low)))

    def _divide_by_number(self, value: Polynomial, by: int) -> Polynomial:
        """The same for a number that does not divide any of the factors."""
        if value[-1][1] < 0:  # -(p / b) rounded down is p / b rounded up.
            upward = total(times(value, -1), number(by - 1))
            return times(self.divide(upward, number(by)), -1)
        common = gcd(by, *(factor for atoms, factor in value if atoms))
        if common > 1:
            value = tuple((atoms, factor // common) for atoms, factor in value if factor // common)
            return self.divide(value, number(by // common))
        low, high = self.bounds(value)
        if 0 <= low and high < by:
            self.empty.relies_on(value, ">=")
            self.empty.relies_on(difference(value, number(by)), "<")
            return ()
        return self._atom("div", value, number(by))

    def extreme(
        self, operation: str, left: Polynomial, right: Polynomial, *, of_empty: bool = False
    ) -> Polynomial:
        """The smaller ("min") or the larger ("max") of two; with `of_empty` that of lengths of 0 is no condition."""
        for one, other in ((left, right), (right, left)):
            if other in self._within(operation, one):
                return one
        apart = self._without_common_factors(difference(left, right))
        low, high = self.empty.bounds(apart) if of_empty else self.bounds(apart)
        if high > 0 > low:
            return self._atom(operation, *sorted((left, right)))
        self.empty.relies_on(apart, "<=" if high <= 0 else ">=")
        return left if (high <= 0) == (operation == "min") else right

    def scaled(self, value: Polynomial, scaling: Scaling) -> Polynomial:
        """A length, which is not negative, times a number with a fraction."""
        if not self.symbols_in(value):
            return number(scaling(self.hint(value)))
        self.scalings[scaling.name] = scaling
        return self._atom(scaling.name, value, ())

    def _within(self, operation: str, value: Polynomial) -> set[Polynomial]:
        """What a value is the smallest or the largest of, where it is such an atom."""
        found: set[Polynomial] = set()
        pending = [value]
        while pending:
            each = pending.pop()
            if each in found:
                continue
            found.add(each)
            atom = self._single_atom(each)
            if atom is not None and self.atoms[atom].operation == operation:
                pending += [self.atoms[atom].left, self.atoms[atom].right]
        return found

    def _atom(self, operation: str, left: Polynomial, right: Polynomial) -> Polynomial:
        key = operation, left, right
        place = self._numbers.get(key)
        if place is None:
            place = self._numbers[key] = len(self.atoms)
            self.atoms.append(self._made(operation, left, right))
            if operation == "div" and len(right) == 1 and not right[0][0]:
                by = right[0][1]
                core, factor, known = core_of(difference(left, (((place,), by),)))
                low, high = sorted(((0 - known) // factor, (by - 1 - known) // factor))
                self.remainders[core] = low, high
            elif operation in ("min", "max"):
                sign = 1 if operation == "min" else -1
                for side in (left, right):
                    beyond = times(difference(side, (((place,), 1),)), sign)
                    core, bounds = _narrowed(self.remainders, beyond, 0)
                    self.remainders[core] = bounds
        return (((place,), 1),)

    def _made(self, operation: str, left: Polynomial, right: Polynomial) -> Atom:
        code = OPERATIONS.get(operation) or self.scalings[operation]
        hint = int(code(self.hint(left), self.hint(right)))
        likely = int(code(self.likely(left), max(self.likely(right), 1)))
        symbols = self.symbols_in(left) | self.symbols_in(right)
        made = Atom(operation, left, right, hint, likely, (0, 0), symbols, code)
        return replace(made, bounds=made.bounds_by(self.bounds(left), self.bounds(right)))

    # -- decisions --------------------------------------------------------------------------------

    def is_zero(self, value: Polynomial) -> bool:
        """Whether a polynomial is 0 for all lengths, or those that conditions leave."""
        if not value:
            return True
        if not self.guards:
            return False
        return _signed(self._without_common_factors(value), "==") in self.guards

    def decide(self, value: Polynomial, relation: str) -> bool:
        """Whether a polynomial has a relation to 0: for any lengths, or for the hints, which becomes a guard."""
        key = value, relation
        known = self._decided.get(key)
        if known is None:
            known = self._decided[key] = self._decide(value, relation)
        if self.empty:
            self._keep(value, relation if known else _OPPOSITE[relation])
        return known

    @contextmanager
    def assuming(self, positive: Iterable[Polynomial]) -> Generator[None]:
        """Sums are 1 or more, as somebody else sees to. What is decided by that holds no longer than it."""
        before = dict(self.assumed), self._decided
        for value in positive:
            core, bounds = _narrowed(self.assumed, value, 1)
            self.assumed[core] = bounds
        self._decided = dict(self._decided)
        try:
            yield
        finally:
            self.assumed.clear()
            self.assumed.update(before[0])
            self._decided = before[1]

    def _keep(self, value: Polynomial, relation: str) -> None:
        """Sees to it that what was decided holds where lengths are 0 as well."""
        common = self._common_factors(value)
        reduced = split(value, ((common, 1),))[0] if common else value
        if relation in ("<", ">"):
            for each in common:
                self.empty.relies_on((((each,), 1),), ">")
        if _signed(reduced, relation) not in self.guards:
            self.empty.relies_on(reduced, relation)

    def _decide(self, value: Polynomial, relation: str) -> bool:
        value = self._without_common_factors(value)
        certain = settled(self.bounds(value), relation)
        if certain is not None:
            return certain
        holds = RELATIONS[relation](self.hint(value), 0)
        if self.rehinted is not None and relation in ("==", "!=") and holds == (relation == "!="):
            self.rehinted |= self._equal_hints(value)
        stated = relation if holds else _OPPOSITE[relation]
        if stated == "==" and len(self.symbols_in(value)) == 1 and not self._serves_more(value):
            self.pin(value, asked=False)
        if stated in ("==", "!="):
            self.guards[_signed(value, stated)] = None
        else:
            self._narrow(value, stated)
        return holds

    def _equal_hints(self, value: Polynomial) -> dict[str, int]:
        """
        Hints for which a sum is 0 that is so in the first call, but not for the present ones: lengths that are 0 in that get
        one hint, and one that is the sum of others follows. None where there are no such hints.
        """
        zeros = [number for number, length in enumerate(self._lengths) if length == 0]
        if not zeros or any(
            len(atoms) > 1 or max(atoms, default=0) >= len(self.symbols) for atoms, _ in value
        ):
            return {}
        if value_of(value, self._lengths.__getitem__):
            return {}
        hints = [atom.hint for atom in self.atoms[: len(self.symbols)]]
        for each in zeros:
            if self.symbols[each] not in self.hints:
                hints[each] = min(USUAL, int(self.atoms[each].bounds[1]))
        terms = [(atoms[0], factor) for atoms, factor in value if atoms and factor in (1, -1)]
        for each, factor in sorted(terms, key=lambda term: self._lengths[term[0]] == 0):
            rest = value_of(value, hints.__getitem__)
            if not rest:
                break
            hint, (least, most) = hints[each] - factor * rest, self.atoms[each].bounds
            if least <= hint <= most:
                hints[each] = hint
        if value_of(value, hints.__getitem__):
            return {}
        changed = zip(self.symbols, hints, self.atoms, strict=False)
        return {name: hint for name, hint, atom in changed if hint != atom.hint}

    def _serves_more(self, value: Polynomial) -> bool:
        """
        Whether a polynomial in one symbol that is 0 at the hint is 0 for other lengths as well: beside it, as (n + 31) // 32 - 1
        is, or one period before or later, as 2 * (n // 2) - n is.
        """
        (symbol,) = self.symbols_in(value)
        period, needed = 1, set[int]()
        pending = [value]
        while pending:
            for each in {atom for atoms, _ in pending.pop() for atom in atoms} - needed:
                needed.add(each)
                atom = self.atoms[each]
                if atom.operation == "div" and not self.symbols_in(atom.right):
                    period *= self.hint(atom.right)
                pending += [atom.left, atom.right]
        own, (low, high) = self.atoms[symbol].hint, self.atoms[symbol].bounds
        others = {own - 1, own + 1, own - period, own + period} if period > 1 else set[int]()
        return any(
            low <= other <= high and self._at(other, symbol, needed, value) == 0
            for other in sorted(others)
        )

    def _at(self, length: int, symbol: int, needed: set[int], value: Polynomial) -> int | None:
        """A polynomial of some atoms where the one symbol in them is a length; None where it has no value."""
        numbers = {symbol: length}
        for each in sorted(needed - {symbol}):  # Atoms come after what they are made of.
            atom = self.atoms[each]
            left, right = (value_of(side, numbers.__getitem__) for side in (atom.left, atom.right))
            if atom.operation == "div" and right <= 0:
                return None
            numbers[each] = int(atom.code(left, right))
        return value_of(value, numbers.__getitem__)

    def _without_common_factors(self, value: Polynomial) -> Polynomial:
        """A polynomial with the same relation to 0: n * s - n becomes s - 1."""
        common = self._common_factors(value)
        return split(value, ((common, 1),))[0] if common else value

    def _common_factors(self, value: Polynomial) -> tuple[int, ...]:
        """The atoms that are factors of all products in a sum, and more than 0."""
        if not value or not value[0][0]:
            return ()
        common = [each for each in value[0][0] if self.atoms[each].bounds[0] > 0]
        for atoms, _ in value[1:]:
            rest = list(atoms)
            common = [each for each in common if each in rest and not rest.remove(each)]
        return tuple(common)

    def _narrow(self, value: Polynomial, relation: str) -> None:
        """Narrows the bounds of what has a relation of order to 0, which is a condition from now on."""
        positive = times(value, -1) if relation in ("<", "<=") else value
        core, (low, high) = _narrowed(self.ranges, positive, 1 if relation in ("<", ">") else 0)
        atom = self._single_atom(core)
        is_symbol = atom is not None and atom < len(self.symbols)
        if not is_symbol:  # The bounds of symbols are conditions without.
            self.ranges[core] = low, high
        if atom is not None:
            known = self.atoms[atom].bounds
            bounds = max(low, known[0]), min(high, known[1])
            self.atoms[atom] = replace(self.atoms[atom], bounds=bounds)
            if is_symbol and low > 0:
                self.empty.require_elements(atom)

    @staticmethod
    def _single_atom(value: Polynomial) -> int | None:
        """The atom that a polynomial is, if it is one."""
        if len(value) != 1 or len(value[0][0]) != 1 or value[0][1] != 1:
            return None
        return value[0][0][0]

    def refused(self) -> frozenset[int]:
        """The symbols that are 0 in the first call, where a program does not serve that: hints are other lengths then."""
        empty = frozenset(i for i, length in enumerate(self._lengths) if length == 0)
        if not empty:
            return empty
        values = list(self._lengths)
        for atom in self.atoms[len(values) :]:
            left, right = (value_of(side, values.__getitem__) for side in (atom.left, atom.right))
            by_none = atom.operation == "div" and right <= 0  # In kernels that do not run.
            values.append(0 if by_none else int(atom.code(left, right)))
        serves = all(
            RELATIONS[each.relation](value_of(each.value, values.__getitem__), 0)
            for each in self.conditions()
        )
        return frozenset() if serves else empty

    def conditions(self) -> list[Guard]:
        """What the lengths have to meet beside the bounds of the symbols."""
        every = [*self.guards, *(Guard(*each) for each in self.empty.conditions())]
        # What was equal or not for some lengths may be so for all that are left.
        found = [
            each for each in every if not settled(self.empty.bounds(each.value), each.relation)
        ]
        for core, (low, high) in self.ranges.items():
            if low > -inf:
                found.append(Guard(total(core, number(-int(low))), ">="))
            if high < inf:
                found.append(Guard(total(core, number(-int(high))), "<="))
        return found

    def pin(self, value: Polynomial, *, asked: bool = True) -> int:
        """Raises Pinned for the symbols in a polynomial."""
        symbols = self.symbols_in(value)
        self.pinned |= symbols
        if asked:
            self.asked |= symbols
        raise Pinned(self, symbols)

    def place(self, *values: Polynomial) -> int:
        """The place, in the table that the code reads, of a value, or of the first of several that follow one another."""
        if values not in self._places:
            self._places[values] = len(self.table)
            self.table += values
        return self._places[values]

    def condition(self, guard: Guard) -> str:
        """A guard as people write it."""
        known = [factor for atoms, factor in guard.value if not atoms]
        rest = tuple(each for each in guard.value if each[0])
        relation, sign = guard.relation, 1
        if rest[-1][1] < 0:
            relation, sign = _MIRRORED.get(relation, relation), -1
        return f"{self.text(times(rest, sign))} {relation} {-sign * sum(known)}"

    def text(self, value: Polynomial, depth: int = 4) -> str:
        """A polynomial as people write it, what is nested deeper than `depth` as `…`."""
        parts: list[str] = []
        for atoms, factor in reversed(value):
            # 8*n//3 and -n//3 would be quotients of 8*n and -n.
            is_alone = len(atoms) == 1 and (factor == 1 or factor == -1 and bool(parts))
            factors = [self._atom_text(each, depth, is_alone) for each in atoms]
            if abs(factor) != 1 or not atoms:
                factors.insert(0, str(abs(factor)))
            sign = ("- " if factor < 0 else "+ ") if parts else "-" * (factor < 0)
            parts.append(sign + "*".join(factors))
        return " ".join(parts) or "0"

    def _atom_text(self, number: int, depth: int, is_alone: bool) -> str:
        """A symbol or what stands for an atom; a quotient that is a factor in parentheses."""
        atom = self.atoms[number]
        if atom.operation == "symbol":
            return self.symbols[number]
        if depth == 0:
            return "…"
        left, right = (self.text(each, depth - 1) for each in (atom.left, atom.right))
        if atom.operation in self.scalings:
            return self.scalings[atom.operation].text(f"({left})" if " " in left else left)
        if atom.operation != "div":
            return f"{atom.operation}({left}, {right})"
        if " " in left or left.startswith("-"):
            left = f"({left})"
        if not right.isalnum():
            right = f"({right})"
        return f"{left}//{right}" if is_alone else f"({left}//{right})"


def _narrowed(
    known: Mapping[Polynomial, Bounds], value: Polynomial, least: int
) -> tuple[Polynomial, Bounds]:
    """The core of a sum that is not less than a number, and its bounds, which are within those that are known."""
    core, factor, constant = core_of(value)
    low, high = known.get(core, (-inf, inf))
    if factor > 0:
        return core, (max(low, -((constant - least) // factor)), high)
    return core, (low, min(high, (constant - least) // -factor))


def _signed(value: Polynomial, relation: str) -> Guard:
    """That a sum is equal to 0, or not, for a sum and for its opposite the same."""
    sign = 1 if not value or value[-1][1] > 0 else -1
    return Guard(times(value, sign), relation)


_MIRRORED = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}
_OPPOSITE = {"==": "!=", "!=": "==", "<": ">=", ">=": "<", ">": "<=", "<=": ">"}
