"""
Lengths of 0 among those that are not known before a program runs.

What a scope decides holds for lengths of 1 and more. Here stands which of them may be 0 nevertheless, and what is no
longer right where they are:

    n < 1        is not so, which has to hold        ──► n is 1 or more in this program
    p + q > 0    is so where one of both is not 0    ──► a condition
    n == 0       is not so, which may be wrong where a type is looked at: code for some elements is right for none

While the code of a kernel is written that does not run where its results are empty, the lengths are `assumed` to be 1
or more that these have.
"""

from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import combinations

from xrelay.dialects.polynomials import Atom, Bounds, Polynomial, bounds_of, settled

MOST_AT_ONCE = 4
"""Of so many symbols it is looked at which of them may be 0 together: that takes the bounds of 15 sums. More become a condition."""


class EmptyLengths:
    """Which symbols of a scope may be 0."""

    def __init__(
        self,
        atoms: Sequence[Atom],
        known: Sequence[Mapping[Polynomial, Bounds]],
        pin: Callable[[Polynomial], object],
    ) -> None:
        """The atoms of a scope, what it knows about sums, both of which grow, and what raises Pinned for one."""
        self._atoms = atoms
        self._known = known
        self._pin = pin
        self._may_be = set[int]()
        """The symbols that may be 0."""
        self._are = set[int]()
        """Those that are 0 in the first call."""
        self._assumed = frozenset[int]()
        """Those of them that have elements at present."""
        self._relied: dict[tuple[Polynomial, str], None] = {}
        """Relations of sums to 0 that have to hold."""
        self._checked: dict[frozenset[int], set[tuple[Polynomial, str]]] = {}
        """Those that have been looked at, by what was assumed."""
        self._bounds: dict[int, Bounds] = {}
        """Of atoms that are no symbols, as far as they have been asked for."""

    def __bool__(self) -> bool:
        """Whether any symbol may be 0."""
        return bool(self._may_be)

    def add(self, symbol: int, *, is_0: bool) -> None:
        """A symbol may be 0, and is in the first call."""
        self._may_be.add(symbol)
        if is_0:
            self._are.add(symbol)

    def require_elements(self, symbol: int) -> None:
        """
        Makes a condition of it that a symbol is 1 or more.

        Raises Pinned for one that is 0 in the first call.
        """
        if symbol in self._are:
            self._pin((((symbol,), 1),))
        self._may_be.discard(symbol)
        self._bounds.clear()

    def least(self, symbol: int) -> int:
        """The least value of a symbol."""
        return 0 if symbol in self._may_be else int(self._atoms[symbol].bounds[0])

    def symbols(self, value: Polynomial) -> frozenset[int]:
        """The symbols in a sum that may be 0."""
        atoms = {each for atoms, _ in value for each in atoms}
        found = frozenset[int]().union(*(self._atoms[each].symbols for each in atoms))
        return (found & self._may_be) - self._assumed

    @contextmanager
    def assuming(self, symbols: frozenset[int]) -> Generator[None]:
        """Symbols are 1 or more, as somebody else sees to."""
        before = self._assumed, self._bounds
        self._assumed, self._bounds = self._assumed | symbols, {}
        try:
            yield
        finally:
            self._assumed, self._bounds = before

    def bounds(self, value: Polynomial) -> Bounds:
        """Between what a sum is certain to lie."""
        return bounds_of(value, self._bounds_of_atom, self._known)

    def _bounds_of_atom(self, number: int) -> Bounds:
        atom = self._atoms[number]
        if atom.operation == "symbol":
            may_be_0 = number in self._may_be and number not in self._assumed
            return 0 if may_be_0 else atom.bounds[0], atom.bounds[1]
        found = self._bounds.get(number)
        if found is None:
            left, right = self.bounds(atom.left), self.bounds(atom.right)
            found = self._bounds[number] = atom.bounds_by(left, right)
        return found

    def emptying(self, value: Polynomial) -> frozenset[int]:
        """The symbols that may be 0 with which a sum is 0, too, whichever others are."""

        def is_0_with(symbol: int) -> bool:
            zeros = frozenset((symbol,))
            return self._bounds_without(value, zeros, self._bounds_of_atom) == (0, 0)

        return frozenset(filter(is_0_with, self.symbols(value)))

    def _bounds_without(
        self, value: Polynomial, zeros: frozenset[int], others: Callable[[int], Bounds]
    ) -> Bounds:
        """Between what a sum lies where these symbols are 0; `others` has the bounds of atoms without them."""
        known: dict[int, Bounds] = dict.fromkeys(zeros, (0, 0))

        def bounds_of_atom(number: int) -> Bounds:
            atom = self._atoms[number]
            if number not in known:
                known[number] = (
                    others(number)
                    if atom.symbols.isdisjoint(zeros)
                    else atom.bounds_by(bounds(atom.left), bounds(atom.right))
                )
            return known[number]

        def bounds(value: Polynomial) -> Bounds:
            return bounds_of(value, bounds_of_atom, self._known)

        return bounds(value)

    def _holds_without(self, value: Polynomial, relation: str, symbols: frozenset[int]) -> bool:
        """Whether a relation that holds where no symbol is 0 is certain to hold where any of these are."""
        if len(symbols) > MOST_AT_ONCE:
            return False

        def bounds_of_others(number: int) -> Bounds:
            return self._atoms[number].bounds

        return all(
            settled(self._bounds_without(value, frozenset(zeros), bounds_of_others), relation)
            for count in range(1, len(symbols) + 1)
            for zeros in combinations(sorted(symbols), count)
        )

    def relies_on(self, value: Polynomial, relation: str, *, as_data: bool = False) -> None:
        """
        Sees to it that a relation of a sum to 0 holds of which that is certain where no length is 0: it becomes a condition, or a
        length does that is 1 or more.

        That a length is not 0 is none, unless it is asked `as_data`, of which the model makes something: code for some elements
        is right for none.
        """
        if not self._may_be:
            return
        checked = self._checked.setdefault(self._assumed, set())
        if (value, relation) in checked and not as_data:
            return
        checked.add((value, relation))
        symbols = self.symbols(value)
        if not symbols:
            return
        bounds = self.bounds(value)
        is_length = (bounds[0] >= 0 or bounds[1] <= 0) and not as_data
        if settled(bounds, relation) is not None or relation == "!=" and is_length:
            return
        if self._holds_without(value, relation, symbols):
            return
        if len(symbols) == 1:
            self.require_elements(*symbols)
        else:
            self._relied[value, relation] = None

    def conditions(self) -> Iterator[tuple[Polynomial, str]]:
        """What has to hold beside the bounds of the symbols."""
        for value, relation in self._relied:
            if settled(self.bounds(value), relation) is None:
                yield value, relation
