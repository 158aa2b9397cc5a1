"""
The lengths that a program finds out when it is called: which there are, what they have to be, and what its code
computes with.

A program for many lengths was compiled at some, and relies on conditions (`guards`) that hold for these. It serves all
lengths for which they hold: its code reads what depends on the lengths from a table of 64-bit numbers.

    symbols      n = the length of axis 0 of input 0
    atoms        quotients, minima and maxima of sums of products of the atoms before, and these times fractions
    guards       sums of products, each with its relation to 0
    table        sums of products
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from math import prod
from operator import eq, ge, gt, le, lt, ne
from typing import Any, TypeAlias, cast

from xrelay.runtime.dimensions.operations import MOST_NUMBER, operation

Polynomial: TypeAlias = tuple[tuple[tuple[int, ...], int], ...]
"""A sum of products of atoms, by number, each with its factor."""


RELATIONS: Mapping[str, Callable[[int, int], bool]] = {
    "==": eq, "!=": ne, "<": lt, "<=": le, ">": gt, ">=": ge,
}  # fmt: skip
MOST_LENGTH = 2**31 - 1
"""The greatest length of a dimension that is found out when a program is called."""


@dataclass(frozen=True)
class OpenLengths:
    """What a program for many lengths knows about them."""

    symbols: tuple[str, ...]
    """The names of the first atoms."""
    sources: tuple[tuple[int, int], ...]
    """A row, as the shape of an input is one, and a place in it that has the length, for each symbol."""
    bounds: tuple[tuple[int, int], ...]
    """What each symbol is between, both included."""
    atoms: tuple[tuple[str, Polynomial, Polynomial], ...]
    """The atoms behind the symbols."""
    guards: tuple[tuple[Polynomial, str], ...]
    table: tuple[Polynomial, ...]
    inputs: tuple[tuple[Polynomial, ...], ...]
    outputs: tuple[tuple[Polynomial, ...], ...]
    """The shapes of inputs, with other rows behind them (elements of inputs, capacities of arrays), and those of outputs."""
    workspace_bytes: Polynomial
    conditions: tuple[str, ...] = ()
    """The guards, for people."""
    texts: tuple[tuple[tuple[str, ...], ...], ...] = ((), ())
    """The shapes of inputs and outputs, for people."""
    workspace_text: str = ""
    """The bytes of the workspace, for people."""

    def with_numbers(self, lengths: Mapping[str, int]) -> OpenLengths:
        """The same, whose conditions tell which of some lengths, by their names, are numbers in the program."""
        numbers = (
            f"{name} == {length}" for name, length in lengths.items() if name not in self.symbols
        )
        return replace(self, conditions=(*self.conditions, *numbers))

    def to_data(self) -> dict[str, object]:
        """As JSON has it."""
        return {each.name: getattr(self, each.name) for each in fields(self)}

    @staticmethod
    def from_data(data: Mapping[str, Any]) -> OpenLengths:
        """Reads what `to_data` wrote, with lists for tuples. Raises TypeError or KeyError for anything else."""
        found = OpenLengths(**{each.name: _frozen(data[each.name]) for each in fields(OpenLengths)})
        _check(found)
        return found

    def at(self, shapes: Sequence[Sequence[int]]) -> KnownLengths | None:
        """What follows from the shapes of all inputs; None when the program does not serve them."""
        if list(map(len, shapes)) != list(map(len, self.inputs)):
            return None  # Of inputs whose rank is not known either.
        symbols = [shapes[number][axis] for number, axis in self.sources]
        pairs = zip(symbols, self.bounds, strict=True)
        if not all(least <= each <= most for each, (least, most) in pairs):
            return None
        atoms = atoms_at(self.atoms, symbols)
        if not all(RELATIONS[relation](value_of(each, atoms), 0) for each, relation in self.guards):
            return None

        def values(polynomials: Iterable[Polynomial]) -> tuple[int, ...]:
            return tuple(value_of(each, atoms) for each in polynomials)

        inputs = tuple(map(values, self.inputs))
        found = KnownLengths(
            values(self.table),
            inputs,
            tuple(map(values, self.outputs)),
            value_of(self.workspace_bytes, atoms),
        )
        fits = all(abs(each) < MOST_NUMBER for each in (*found.table, found.workspace_bytes))
        return found if fits and inputs == tuple(map(tuple, shapes)) else None


@dataclass(frozen=True)
class KnownLengths:
    """What a program for many lengths is at some."""

    table: tuple[int, ...]
    inputs: tuple[tuple[int, ...], ...]
    outputs: tuple[tuple[int, ...], ...]
    workspace_bytes: int


def atoms_at(
    atoms: Iterable[tuple[str, Polynomial, Polynomial]], symbols: Sequence[int]
) -> list[int]:
    """
    What polynomials are computed from, at some values of the symbols. A quotient by 0 is 0: only what stands in kernels that
    do not run has it, and the sizes of their memory.
    """
    found = list(symbols)
    for name, left, right in atoms:
        first, second = value_of(left, found), value_of(right, found)
        code = operation(name)
        assert code is not None, "the operations were checked"
        found.append(0 if name == "div" and second <= 0 else code(first, second))
    return found


def value_of(polynomial: Polynomial, atoms: Sequence[int]) -> int:
    """A sum of products."""
    if len(polynomial) == 1 and not polynomial[0][0]:
        return polynomial[0][1]  # A number, as most lengths are.
    return sum(factor * prod([atoms[each] for each in product]) for product, factor in polynomial)


def _frozen(data: object) -> Any:
    """Lists within each other as tuples."""
    return tuple(map(_frozen, cast(list[object], data))) if isinstance(data, list) else data


def _check(lengths: OpenLengths) -> None:
    """Raises TypeError for what `to_data` does not write."""
    symbols, atoms = len(lengths.symbols), len(lengths.symbols) + len(lengths.atoms)
    _require(_are(str, *lengths.symbols, *lengths.conditions, lengths.workspace_text), "a text")
    _require(len(lengths.sources) == len(lengths.bounds) == symbols, "the symbols")
    for pair in (*lengths.sources, *lengths.bounds):
        _require(len(pair) == 2 and _are(int, *pair), "a pair of numbers")
    for number, axis in lengths.sources:
        _require(0 <= number < len(lengths.inputs), "the input of a symbol")
        _require(0 <= axis < len(lengths.inputs[number]), "the axis of a symbol")
    for place, (name, left, right) in enumerate(lengths.atoms, symbols):
        _require(type(name) is str and operation(name) is not None, "an operation")
        _require(_is_sum(left, place) and _is_sum(right, place), "the operand of an operation")
    for value, relation in lengths.guards:
        _require(relation in RELATIONS and _is_sum(value, atoms), "a condition")
    shapes = *lengths.inputs, *lengths.outputs
    for value in (*lengths.table, *(each for shape in shapes for each in shape)):
        _require(_is_sum(value, atoms), "a number")
    _require(_is_sum(lengths.workspace_bytes, atoms), "the size of the workspace")
    _require(len(lengths.texts) == 2, "the texts of shapes")
    for side in lengths.texts:
        _require(all(_are(str, *shape) for shape in side), "the text of a shape")


def _require(holds: bool, what: str) -> None:
    if not holds:
        raise TypeError(f"{what} is damaged")


def _are(type_: type, *values: object) -> bool:
    return all(type(each) is type_ for each in values)


def _is_sum(value: object, atoms: int) -> bool:
    """Whether this is a sum of products of the first atoms."""
    if not isinstance(value, tuple):
        return False
    for each in cast(tuple[object, ...], value):
        if not isinstance(each, tuple) or len(cast(tuple[object, ...], each)) != 2:
            return False
        product, factor = cast(tuple[object, object], each)
        if not isinstance(product, tuple) or type(factor) is not int or abs(factor) > MOST_NUMBER:
            return False
        if not all(type(i) is int and 0 <= i < atoms for i in cast(tuple[object, ...], product)):
            return False
    return True
