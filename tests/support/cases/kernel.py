"""
Tables of cases of compiled kernels: functions that fill a graph with uses of operators, for
`tests/execution`, which compares what is compiled with the NumPy interpreter.
"""

import re
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import Any, TypeAlias, TypeVar
from zlib import crc32

import pytest
from _pytest.mark import ParameterSet
from graphs import Graph
from vector_functions import targets_here
from xdsl.ir import Operation

Case: TypeAlias = Callable[[Graph], None]
T = TypeVar("T")

FLOATS = ("bfloat16", "float16", "float32", "float64")
SIGNED = ("int8", "int16", "int32", "int64")
UNSIGNED = ("uint8", "uint16", "uint32", "uint64")
INTEGERS = (*SIGNED, *UNSIGNED)
DTYPES = (*FLOATS, *INTEGERS, "bool")
SHAPES = ((), (0,), (1,), (7,), (17,), (33,), (3, 5, 7), (2, 0, 3), (2, 1, 16))
LIKE = {
    "bfloat16": ("float16",),
    "float64": ("float16", "float32", "int64"),
    "int16": ("int8", "int32"),
    "int32": ("int8", "int64"),
    "uint16": ("uint8",),
    "uint32": ("int32", "uint64"),
    "uint64": ("int64", "uint8"),
}
"""
Types whose kernels differ from those of others by nothing but the name of the type and its conversion: of integers the
code generator asks for signs, and for widths below 32 bits, of 32 and of 64; of floats for 16 bits. Cases of functions
of real numbers, whose code for f64 is its own, are not for integers.
"""
ABOUT_WIDTHS = re.compile(
    "arange|cast|clip|dense|gather|layout|one_hot|permutations|reinterpret|reverse|scans|topk|transpos"
)
"""
Cases of what depends on the width all the same: conversions, indices and what is computed of them, lanes that change
places, and tiles of as many lanes as fit.
"""


def repeats_another(name: str, cases: Collection[str]) -> bool:
    """Whether a case does for a dtype what others in `cases` do for ones that are no different."""
    family, _, dtype = name.rpartition("-")
    others = [f"{family}-{other}" for other in LIKE.get(dtype, ())]
    return bool(others) and not ABOUT_WIDTHS.search(family) and all(map(cases.__contains__, others))


def extensive_repeats(name: str, cases: Collection[str]) -> list[pytest.MarkDecorator]:
    """The marks of a case: those that repeat others are extensive."""
    return [pytest.mark.extensive] if repeats_another(name, cases) else []


def share(dtype: str, cases: Iterable[T], count: int = 2) -> list[T]:
    """
    All cases for f32, of so many one for each other dtype: what shapes and options decide does not depend on it, and
    together the dtypes have them all.
    """
    found = list(cases)
    return found if dtype == "float32" else found[turn(dtype, count) :: count]


def turn(name: str, count: int) -> int:
    """
    Whose turn it is, of so many, to have a case. It follows from the name alone, so that other cases
    change nothing, and a dtype does not always come to the same one.
    """
    return crc32(name.encode()) % count


def in_turn(cases: Iterable[object], *, others: bool = False) -> list[ParameterSet]:
    """
    Each case with a target whose code runs here, which take turns, or with all the `others` where there are some; what
    remains is extensive.
    """
    targets = targets_here()
    others = others and len(targets) > 1
    return [
        pytest.param(
            case, target, marks=() if (i % len(targets) == j) != others else pytest.mark.extensive
        )
        for (i, case), (j, target) in product(enumerate(cases), enumerate(targets))
    ]


@dataclass(eq=False)
class CaseTable:
    """Cases by name, and the operators that they are about."""

    cases: dict[str, Case] = field(default_factory=dict[str, Case])
    covered: set[type[Operation]] = field(default_factory=set[type[Operation]])

    def case(self, *ops: type[Operation]) -> Callable[[Case], Case]:
        """Registers a case, and the operators that it is about."""

        def register(build: Case) -> Case:
            self.covered.update(ops)
            self.cases[build.__name__] = build
            return build

        return register

    def each(
        self, ops: Sequence[type[Operation]], values: Sequence[Any]
    ) -> Callable[[Callable[[Graph, Any], None]], Callable[[Graph, Any], None]]:
        """Registers a case for each of `values`, which `build` gets as its second argument."""

        def register(build: Callable[[Graph, Any], None]) -> Callable[[Graph, Any], None]:
            self.covered.update(ops)
            for value in values:
                name = value.__name__ if isinstance(value, type) else str(value)
                self.cases[f"{build.__name__}-{name}"] = lambda g, value=value: build(g, value)
            return build

        return register
