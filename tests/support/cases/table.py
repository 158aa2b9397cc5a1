"""Tables of cases: functions that fill a graph with uses of operators (tests/execution/test_kernels.py)."""

from collections.abc import Callable, Iterable, Sequence
from itertools import product
from typing import Any, TypeAlias

import pytest
from _pytest.mark import ParameterSet
from graphs import Graph
from vector_functions import targets_here
from xdsl.ir import Operation

Case: TypeAlias = Callable[[Graph], None]


class CaseTable:
    """Cases by name, and the operators that they are about."""

    def __init__(self):
        self.cases: dict[str, Case] = {}
        self.covered: set[type[Operation]] = set()

    def case(self, *ops: type[Operation]) -> Callable[[Case], Case]:
        """Registers a case."""

        def register(build: Case) -> Case:
            self.covered.update(ops)
            self.cases[build.__name__] = build
            return build

        return register

    def each(
        self, ops: Sequence[type[Operation]], values: Sequence[Any]
    ) -> Callable[[Callable[..., None]], Callable[..., None]]:
        """Registers a case for each of `values`, which `build` gets as its second argument."""

        def register(build: Callable[..., None]) -> Callable[..., None]:
            self.covered.update(ops)
            for value in values:
                name = value.__name__ if isinstance(value, type) else str(value)
                self.cases[f"{build.__name__}-{name}"] = lambda g, value=value: build(g, value)
            return build

        return register


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
