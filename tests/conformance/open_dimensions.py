"""
The operators of ONNX's backend suite with open dimensions: whether one program serves all lengths.

    python tests/conformance/open_dimensions.py [--only REGEX] [--every N] [--jobs N] [--verbose]

Of a case of one operator, all dimensions of inputs that have the same length become one that is open, as they may
depend on each other: `conv:5` is the case `conv` with its dimensions of length 5. It runs with the lengths that it has, then
with others, also 1 and 0, where ONNX's reference evaluator takes them, as far as they make sense to xrelay. A variant passes when the results
are those of the evaluator, and of one program; one that runs at no other length does not count. `open_dimensions.toml` beside this file lists with reasons which do not; the exit code is 1
when one fails that is not listed, and when one that is listed passes.
"""

import argparse
import re
import sys
import tomllib
import warnings
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import numpy as np
from onnx import ModelProto
from onnx.backend.test.loader import load_model_tests
from onnx.reference import ReferenceEvaluator
from xdsl.utils.exceptions import DiagnosticException

import xrelay
from xrelay.interpreters.arrays import Array
from xrelay.runtime.dynamic import DynamicModel
from xrelay.runtime.staged import StagedModel

LISTS = Path(__file__).with_name("open_dimensions.toml")
RANDOM = ("Bernoulli", "Dropout")
ELEMENTS = 16
"""Vectors of 64-bit integers up to this length are shapes, axes and the like: other lengths of them make no sense."""


@dataclass(frozen=True)
class Case:
    """An operator of the suite with its inputs."""

    name: str
    model: ModelProto
    inputs: Mapping[str, Array]

    @property
    def sizes(self) -> list[int]:
        """The lengths that dimensions of inputs have."""
        return sorted({size for each in self.inputs.values() for size in open_shape(each)})

    def opened(self, size: int) -> ModelProto:
        """The model with open dimensions for those of a length."""
        model = ModelProto()
        model.CopyFrom(self.model)
        for value in model.graph.input:
            for dim, length in zip(
                value.type.tensor_type.shape.dim, open_shape(self.inputs[value.name]), strict=False
            ):
                if length == size:
                    dim.dim_param = "n"
        for value in model.graph.output:
            value.type.tensor_type.ClearField("shape")
        del model.graph.value_info[:]
        return model

    def with_length(self, size: int, length: int) -> dict[str, Array]:
        """The inputs with another length instead; elements come again where there are more."""
        return {
            name: np.resize(each, [length if axis == size else axis for axis in each.shape])
            if open_shape(each) and each.size
            else each
            for name, each in self.inputs.items()
        }


def open_shape(array: Array) -> tuple[int, ...]:
    """The dimensions of an input that may be opened."""
    is_list = array.ndim == 1 and array.dtype == np.int64 and array.size <= ELEMENTS
    return () if is_list else array.shape


