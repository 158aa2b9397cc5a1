"""What tests of operators with open lengths share: models, how their inputs are made, and the comparison with onnxruntime."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import onnxruntime
from onnx import ModelProto, numpy_helper
from onnx_models import model_of

import xrelay
from xrelay.interpreters.arrays import Array
from xrelay.runtime.dynamic import DynamicModel

Random = np.random.Generator
Sizes = Mapping[str, int]
Make = Callable[[Random, Sizes, Sequence[int]], Array]
"""An input of some shape, made at some lengths."""


def reals(random: Random, sizes: Sizes, shape: Sequence[int]) -> Array:
    """Numbers around 0."""
    return random.standard_normal(shape, np.float32)


def parts(random: Random, sizes: Sizes, shape: Sequence[int]) -> Array:
    """Numbers between 0 and 1."""
    return random.random(shape, np.float32)


def boxes(random: Random, sizes: Sizes, shape: Sequence[int]) -> Array:
    """Two corners of each box."""
    first = random.uniform(0, 50, (*shape[:-1], 2))
    last = first + random.uniform(1, 30, first.shape)
    return np.concatenate([first, last], -1).astype(np.float32)


def below(limit: str | int, dtype: type = np.int64) -> Make:
    """Whole numbers that are not negative, below a length."""

    def make(random: Random, sizes: Sizes, shape: Sequence[int]) -> Array:
        return random.integers(0, sizes.get(str(limit), limit), shape, dtype)

    return make


def counts(limit: str) -> Make:
    """Whole numbers from 1 to a length."""
    return lambda random, sizes, shape: random.integers(1, sizes[limit] + 1, shape, np.int32)


def leading(random: Random, sizes: Sizes, shape: Sequence[int]) -> Array:
    """A mask of tokens: the first ones of each row count."""
    lengths = random.integers(1, shape[-1] + 1, (*shape[:-1], 1))
    return (np.arange(shape[-1]) < lengths).astype(np.int32)


@dataclass(frozen=True)
class Case:
    """A model, how its inputs are made where they are no reals, and lengths."""

    model: ModelProto
    inputs: Mapping[str, Make]
    sizes: Sequence[Sizes]


def sizes(names: str, *lengths: tuple[int, ...]) -> list[dict[str, int]]:
    """Lengths by their names."""
    return [dict(zip(names.split(), each, strict=True)) for each in lengths]


IMAGES = sizes("b h w", (2, 20, 30), (3, 9, 8), (2, 17, 33), (4, 18, 31), (2, 19, 32))
ROWS = sizes("b n", (2, 20), (3, 33), (2, 100), (4, 7), (2, 5000), (3, 15), (2, 16), (2, 17))


def at_opset(version: int, model: ModelProto) -> ModelProto:
    """A model, in an operator set of ONNX, with a zero point of bytes, and places in lists."""
    model.opset_import[0].version = version
    constants = {"zero": np.array(117, np.uint8)}
    constants |= {name: np.array([i]) for i, name in enumerate(("nought", "one", "two"))}
    used = {name for node in model.graph.node for name in node.input}
    for name in sorted(constants.keys() & used):
        model.graph.initializer.append(numpy_helper.from_array(constants[name], name))
    return model


def written(rows: Mapping[str, tuple[Any, ...]]) -> dict[str, Case]:
    """Models by their graphs as text, what makes their inputs, lengths, operator sets, and shapes of weights."""
    return {
        name: Case(at_opset(opset, model_of(f"model {text}", **weights)), inputs, lengths)
        for name, (text, inputs, lengths, opset, weights) in rows.items()
    }


def check(case: Case) -> None:
    """One program gives what onnxruntime gives at all lengths."""
    random = np.random.default_rng(1)
    oracle = onnxruntime.InferenceSession(case.model.SerializeToString())
    model = xrelay.compile(case.model, cache=False)
    assert isinstance(model, DynamicModel)
    constants = {each.name for each in case.model.graph.initializer}
    for lengths in case.sizes:
        given: dict[str, Array] = {}
        for value in case.model.graph.input:
            if value.name in constants:
                continue
            dims = value.type.tensor_type.shape.dim
            shape = [lengths.get(dim.dim_param, dim.dim_value) for dim in dims]
            given[value.name] = case.inputs.get(value.name, reals)(random, lengths, shape)
        for found, wanted in zip(model.run(given).values(), oracle.run(None, given), strict=True):
            assert (found.shape, found.dtype) == (wanted.shape, wanted.dtype)
            np.testing.assert_allclose(found, wanted, 1e-4, 1e-4, err_msg=str(lengths))
    conditions = {each.conditions for each in model.specialisations}
    assert len(conditions) == 1 and None not in conditions
