"""Whether two programs mean the same: the interpreter runs them, and `roundings.py` weighs how results differ."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Attribute
from xdsl.passes import ModulePass
from xdsl.utils.exceptions import InterpretationError, VerifyException

from tests.fuzz.fuzzer import Difference
from tests.fuzz.onnx.values import Array
from tests.fuzz.roundings import noisy_results, unexplained
from xrelay.analysis.facts.ports import entry_function
from xrelay.dialects.type_relations import tells
from xrelay.interpreters.relay import interpret
from xrelay.tools.semantics import leaves

Inputs = Sequence[Any]


@dataclass(eq=False)
class Meaning:
    """What a program gives on some inputs, computed when somebody asks."""

    module: ModuleOp
    inputs: Sequence[Inputs]
    results: dict[int, list[Array]] = field(default_factory=dict[int, list[Array]])
    """By the number of the inputs."""

    def result(self, number: int) -> list[Array]:
        """The results on some of the inputs."""
        if number not in self.results:
            self.results[number] = results_of(self.module, self.inputs[number])
        return self.results[number]

    def require_same(
        self, step: ModulePass, after: ModuleOp, wanted: Iterable[int] | None = None
    ) -> None:
        """
        Raises Difference unless what a pass makes of the program verifies, and means the same: on the inputs of
        these numbers, or on all.
        """
        name = step.name
        try:
            after.verify()
        except VerifyException as error:
            raise Difference(f"{name}: the program does not verify\n{error}") from error
        stated, found = (signature(each) for each in (self.module, after))
        if len(found) != len(stated) or not all(map(tells, found, stated)):
            raise Difference(f"{name}: @main has another type")
        for number in range(len(self.inputs)) if wanted is None else wanted:
            expected = self.result(number)
            try:
                problem = self.change(after, number, expected)
            except InterpretationError as error:
                raise Difference(f"{name}: the program cannot be interpreted\n{error}") from error
            if problem is not None:
                spec = step.pipeline_pass_spec()
                raise Difference(f"{name}: a result changes\n{spec}, inputs {number}: {problem}")

    def change(self, after: ModuleOp, number: int, expected: Sequence[Array]) -> str | None:
        """The first result on some of the inputs that another program computes otherwise."""
        inputs = self.inputs[number]
        found = results_of(after, inputs)
        for place, mask in unexplained(found, expected, partial(noisy_leaves, self.module, inputs)):
            index = tuple(np.argwhere(mask)[0].tolist())
            return (
                f"result {place}, {int(mask.sum())} of {mask.size} elements, at {list(index)}: "
                f"{found[place][index]!r}, before {expected[place][index]!r}"
            )
        return None


def same_program(one: ModuleOp, other: ModuleOp) -> bool:
    """Whether two programs are equal, the types of results included, of which structural equivalence says nothing."""
    return one.is_structurally_equivalent(other) and all(
        each.result_types == same.result_types
        for each, same in zip(one.walk(), other.walk(), strict=True)
    )


def signature(module: ModuleOp) -> list[Attribute]:
    """The types of the parameters and results of the main function."""
    type_ = entry_function(module).function_type
    return [*type_.inputs, *type_.outputs]


def results_of(module: ModuleOp, inputs: Inputs) -> list[Array]:
    """What the main function gives, tuples flattened."""
    with np.errstate(all="ignore"):
        results = interpret(module, tuple(inputs), entry_function(module).sym_name.data)
    return [array for value in results for array in leaves(value)]


def noisy_leaves(module: ModuleOp, inputs: Inputs, noise: Any) -> list[Array]:
    """What `results_of` gives when operations have errors."""
    with np.errstate(all="ignore"):
        return [array for value in noisy_results(module, inputs, noise) for array in leaves(value)]