def cases() -> Iterator[Case]:
    """The operators that take and give tensors of numbers."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = load_model_tests(kind="node")
    for case in sorted(found, key=lambda each: each.name):
        model, data_sets = case.model, cast(Any, case.data_sets)
        if model is None:
            continue
        inputs, graph = cast(Sequence[Any], data_sets[0][0]), model.graph
        tensors = all(each.type.HasField("tensor_type") for each in (*graph.input, *graph.output))
        if not tensors or "_expanded" in case.name or graph.node[0].op_type in RANDOM:
            continue
        if not all(isinstance(each, np.ndarray) for each in inputs):
            continue
        arrays = cast(Sequence[Array], inputs)
        if all(each.dtype.kind in "fiub" for each in arrays):
            named = dict(zip((each.name for each in graph.input), arrays, strict=False))
            yield Case(case.name.removeprefix("test_"), model, named)


def variants(only: str, every: int) -> list[str]:
    """The names of variants, as `conv:5`."""
    names = [f"{case.name}:{size}" for case in cases() for size in case.sizes]
    return [name for name in names if re.search(only, name)][::every]


def evaluated(model: ModelProto, inputs: Mapping[str, Array]) -> list[Array] | None:
    """The results of the reference evaluator; None for inputs that it does not take, and for results that are no arrays."""
    try:
        evaluator: Any = ReferenceEvaluator(model)
        found = evaluator.run(None, dict(inputs))
    except Exception:  # noqa: BLE001 it lacks operators, and raises whatever NumPy does
        return None
    if not all(isinstance(each, np.ndarray | np.generic) for each in found):
        return None
    return [np.asarray(each) for each in found]


class Untried(Exception):
    """The evaluator does not take a variant, or no other length makes sense to both."""


def problem_of(case: Case, size: int) -> str | None:
    """What does not hold of a variant. Raises Untried for one that says nothing."""
    model = case.opened(size)
    lengths = [size, size + 1, 2 * size, size + 3, 1, 0]
    given: dict[int, tuple[dict[str, Array], list[Array]]] = {}
    for length in dict.fromkeys(lengths):
        inputs = case.with_length(size, length)
        wanted = evaluated(model, inputs)
        if wanted is not None:
            given[length] = inputs, wanted
    if size not in given:
        raise Untried
    try:
        compiled = xrelay.compile(model, cache=False)
        compiled.run(given[size][0])
    except DiagnosticException as error:
        return f"is refused: {' '.join(str(error).split())[:300]}"
    programs, tried = 0, 0
    for length, (inputs, wanted) in given.items():
        try:
            results = compiled.run(inputs)
        except DiagnosticException:
            continue  # The evaluator takes lengths that do not fit together, too.
        tried += 1
        for found, expected in zip(results.values(), wanted, strict=True):
            tolerance = 1e-2 if expected.dtype.itemsize == 2 else 1e-4
            same = found.shape == expected.shape and np.allclose(
                found, expected, tolerance, tolerance, equal_nan=True
            )
            if not same:
                return f"gives other results for {length}"
        if isinstance(compiled, DynamicModel | StagedModel):
            now = programs_of(compiled)
            if programs and now > programs:
                return f"takes another program for {length}"
            programs = now
    if tried < 2:
        raise Untried
    return None


def programs_of(model: DynamicModel | StagedModel) -> int:
    """How many programs a model has compiled."""
    conditions = [each.conditions for each in model.specialisations]
    return len({each for each in conditions if each is not None}) + conditions.count(None)


def outcomes(names: Sequence[str]) -> list[tuple[str, str | None]]:
    """Variants that say something, with what does not hold of them."""
    wanted = Counter(name.rpartition(":")[0] for name in names)
    found = {case.name: case for case in cases() if case.name in wanted}
    tried: list[tuple[str, str | None]] = []
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        for variant in names:
            name, _, size = variant.rpartition(":")
            with suppress(Untried):
                tried.append((variant, problem_of(found[name], int(size))))
    return tried


def listed() -> dict[str, str]:
    """The variants that do not pass, with the reasons."""
    groups = tomllib.loads(LISTS.read_text())["more"]
    return {name: group["reason"] for group in groups for name in group["cases"]}


def disagreements(found: Sequence[tuple[str, str | None]]) -> list[str]:
    """What the lists say otherwise."""
    known = listed()
    return [
        f"{name} passes, but is listed" if problem is None else f"{name} {problem}"
        for name, problem in found
        if (problem is None) == (name in known)
    ]


def main() -> int:
    """Runs the variants, and says what does not agree with the lists."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="", help="a regular expression for names of variants")
    parser.add_argument("--every", type=int, default=1, help="take each N-th of them")
    parser.add_argument("--jobs", type=int, default=1, help="how many processes share them")
    parser.add_argument("--verbose", action="store_true", help="print every outcome")
    options = parser.parse_args()
    names = variants(options.only, options.every)
    parts = [names[start :: options.jobs] for start in range(options.jobs)]
    with ProcessPoolExecutor(options.jobs) as pool:
        found = [each for part in pool.map(outcomes, parts) for each in part]
    if options.verbose:
        print(*(f"{name} {problem or 'passes'}" for name, problem in sorted(found)), sep="\n")
    problems = disagreements(found)
    print(*problems, sep="\n")
    print(
        f"{len(found)} variants of {len(names)} were tried, {sum(problem is None for _, problem in found)} pass"
    )
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
