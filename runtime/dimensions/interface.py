"""
What a file with programs for many lengths says of itself: the model's inputs and outputs with their open dimensions, and
the programs, of which the first that serves the lengths of a call runs.

    dimensions   batch, seq            in the order in which the inputs have them
    programs     2 <= batch <= 8       ──► code, table and workspace of its own; constants in common
                 batch == 1
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import cast

from xrelay.runtime.arguments import few
from xrelay.runtime.errors import ModelError
from xrelay.runtime.lengths import OpenLengths
from xrelay.runtime.machine import TILES
from xrelay.runtime.signature import (
    MOST_NUMBERS,
    Fields,
    OpenTensor,
    Ranges,
    Signature,
    checked,
    damage,
    dtype_named,
    whole_number,
)

FORMAT = 7
"""Of the description; that of a program alone has another one."""


LONGEST_CONDITION = 60
"""Characters."""


@dataclass(frozen=True)
class OpenDimension:
    """A length that is known when the model is called."""

    name: str
    """In the model, or input and axis of one without a name."""
    places: tuple[tuple[int, int], ...]
    """The inputs and axes that have it."""
    argument: str
    """What it is called in C."""


@dataclass(frozen=True)
class OpenInterface:
    """A model with programs for many lengths."""

    name: str
    inputs: tuple[OpenTensor, ...]
    outputs: tuple[OpenTensor, ...]
    """As the model states them."""
    ranges: Ranges
    """What lengths were stated to be between."""
    programs: tuple[Signature, ...]
    """In the order in which they are tried. Each has `lengths`, also one for a single combination."""
    values: tuple[str, ...] = ()
    """The inputs whose elements are lengths, which programs do not take."""

    @property
    def taken(self) -> tuple[OpenTensor, ...]:
        """The inputs that programs take."""
        return tuple(each for each in self.inputs if each.name not in self.values)

    @property
    def dimensions(self) -> tuple[OpenDimension, ...]:
        """The lengths that a call states, in the order of the inputs, and behind them elements of others."""
        return open_dimensions(rows_of(self.inputs, self.values))

    @property
    def threads(self) -> int:
        """How many work on a call together."""
        return self.programs[0].threads

    @property
    def uses_tiles(self) -> bool:
        """Whether a program uses tile registers, which the system has to grant."""
        return any(TILES in program.features for program in self.programs)

    def conditions(self) -> tuple[str, ...]:
        """For which lengths each of the programs serves, long conditions shortened."""
        return tuple(
            ", ".join(map(shortened_condition, lengths_of(each).conditions)) or "all"
            for each in self.programs
        )

    def to_json(self) -> str:
        """As text that `from_json` reads."""

        def specs(tensors: Sequence[OpenTensor]) -> list[dict[str, object]]:
            return [
                {"name": t.name, "dims": t.dims, "dtype": None if t.dtype is None else t.dtype.name}
                for t in tensors
            ]

        return json.dumps(
            {
                "format": FORMAT,
                "name": self.name,
                "inputs": specs(self.inputs),
                "outputs": specs(self.outputs),
                "ranges": dict(self.ranges),
                "values": self.values,
                "programs": [json.loads(each.to_json()) for each in self.programs],
            }
        )

    @staticmethod
    def from_json(text: str) -> OpenInterface | None:
        """
        Reads what `to_json` wrote; None for the description of a program alone.

        Raises ModelError for a damaged one.
        """
        try:
            data: object = json.loads(text)
        except (ValueError, RecursionError):
            return None  # Whoever reads programs says what is wrong.
        if not isinstance(data, dict) or cast(dict[str, object], data).get("format") != FORMAT:
            return None
        given = Fields(cast(object, data))
        ranges = cast(dict[str, object], checked("'ranges'", given.data.get("ranges"), dict))
        programs = tuple(Signature.from_data(each) for each in given.listed("programs"))
        found = OpenInterface(
            given.identifier("name"),
            tuple(map(_tensor, given.listed("inputs"))),
            tuple(map(_tensor, given.listed("outputs"))),
            {name: _range(name, each) for name, each in ranges.items()},
            programs,
            tuple(checked("a name in 'values'", each, str) for each in given.listed("values")),
        )
        _require_programs(found)
        return found


def rows_of(inputs: Sequence[OpenTensor], values: Sequence[str]) -> tuple[OpenTensor, ...]:
    """
    What `told_by` gives of a call, as tensors: the inputs that programs take, and for each other one, by its name, a tensor as
    long as its elements are.
    """
    taken = [each for each in inputs if each.name not in values]
    elements = (
        OpenTensor(each.name, element_names(each), each.dtype)
        for each in inputs
        if each.name in values
    )
    return (*taken, *elements)


def element_names(spec: OpenTensor) -> tuple[str, ...]:
    """What the elements of an input go by, in row-major order. Raises ModelError for one of open shape."""
    lengths = [each for each in spec.dims or () if isinstance(each, int)]
    is_known = spec.dims is not None and len(lengths) == len(spec.dims)
    if not is_known or prod(lengths) > MOST_NUMBERS:
        raise damage(f"the elements of '{spec.name}' are no lengths")
    return tuple(map(spec.element_name, range(prod(lengths))))


def open_dimensions(inputs: Sequence[OpenTensor]) -> tuple[OpenDimension, ...]:
    """The lengths that inputs leave open, in their order."""
    places: dict[str, list[tuple[int, int]]] = {}
    for number, spec in enumerate(inputs):
        for axis in range(len(spec.dims or ())):
            name = spec.length_name(axis)
            if name is not None:
                places.setdefault(name, []).append((number, axis))
    used: set[str] = set(RESERVED)
    return tuple(
        OpenDimension(name, tuple(found), _argument(name, used)) for name, found in places.items()
    )


def lengths_of(program: Signature) -> OpenLengths:
    """What a program of a file finds out when it is called."""
    assert program.lengths is not None
    return program.lengths


def shortened_condition(condition: str) -> str:
    """A condition without the middle of what it is about: those of sizes in memory are long sums."""
    if len(condition) <= LONGEST_CONDITION:
        return condition
    half = LONGEST_CONDITION // 2
    return f"{condition[:half]}…{condition[-half:]}"


def not_served(interface: OpenInterface, rows: Sequence[Sequence[int]]) -> ModelError:
    """The error for a call whose lengths, as `told_by` has them, no program serves."""
    found = [
        f"'{each.name}' is {rows[number][axis]}"
        for each in interface.dimensions
        for number, axis in each.places[:1]
    ]
    serves = few([f"({each})" for each in interface.conditions()], " or ")
    return ModelError(
        f"{few(found)}, for which the file of model '{interface.name}' has no program; expected lengths with {serves}. "
        "Save the model again with shapes= that has these, or run it from its source"
    )


def _require_programs(interface: OpenInterface) -> None:
    """Raises ModelError for programs that are not those of the interface."""
    if not interface.programs:
        raise damage("it has no programs")
    names = [spec.name for spec in interface.inputs]
    if len(set(names)) < len(names):
        raise damage("two inputs have the same name")
    if not set(interface.values) <= set(names):
        raise damage("elements are lengths of what is no input")
    rows = rows_of(interface.inputs, interface.values)
    first = interface.programs[0]
    for each in interface.programs:
        if each.lengths is None:
            raise damage("a program has no lengths")
        for own, specs in ((interface.taken, each.inputs), (interface.outputs, each.outputs)):
            if [(t.name, t.dtype) for t in own] != [(t.name, t.dtype) for t in specs]:
                raise damage("a program has other inputs or outputs than the model")
        lengths = each.lengths
        ranks = [len(t.shape) for t in each.inputs] + [
            len(t.dims or ()) for t in rows[len(each.inputs) :]
        ]
        for wanted, shapes in (
            (ranks, lengths.inputs),
            ([len(t.shape) for t in each.outputs], lengths.outputs),
        ):
            if wanted != [len(shape) for shape in shapes]:
                raise damage("the lengths of a program are those of other tensors")
        for spec, shape in zip(rows, lengths.inputs, strict=True):
            if spec.dims is None or len(spec.dims) != len(shape):
                raise damage(f"the dimensions of '{spec.name}' are not those of a program")
        if (each.threads, each.profiled) != (first.threads, first.profiled):
            raise damage("its programs are for different numbers of threads")


def _tensor(data: object) -> OpenTensor:
    given = Fields(data)
    name, dims = given.text("name"), given.listed("dims")
    known = tuple(
        each if isinstance(each, str) else whole_number(f"a dimension of '{name}'", each)
        for each in dims
    )
    return OpenTensor(name, known, dtype_named(name, given.text("dtype")))


def _range(name: str, data: object) -> tuple[int, int]:
    ends = cast(list[object], checked(f"the range of '{name}'", data, list))
    if len(ends) != 2:
        raise damage(f"the range of '{name}' has {len(ends)} ends")
    least, most = (whole_number(f"the range of '{name}'", each) for each in ends)
    return least, most


RESERVED = frozenset(
    [
        "inputs",
        "outputs",
        "constants",
        "workspace",
        "team",
        "threads",
        "number",
        "int32_t",
        "int64_t",
        "size_t",
        "alignas",
        "alignof",
        "and",
        "and_eq",
        "asm",
        "auto",
        "bitand",
        "bitor",
        "bool",
        "break",
        "case",
        "catch",
        "char",
        "class",
        "compl",
        "concept",
        "const",
        "const_cast",
        "consteval",
        "constexpr",
        "constinit",
        "continue",
        "co_await",
        "co_return",
        "co_yield",
        "decltype",
        "default",
        "delete",
        "do",
        "double",
        "dynamic_cast",
        "else",
        "enum",
        "explicit",
        "export",
        "extern",
        "false",
        "float",
        "for",
        "friend",
        "goto",
        "if",
        "inline",
        "int",
        "long",
        "mutable",
        "namespace",
        "new",
        "noexcept",
        "not",
        "not_eq",
        "nullptr",
        "operator",
        "or",
        "or_eq",
        "private",
        "protected",
        "public",
        "register",
        "reinterpret_cast",
        "requires",
        "restrict",
        "return",
        "short",
        "signed",
        "sizeof",
        "static",
        "static_assert",
        "static_cast",
        "struct",
        "switch",
        "template",
        "this",
        "thread_local",
        "throw",
        "true",
        "try",
        "typedef",
        "typeid",
        "typename",
        "typeof",
        "typeof_unqual",
        "union",
        "unsigned",
        "using",
        "virtual",
        "void",
        "volatile",
        "wchar_t",
        "while",
        "xor",
        "xor_eq",
        "linux",
        "unix",
    ]
)
"""Names that mean something else in C, in C++ and in the header."""


def _argument(name: str, used: set[str]) -> str:
    """An identifier of C for a dimension, which is in use from now on."""
    text = re.sub(r"\W", "_", name.removesuffix("]"), flags=re.ASCII)
    if not text[0].isalpha():
        # Of names with _ in front many are C's own.
        text = f"n{text}" if text[0] == "_" else f"n_{text}"
    chosen, number = text, 2
    while chosen in used:
        chosen, number = f"{text}_{number}", number + 1
    used.add(chosen)
    return chosen
