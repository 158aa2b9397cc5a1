"""
The programs for many lengths that a file holds: enough for what it is to serve, compiled together, with the weights once.

    seq from 0 to 512      seq = 256         ──► 6 <= seq <= 512
                           seq = 5           ──► 1 <= seq <= 5      what conditions leave out of a range
                           seq = 0           ──► seq == 0           where that makes sense

A dimension whose number something asks for has a program
for each of its lengths, where the range has few of them.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from math import prod
from typing import TypeVar

import numpy as np
from xdsl.utils.exceptions import DiagnosticException

from xrelay.analysis.facts.ports import entry_function
from xrelay.compiler import (
    check_tuples,
    generate,
    kernel_options,
    llvm_text,
    machine_of,
    read_model,
    relay_passes,
    run_passes,
    signature_of,
)
from xrelay.deep import with_room
from xrelay.dialects.length_scope import MOST, USUAL, Scope
from xrelay.dialects.polynomials import Polynomial, number
from xrelay.errors import OptionError
from xrelay.lowering.program.program import Constants, Program
from xrelay.lowering.program.selection import KnownParameters, use_known_parameters
from xrelay.many_lengths import Opener
from xrelay.memory import packed_constants, require_memory
from xrelay.options import CompileOptions, ModelSource, Progress, silent
from xrelay.program_weights import require_weights
from xrelay.runtime.arguments import few
from xrelay.runtime.dimensions.code import ManyCode
from xrelay.runtime.dimensions.functions import program_name
from xrelay.runtime.dimensions.interface import (
    OpenDimension,
    OpenInterface,
    element_names,
    lengths_of,
    open_dimensions,
    rows_of,
)
from xrelay.runtime.layouts import Layouts
from xrelay.runtime.lengths import OpenLengths
from xrelay.runtime.model import symbol_name
from xrelay.runtime.signature import (
    InputValue,
    Known,
    OpenTensor,
    Shapes,
    Signature,
    UnknownDimensions,
    told_by,
)
from xrelay.staged import require_known_sizes

T = TypeVar("T")

logger = logging.getLogger("xrelay.lengths")

MOST_SAVED = 16
"""Programs of a file."""
MOST_COMBINED = 128
"""Combinations of lengths that are tried."""
FEW = 2
"""What the first element of an input is that is a length."""
GREATEST_USUAL = 256
"""The length that a dimension with a range is compiled at, where its middle is larger."""


def compile_many(
    model: ModelSource,
    unknown: UnknownDimensions,
    options: CompileOptions,
    progress: Progress = silent,
    known: Sequence[Mapping[str, Known]] = (),
) -> ManyCode:
    """
    The machine code of a model that leaves dimensions open: for what its ranges say, for lengths of 1 and more
    of dimensions without a range, and for the shapes that are `known` to come, the last ones first.

    Raises OptionError for inputs of unknown rank, or whose elements decide about dimensions and are no lengths, where a length
    takes a program for each of many numbers, and what `xrelay.compile` raises.
    """
    named = {
        name for shapes in known for name, each in shapes.items() if isinstance(each, InputValue)
    }
    if named:
        unknown = _with_values(unknown, str(unknown), sorted(named))

    def code(unknown: UnknownDimensions) -> ManyCode:
        # A program from before these inputs were known to decide says nothing of their elements.
        given = [
            shapes
            for shapes in known
            if all(isinstance(shapes[name], InputValue) for name in unknown.values)
        ]
        return with_room(lambda: _Saving(model, unknown, options, progress).code(given))

    return with_elements(unknown, code)


def with_elements(unknown: UnknownDimensions, make: Callable[[UnknownDimensions], T]) -> T:
    """
    What is made of a model that leaves something open, once it is known of which inputs the elements are lengths as well.

    Raises OptionError as `require_lengths_alone`, SizesOfData among these.
    """
    while True:
        require_lengths_alone(unknown)
        try:
            return make(unknown)
        except UnknownDimensions as more:
            values = tuple(dict.fromkeys((*unknown.values, *more.values)))
            if values == unknown.values or more.many:
                require_lengths_alone(more)
                raise
            unknown = _with_values(unknown, str(more), values)


def _with_values(
    unknown: UnknownDimensions, message: str, values: Sequence[str]
) -> UnknownDimensions:
    """The same for inputs whose elements are lengths as well."""
    return UnknownDimensions(
        message, unknown.inputs, unknown.outputs, tuple(values), ranges=unknown.ranges
    )


class SizesOfData(OptionError):
    """Sizes depend on data, so that there is no program that is the whole model."""

    def __init__(self, message: str, unknown: UnknownDimensions):
        super().__init__(message)
        self.unknown = unknown


def require_lengths_alone(unknown: UnknownDimensions) -> None:
    """Raises OptionError where more than lengths, and elements that are such, is open, or sizes depend on data."""
    if unknown.many:
        cause = (
            f"the elements of {few(map(repr, unknown.values))}, which are data,"
            if unknown.values
            else "data,"
        )
        raise SizesOfData(
            f"sizes depend on {cause} so that the model is several programs in stages, which are not saved: "
            "xrelay.compile and `xrelay run` run them, `xrelay explain` and `xrelay view` show them",
            unknown,
        )
    left = [
        each
        for each in unknown.inputs
        if each.dims is None or (each.name in unknown.values and not each.may_be_lengths)
    ]
    if left:
        raise OptionError(
            f"there is no program for each rank or all elements of inputs, which the model leaves open: {few(left)}; state "
            "shapes by --shape or shapes=, and elements in Python (shapes= of xrelay.compile, with xrelay.InputValue)"
        )


@dataclass(frozen=True)
class _Made:
    """A program, and all constants so far."""

    signature: Signature
    ir: bytes
    program: Program
    constants: Constants
    parameters: KnownParameters
    """Of the programs for many lengths so far, by weights."""


class _Saving:
    """Programs that are compiled to be kept together."""

    def __init__(
        self,
        model: ModelSource,
        unknown: UnknownDimensions,
        options: CompileOptions,
        progress: Progress,
    ):
        self.model = model
        self.unknown = unknown
        self.options = options
        self.progress = progress
        self.made: list[_Made] = []
        self.lengths: list[dict[str, int]] = []
        """Of each program those that it was compiled at."""
        self.opener = Opener(unknown.inputs, self.compiled, unknown.ranges)
        self.rows = rows_of(unknown.inputs, unknown.values)
        self.dimensions = open_dimensions(self.rows)

    def code(self, known: Sequence[Mapping[str, Known]]) -> ManyCode:
        """All programs."""
        given = [self.lengths_in(shapes) for shapes in reversed(known)]
        first = self.first(given)
        for lengths in given:
            self.serve(lengths)
        for lengths in self.combinations(first, given):
            self.try_to_serve(lengths)
        for lengths in self.ends():
            self.try_to_serve(lengths)
        # The code around the programs asks the system for what any of them needs, whichever a call takes.
        features = max((each.signature.features for each in self.made), key=len)
        signatures = tuple(replace(each.signature, features=features) for each in self.made)
        last = self.made[-1]
        outputs = tuple(_output(signatures, i) for i in range(len(last.signature.outputs)))
        interface = OpenInterface(
            last.signature.name,
            self.unknown.inputs,
            outputs,
            self.unknown.ranges,
            signatures,
            self.unknown.values,
        )
        irs = [each.ir for each in self.made]
        return ManyCode(interface, irs, machine_of(self.options), packed_constants(last.program))

    # -- which lengths ----------------------------------------------------------------------------

    def first(self, given: Sequence[dict[str, int]]) -> dict[str, int]:
        """Lengths that have a program now: those of the last call, or usual ones."""
        if not given:
            return at_usual_lengths(self.unknown, self.serve)[1]
        self.serve(given[0])
        return given[0]

    def range_of(self, dimension: OpenDimension) -> tuple[int, int]:
        """What the length of a dimension is between; where that is not stated, it is 1 or more, and an element also 0."""
        return self.unknown.ranges.get(dimension.name, (int(not self.is_element(dimension)), MOST))

    def is_element(self, dimension: OpenDimension) -> bool:
        """Whether a length is an element of an input."""
        return self.rows[dimension.places[0][0]].name in self.unknown.values

    def combinations(
        self, first: Mapping[str, int], given: Sequence[Mapping[str, int]]
    ) -> list[dict[str, int]]:
        """What else has to be served, those first that differ least from the lengths that are served already."""
        choices = [self.choices(each, first[each.name], given) for each in self.dimensions]
        if prod(map(len, choices)) <= MOST_COMBINED:
            found = [dict(zip(first, each, strict=True)) for each in product(*choices)]
        else:
            # Of many lengths, such as differ in one.
            pairs = zip(first, choices, strict=True)
            found = [{**first, name: each} for name, some in pairs for each in some]
        return sorted(found, key=lambda each: sum(each[name] != first[name] for name in first))

    def choices(
        self, dimension: OpenDimension, usual: int, given: Sequence[Mapping[str, int]]
    ) -> list[int]:
        """
        The usual length of a dimension, also where 0 came, and those of 0 and 1 in its range, of which 1 may be left out by
        conditions; all of the range, or all that came, where programs need the number.
        """
        name, (least, most) = dimension.name, self.range_of(dimension)
        if name not in self.opener.numbers:
            is_0 = name in self.unknown.ranges or self.is_element(dimension)
            special = (1, 0) if is_0 else (1,)
            some = usual or _usual_lengths(self.unknown)[name]
            return list(
                dict.fromkeys([usual, some, *(each for each in special if least <= each <= most)])
            )
        if name in self.unknown.ranges and most - least < MOST_SAVED:
            return list(range(least, most + 1))
        if given:
            return list(dict.fromkeys(lengths[name] for lengths in given))
        asker = self.opener.numbers[name] or "the model"
        if self.is_element(dimension):
            raise OptionError(
                f"element '{name}' takes a program for each number, because {asker} needs it; state the elements of the input in "
                "Python (shapes= of xrelay.compile, with xrelay.InputValue)"
            )
        raise OptionError(
            f"dimension '{name}' takes a program for each of its lengths, because {asker} needs the number; state it by "
            f"shapes= (--shape {name}=…), or a range of at most {MOST_SAVED} lengths"
        )

    def ends(self) -> Iterator[dict[str, int]]:
        """The lengths of stated ranges, and the short ones of others, that conditions of programs leave out."""
        for made, at in zip(self.made, self.lengths, strict=True):  # More come meanwhile.
            lengths = lengths_of(made.signature)
            for name, (low, high) in zip(lengths.symbols, lengths.bounds, strict=True):
                least, most = self.unknown.ranges.get(name, (1, high))
                if low > max(least, 1):  # That of 0 is one of the choices.
                    yield {**at, name: low - 1}
                if high < most:
                    yield {**at, name: high + 1}
            for guard, relation in lengths.guards:
                left_out = _single(guard) if relation == "!=" else None
                if left_out is None or left_out[0] >= len(lengths.symbols):
                    continue
                name, length = lengths.symbols[left_out[0]], left_out[1]
                least, most = self.unknown.ranges.get(name, (1, MOST))
                if least <= length <= most:
                    yield {**at, name: length}

    def lengths_in(self, shapes: Mapping[str, Known]) -> dict[str, int]:
        """The length of each dimension in the shapes of inputs."""
        rows = told_by(shapes)
        places = {each.name: each.places[0] for each in self.dimensions}
        return {name: rows[place][axis] for name, (place, axis) in places.items()}

    # -- programs -----------------------------------------------------------------------------------

    def try_to_serve(self, lengths: dict[str, int]) -> None:
        """Makes a program where there is room for one, and the model makes sense for the lengths."""
        try:
            self.serve(lengths)
        except DiagnosticException as error:
            logger.info("the file has no program for %s: %s", lengths, error)

    def serve(self, lengths: dict[str, int]) -> None:
        """Makes a program for some lengths, unless there is one, or no room for more."""
        shapes = shapes_at(self.unknown, lengths)
        taken = told_by(shapes)
        if any(lengths_of(each.signature).at(taken) for each in self.made):
            return
        if len(self.made) == MOST_SAVED:
            logger.info("the file has no program for %s: %d are enough", lengths, MOST_SAVED)
            return
        opened = self.opener.program(shapes)
        made = self.compiled(shapes) if opened is None else opened[0]
        stated = lengths_of(made.signature)
        signature = replace(made.signature, lengths=stated.with_numbers(lengths))
        self.made.append(replace(made, signature=signature))
        self.lengths.append(lengths)

    def compiled(
        self, shapes: Shapes, layouts: Layouts | None = None, scope: Scope | None = None
    ) -> _Made:
        """A program for shapes; with lengths of a scope, for many."""
        options, number_ = self.options, len(self.made)

        def progress(stage: str) -> None:
            self.progress(f"program {number_ + 1}: {stage}" if number_ else stage)

        progress("read the model")
        module, name = read_model(self.model, shapes, options.limits)
        require_known_sizes(module)
        require_weights(module, self.model)
        check_tuples(module)
        before = self.made[-1].constants if self.made else Constants()
        constants = Constants(dict(before.placed), before.bytes)
        parameters = dict(self.made[-1].parameters) if self.made else {}
        run_passes(module, relay_passes(options), progress, options.limits)
        if scope is not None:
            # Those for known lengths have their own, which are better for one row, say.
            use_known_parameters(entry_function(module), kernel_options(options), parameters)
        program = generate(module, options, progress, constants)
        require_memory(program, options.limits)
        symbol = symbol_name(name)
        progress("convert to LLVM")
        ir = llvm_text(program, program_name(symbol, number_), options)
        signature = signature_of(program, symbol, options, ir, scope)
        if scope is None:
            rows = told_by(
                {name: each for name, each in shapes.items() if isinstance(each, InputValue)}
            )
            signature = replace(signature, lengths=_alone(signature, rows))
        return _Made(signature, ir, program, constants, parameters)


def _single(guard: Polynomial) -> tuple[int, int] | None:
    """The symbol that a sum is 0 for at one length alone, and that length."""
    factors = {atoms: factor for atoms, factor in guard}
    known = factors.pop((), 0)
    if len(factors) != 1:
        return None
    (atoms, factor), *_ = factors.items()
    if len(atoms) != 1 or known % factor:
        return None
    return atoms[0], -known // factor


def at_usual_lengths(
    unknown: UnknownDimensions, make: Callable[[dict[str, int]], T]
) -> tuple[T, dict[str, int]]:
    """
    What is made of a model at lengths that differ from one another, as what is equal by chance becomes a condition, or,
    where the model makes no sense for these, at equal ones, or at such that often divide, or with elements of 1, which
    may be axes; and the lengths.

    Raises what `make` raises for the first ones, and OptionError where elements may be in the way.
    """
    usual = _usual_lengths(unknown)
    others = [] if unknown.ranges or len(usual) < 2 else [dict.fromkeys(usual, USUAL)]
    if (divisible := _round_lengths(unknown)) != usual:
        others.append(divisible)
    elements = [n for s in unknown.inputs if s.name in unknown.values for n in element_names(s)]
    if elements:
        others.append({**usual, **dict.fromkeys(elements, 1)})
    try:
        return make(usual), usual
    except UnknownDimensions:
        raise
    except DiagnosticException as error:
        logger.info("no program for usual lengths: %s", error)
        for lengths in others:
            try:
                return make(lengths), lengths
            except UnknownDimensions:
                raise
            except DiagnosticException as other:
                logger.info("no program for others: %s", other)
        if elements:
            at = few(f"{name} = {usual[name]}" for name in elements)
            raise OptionError(
                f"{error} (for {at}, as nothing is known of these elements of inputs: run the model with some before it is saved)"
            ) from error
        raise


def _usual_lengths(unknown: UnknownDimensions) -> dict[str, int]:
    """A length for each dimension, all different where that can be."""
    found: dict[str, int] = {}
    rows = rows_of(unknown.inputs, unknown.values)
    dimensions = open_dimensions(rows)
    for each in dimensions:
        least, most = unknown.ranges.get(each.name, (1, MOST))
        # Numbers of elements and places are within lengths.
        length = FEW if rows[each.places[0][0]].name in unknown.values else USUAL
        if each.name in unknown.ranges:
            length = min(max(least, 1, min((least + most) // 2, GREATEST_USUAL)), most)
        end = min(most, length + len(dimensions))
        others = (other for other in range(length, end + 1) if other not in found.values())
        found[each.name] = next(others, length)
    return found


def _round_lengths(unknown: UnknownDimensions) -> dict[str, int]:
    """Multiples of 64, or of less where a range has none, for models that halve and double what they are given."""
    found = _usual_lengths(unknown)
    for place, each in enumerate(open_dimensions(unknown.inputs), 1):
        least, most = unknown.ranges.get(each.name, (1, MOST))
        steps = (64 >> i for i in range(7))
        step = next((step for step in steps if most // step * step >= max(least, step)), 1)
        found[each.name] = min(max(step * place, -(-least // step) * step), most // step * step)
    return found


def shapes_at(unknown: UnknownDimensions, lengths: Mapping[str, int]) -> dict[str, Known]:
    """The shapes of inputs at some lengths, and the elements of those that hold lengths."""
    return {
        spec.name: _value(spec, lengths) if spec.name in unknown.values else _shape(spec, lengths)
        for spec in unknown.inputs
    }


def _value(spec: OpenTensor, lengths: Mapping[str, int]) -> InputValue:
    numbers = [lengths[name] for name in element_names(spec)]
    return InputValue.of(np.array(numbers, spec.dtype).reshape(_shape(spec, lengths)))


def _shape(spec: OpenTensor, lengths: Mapping[str, int]) -> tuple[int, ...]:
    dims = spec.dims or ()
    names = map(spec.length_name, range(len(dims)))
    return tuple(
        int(dim) if name is None else lengths[name] for dim, name in zip(dims, names, strict=True)
    )


def _alone(signature: Signature, rows: Sequence[Sequence[int]]) -> OpenLengths:
    """What a program for some lengths alone knows about them; `rows` are elements of inputs that it does not take."""

    tensors = signature.inputs, signature.outputs
    inputs, outputs = (tuple(tuple(map(number, spec.shape)) for spec in side) for side in tensors)
    inputs = (*inputs, *(tuple(map(number, row)) for row in rows))
    texts = tuple(tuple(tuple(map(str, spec.shape)) for spec in side) for side in tensors)
    size = signature.workspace_bytes
    return OpenLengths(
        (), (), (), (), (), (), inputs, outputs, number(size), (), texts, str(size)
    )  # fmt: skip


def _output(programs: Sequence[Signature], number: int) -> OpenTensor:
    """An output: numbers where its lengths are the same in all programs, and what the first one computes them by."""
    spec = programs[0].outputs[number]
    every = [lengths_of(each).texts[1][number] for each in programs]
    dims = tuple(
        int(texts[0]) if texts[0].isdigit() and len(set(texts)) == 1 else texts[0]
        for texts in zip(*every, strict=True)
    )
    return OpenTensor(spec.name, dims, spec.dtype)
