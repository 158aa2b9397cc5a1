"""
Programs for many lengths: a dynamic model is compiled at the shapes of a call, with a symbol for each length that it
leaves open, and the program serves all calls for whose lengths its guards hold.

    call [8, 784]  ──► n = 8, compiled with n       serves n from 0 on
    call [64, 784] ──► the same program

A symbol whose number something asks for becomes a number, and the model is compiled again; in the worst case all do,
and the program is one for the shapes of the call alone.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from dataclasses import replace
from threading import Lock
from traceback import walk_tb
from typing import TYPE_CHECKING, Generic, TypeAlias, TypeVar

from xdsl.utils.exceptions import DiagnosticException

from xrelay.analysis.facts.names import short_name
from xrelay.dialects.base import RelayOp
from xrelay.dialects.length_scope import MOST, Pinned, Scope
from xrelay.dialects.lengths import is_open, polynomial, symbol
from xrelay.dialects.model_names import model_name
from xrelay.dialects.polynomials import Polynomial, number
from xrelay.runtime.layouts import ROW_MAJOR, Layouts
from xrelay.runtime.lengths import OpenLengths
from xrelay.runtime.model import Model
from xrelay.runtime.signature import (
    InputValue,
    Known,
    OpenTensor,
    OpenValue,
    Ranges,
    Shapes,
    UnknownDimensions,
    told_by,
)

if TYPE_CHECKING:
    from xrelay.analysis.facts.ports import Port
    from xrelay.lowering.program.program import Program

logger = logging.getLogger("xrelay.lengths")

T = TypeVar("T")
"""A program, in some form."""

_Kind: TypeAlias = tuple[dict[str, InputValue | tuple[int, ...]], Layouts]
"""What programs for many lengths differ by: inputs whose elements they are for, or of which they take some of any number."""
MOST_PLANNED = 1 << 32
"""So many bytes are taken for lengths that may come; beyond, as many as those of a call need."""
MOST_HINTS = 4
"""How often other hints are tried for what is equal in a call with lengths of 0."""
MOST_PROGRAMS = 32
"""How many programs a model keeps for many lengths."""


def open_lengths(program: Program, scope: Scope) -> OpenLengths:
    """
    What a lowered program knows about the lengths of a scope.

    Raises Pinned where a number was asked for and somebody went on: no such program is kept, here or in the cache.
    """
    if scope.pinned:
        raise Pinned(scope, frozenset(scope.pinned))
    shapes = [*map(_shape, program.inputs), *scope.rows]
    places = {
        length: (number, axis)
        for number, shape in reversed(list(enumerate(shapes)))
        for axis, length in reversed(list(enumerate(shape)))
    }
    symbols = range(len(scope.symbols))
    bounds = [(scope.empty.least(symbol), scope.atoms[symbol].bounds[1]) for symbol in symbols]
    size = _planned(scope, polynomial(program.workspace_bytes))
    return OpenLengths(
        tuple(scope.symbols),
        tuple(places[(((symbol,), 1),)] for symbol in symbols),
        tuple((low, int(high)) for low, high in bounds),
        tuple((atom.operation, atom.left, atom.right) for atom in scope.atoms[len(symbols) :]),
        tuple((guard.value, guard.relation) for guard in scope.conditions()),
        tuple(scope.table),
        tuple(shapes),
        tuple(map(_shape, program.outputs)),
        size,
        (
            *(
                f"{low} <= {name} <= {high:.0f}"
                for name, (low, high) in zip(scope.symbols, bounds, strict=True)
            ),
            *map(scope.condition, scope.conditions()),
        ),
        (tuple(map(_shape_text, program.inputs)), tuple(map(_shape_text, program.outputs))),
        scope.text(size),
    )


def _planned(scope: Scope, size: Polynomial) -> Polynomial:
    """The bytes of a workspace: where all lengths have a range, so many as the greatest of them need, within reason."""
    most = scope.empty.bounds(size)[1]
    is_planned = scope.symbols_in(size) <= set(scope.stated) and most <= MOST_PLANNED
    return number(int(most)) if is_planned else size


def _shape(port: Port) -> tuple[Polynomial, ...]:
    return tuple(map(polynomial, port.type.get_shape()))


def _shape_text(port: Port) -> tuple[str, ...]:
    return tuple(map(str, port.type.get_shape()))


def _asker(error: BaseException | None) -> str:
    """
    The operator that was being looked at when somebody asked for a number, as its code had it at hand; "" where there was
    none.
    """
    while error is not None:
        frames = [frame for frame, _ in walk_tb(error.__traceback__)]
        for frame in reversed(frames):
            for name in ("op", "self", "node"):
                found = frame.f_locals.get(name)
                if isinstance(found, RelayOp):
                    # While it is constructed it has no place in the model yet.
                    node = model_name(found) if hasattr(found, "location") else None
                    return short_name(found) + (f" '{node}'" if node is not None else "")
        error = error.__cause__ or error.__context__
    return ""


class Opener(Generic[T]):
    """Makes programs with a symbol for each length that a model leaves open, but those that have to be numbers."""

    def __init__(
        self,
        inputs: Sequence[OpenTensor],
        compiled: Callable[[Shapes, Layouts, Scope], T],
        ranges: Ranges,
    ) -> None:
        """`compiled` makes a program for shapes and layouts with lengths of a scope. `ranges` says what lengths are between."""
        self._inputs = inputs
        self._compiled = compiled
        self._ranges = ranges
        self.numbers: dict[str, str] = {}
        """The symbols whose number something asks for, which it may do for all lengths, and what does."""
        self._asked_at: dict[str, set[int]] = {}
        """The lengths at which it did: more than one leave no doubt. A short one may have taken code of its own."""

    def program(
        self, shapes: Mapping[str, Known], layouts: Layouts = ROW_MAJOR
    ) -> tuple[T, dict[str, str]] | None:
        """
        A new program for the shapes and others, and the lengths that are numbers in it, with what asks for
        them; None where all lengths have to be numbers.

        Raises DiagnosticException for shapes for which the model makes no sense.
        """
        numbers = {name: why for name, why in self.numbers.items() if len(self._asked_at[name]) > 1}
        asked: dict[str, int] = {}

        def become_numbers(scope: Scope, symbols: Iterable[int], reason: str) -> None:
            for each in sorted(symbols):
                numbers[scope.symbols[each]] = reason
                if each in scope.asked:
                    asked[scope.symbols[each]] = scope.atoms[each].hint

        hints: dict[str, int] = {}
        wanted = MOST_HINTS
        while True:
            scope = Scope(hints=hints, rehinted={} if wanted else None)
            wanted = max(wanted - 1, 0)
            given = self._opened(shapes, scope, numbers)
            lengths = len(scope.symbols)
            given |= self._opened_elements(shapes, scope, numbers)
            elements = range(lengths, len(scope.symbols))
            capacities = self._opened_capacities(layouts, scope, numbers)
            if not scope.symbols:
                self._note(asked, numbers)
                return None
            try:
                program = self._compiled(given, capacities, scope)
                refused = scope.refused()
                if scope.rehinted:
                    hints = hints | scope.rehinted
                    continue
                if not scope.pinned and not refused:
                    self._note(asked, numbers)
                    return program, numbers
                become_numbers(scope, scope.pinned | refused, "")
            except Exception as error:
                # Where a number was asked for, or another one, what follows says nothing.
                if scope.rehinted:
                    hints = hints | scope.rehinted
                elif scope.pinned:
                    become_numbers(scope, scope.pinned, _asker(error))
                elif elements and isinstance(error, DiagnosticException):
                    # Whatever knows elements of inputs takes numbers.
                    scope.asked |= set(elements)
                    become_numbers(scope, elements, _asker(error))
                else:
                    raise

    def _note(self, asked: Mapping[str, int], numbers: Mapping[str, str]) -> None:
        """Notes what was asked for, of a call that has come to a program."""
        for name, length in asked.items():
            self.numbers[name] = numbers[name]
            self._asked_at.setdefault(name, set()).add(length)

    def lengths(self, shapes: Mapping[str, Known]) -> dict[str, int]:
        """The open lengths of some shapes, and elements that may be such, by their names."""
        found: dict[str, int] = {}
        for spec in self._inputs:
            found |= spec.open_numbers(shapes[spec.name])
        return found

    def _opened_capacities(
        self, layouts: Layouts, scope: Scope, numbers: Container[str]
    ) -> Layouts:
        """The layouts with a symbol for the length of each array of the caller but those that have to be numbers."""
        named = ((f"capacity {i}", length) for i, length in enumerate(layouts.capacities))
        opened = _row(named, scope, numbers)
        return replace(layouts, capacities=opened)

    def _opened_elements(
        self, shapes: Mapping[str, Known], scope: Scope, numbers: Container[str]
    ) -> dict[str, Known]:
        """The inputs whose elements may be lengths, with a symbol for each but those that have to be numbers."""
        given: dict[str, Known] = {}
        for spec in self._inputs:
            value = shapes[spec.name]
            if not isinstance(value, InputValue) or value.numbers is None:
                continue
            row = _row(spec.open_numbers(value).items(), scope, numbers)
            if any(map(is_open, row)):
                given[spec.name] = OpenValue(value.dtype, value.shape, value.content, row)
        return given

    def _opened(
        self, shapes: Mapping[str, Known], scope: Scope, numbers: Container[str]
    ) -> dict[str, Known]:
        """The shapes with a symbol for each open length but those that have to be numbers."""
        symbols: dict[str, int] = {}

        def opened(spec: OpenTensor, axis: int, length: int) -> int:
            name = spec.length_name(axis)
            if name is None or name in numbers or not 0 <= length <= MOST:
                return length
            if name not in symbols:
                stated = self._ranges.get(name)
                if stated is not None and stated[1] == 0:
                    return length
                symbols[name] = symbol(scope, name, length, stated)
            return symbols[name]

        given: dict[str, Known] = {}
        for spec in self._inputs:
            each = shapes[spec.name]
            if not isinstance(each, InputValue):
                each = tuple(opened(spec, axis, length) for axis, length in enumerate(each))
            given[spec.name] = each
        return given


def _row(
    numbers: Iterable[tuple[str, int]], scope: Scope, known: Container[str]
) -> tuple[int, ...]:
    """Numbers that a call tells beside shapes, by name: a symbol for each but those that have to be `known`. Adds them to the scope."""
    row = tuple(
        symbol(scope, name, number_) if name not in known and 0 <= number_ <= MOST else number_
        for name, number_ in numbers
    )
    if row:
        scope.rows.append(tuple(map(polynomial, row)))
    return row


class ManyLengths:
    """The programs of a dynamic model that serve many lengths. May be used by several threads at once."""

    def __init__(self, opener: Opener[Model]) -> None:
        """`opener` makes them."""
        self._opener = opener
        self._lock = Lock()
        self._compiling = Lock()
        """One program is compiled at a time: it may serve those who wait."""
        self._programs: list[tuple[_Kind, Model]] = []
        """With what they differ by."""

    def model(self, shapes: Mapping[str, Known], layouts: Layouts = ROW_MAJOR) -> Model | None:
        """
        A model for shapes and layouts, on the code of a program for many; None where that cannot be.

        Raises UnknownDimensions where sizes depend on data.
        """
        values = {
            name: each if each.numbers is None else each.shape
            for name, each in shapes.items()
            if isinstance(each, InputValue)
        }
        taken = told_by(shapes)
        if layouts.capacities:
            taken.append(layouts.capacities)
        kind = values, layouts.pattern
        found = self._known(kind, taken)
        if found is not None:
            return found
        with self._compiling:
            # What another thread has compiled meanwhile may serve these lengths as well.
            found = self._known(kind, taken)
            program = self._program(shapes, layouts) if found is None else None
            if program is None:
                return found
            with self._lock:
                self._programs = [(kind, program), *self._programs[: MOST_PROGRAMS - 1]]
        return program.at(taken)

    def _known(self, kind: _Kind, taken: Sequence[Sequence[int]]) -> Model | None:
        """A model on the code of a program that was compiled."""
        with self._lock:
            programs = list(self._programs)
        for known, program in programs:
            found = program.at(taken) if known == kind else None
            if found is not None:
                return found
        return None

    def _program(self, shapes: Mapping[str, Known], layouts: Layouts) -> Model | None:
        """A new program for the shapes and others; None where all lengths have to be numbers."""
        try:
            made = self._opener.program(shapes, layouts)
        except UnknownDimensions:
            raise
        except DiagnosticException as error:
            # The message is that about numbers, which the caller compiles next.
            logger.info("no program for many lengths: %s", error)
            return None
        if made is None:
            return None
        model = made[0]
        assert model.signature.lengths is not None
        known = model.signature.lengths.with_numbers(self._opener.lengths(shapes))
        model.signature = replace(model.signature, lengths=known)
        return model
