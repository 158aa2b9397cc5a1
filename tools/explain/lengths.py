"""
Models that leave dimensions open, for `xrelay explain` and `xrelay view`: the program for many lengths, with what its
lengths are, the conditions under which it serves, and the lengths that are numbers in it.

Figures beside expressions are those at the lengths that the program is compiled at, which `xrelay compile` takes as well.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import TypeVar

from rich.console import Console
from rich.text import Text
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Attribute

from xrelay.compiler import generate, generation, read_model, run_passes
from xrelay.dialects.length_scope import Scope
from xrelay.dialects.lengths import hint, is_open, is_open_type
from xrelay.dialects.shapes import is_tensor_type
from xrelay.interpreters.arrays import dtype_of
from xrelay.many_lengths import Opener, open_lengths
from xrelay.memory import require_memory
from xrelay.options import CompileOptions, ModelSource, Progress
from xrelay.runtime.dimensions.interface import open_dimensions, rows_of, shortened_condition
from xrelay.runtime.layouts import Layouts
from xrelay.runtime.lengths import OpenLengths
from xrelay.runtime.signature import OpenTensor, Ranges, Shapes, UnknownDimensions
from xrelay.saved_lengths import at_usual_lengths, shapes_at, with_elements
from xrelay.transforms.rules.copying import copied

T = TypeVar("T")


@dataclass(frozen=True)
class OpenReading:
    """What is open in a model, as the program for many lengths has it."""

    inputs: tuple[OpenTensor, ...]
    ranges: Ranges
    at: Mapping[str, int]
    """The lengths that it is compiled at."""
    numbers: Mapping[str, str]
    """The dimensions that are numbers in the program, and why."""
    lengths: OpenLengths | None
    """None where all of them are."""

    @property
    def conditions(self) -> tuple[str, ...]:
        """Under which the program serves."""
        if self.lengths is not None:
            return self.lengths.with_numbers(self.at).conditions
        return tuple(f"{name} == {self.at[name]}" for name in self.numbers)


@dataclass(frozen=True)
class _Read:
    """One attempt."""

    module: ModuleOp
    notes: list[str]
    lengths: OpenLengths | None


def read_open(
    model: ModelSource,
    unknown: UnknownDimensions,
    options: CompileOptions,
    prepare: Callable[[ModuleOp], list[str]],
    progress: Progress,
) -> tuple[ModuleOp, list[str], OpenReading]:
    """
    The module of a model that leaves dimensions open, prepared, with lengths for these, the notes of `prepare`, and what is known
    of the lengths once code is generated.

    Raises OptionError for inputs of unknown rank, or whose elements decide and are no lengths, SizesOfData where these are data, and
    DiagnosticException as the compiler does.
    """
    return with_elements(unknown, partial(_reading, model, options, prepare, progress))


def _reading(
    model: ModelSource,
    options: CompileOptions,
    prepare: Callable[[ModuleOp], list[str]],
    progress: Progress,
    unknown: UnknownDimensions,
) -> tuple[ModuleOp, list[str], OpenReading]:
    """The same, where it is known of which inputs the elements are lengths."""

    def made(shapes: Shapes, layouts: Layouts | None = None, scope: Scope | None = None) -> _Read:
        progress("read the model")
        module, _ = read_model(model, shapes, options.limits)
        notes = prepare(module)
        if scope is None:
            return _Read(module, notes, None)
        # What needs numbers shows when code is generated; that changes the module.
        whole = copied(module)
        run_passes(whole, generation(options), progress, options.limits)
        program = generate(whole, options, progress)
        require_memory(program, options.limits)
        return _Read(module, notes, open_lengths(program, scope))

    opener = Opener(unknown.inputs, made, unknown.ranges)

    def attempt(lengths: dict[str, int]) -> tuple[_Read, Mapping[str, str]]:
        shapes = shapes_at(unknown, lengths)
        opened = opener.program(shapes)
        return (made(shapes), opener.numbers) if opened is None else opened

    (read, asked), at = at_usual_lengths(unknown, attempt)
    numbers: dict[str, str] = {}
    for each in open_dimensions(rows_of(unknown.inputs, unknown.values)):
        if read.lengths is None or each.name not in read.lengths.symbols:
            numbers[each.name] = _why(asked.get(each.name), at[each.name])
    reading = OpenReading(unknown.inputs, unknown.ranges, at, numbers, read.lengths)
    return read.module, read.notes, reading


def _why(asker: str | None, length: int) -> str:
    """Why a length is a number."""
    if length == 0:
        return "the range has no other one"
    return f"{asker or 'the model'} needs the number, so each length takes a program of its own"


def print_reading(console: Console, reading: OpenReading) -> None:
    """The open dimensions, and what the program serves."""
    for line in reading_lines(reading):
        console.print(Text(line))
    console.print()


def reading_lines(reading: OpenReading) -> list[str]:
    """The same as text."""
    at = ", ".join(f"{name} = {length}" for name, length in reading.at.items())
    lines = ["inputs: " + ", ".join(map(str, reading.inputs))]
    if reading.lengths is not None:
        lines.append(f"one program for many lengths; figures are those at {at}")
        lines += [f"  serves {shortened_condition(each)}" for each in reading.lengths.conditions]
        if reading.lengths.symbols and reading.lengths.workspace_text.isdigit():
            size = int(reading.lengths.workspace_text)
            lines.append(f"  takes {size:,} bytes of workspace, which the greatest lengths need")
    else:
        lines.append(f"a program for {at} alone")
    lines += [
        f"  {name} is {reading.at[name]} in it: {why}" for name, why in reading.numbers.items()
    ]
    return lines


def reading_json(reading: OpenReading) -> dict[str, object]:
    """The same as data."""
    return {
        "inputs": {spec.name: list(spec.dims or ()) for spec in reading.inputs},
        "ranges": {name: list(ends) for name, ends in reading.ranges.items()},
        "at": dict(reading.at),
        "conditions": list(reading.conditions),
        "numbers": dict(reading.numbers),
    }


def type_text(type_: Attribute) -> str:
    """A type, one with open lengths as `float32[batch, seq, 768]`."""
    if not is_open_type(type_) or not is_tensor_type(type_):
        return str(type_)
    return f"{dtype_of(type_.element_type)}[{', '.join(map(str, type_.get_shape()))}]"


def number_text(number: int) -> str:
    """A number; for one that depends on lengths the figure and the expression."""
    return f"{hint(number):,} = {number}" if is_open(number) else f"{number:,}"


def number_json(name: str, number: int) -> dict[str, object]:
    """A number as data; for one that depends on lengths the figure, and the expression beside it."""
    if not is_open(number):
        return {name: number}
    return {name: hint(number), f"{name}_expression": str(number)}
