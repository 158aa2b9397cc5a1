"""
Random ONNX graphs whose dimensions are open, and that make sense at several lengths.

    calls     n = 3, s = 32    n = 1, s = 7    …
    (n, s)    ((3, 1, …), (32, 7, …))      a shape: each dimension is what it is in every call

Dimensions that are equal in all calls count as equal. So an operator's rule for shapes is that of numbers, call by call.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from math import prod
from operator import add, mul
from random import Random
from typing import Any, TypeAlias

import numpy as np
from onnx import ModelProto, NodeProto, ValueInfoProto, helper, numpy_helper

from tests.fuzz.onnx.oracle import IR_VERSION
from tests.fuzz.onnx.values import Array

Dim: TypeAlias = tuple[int, ...]
"""A dimension in each of the calls."""
Shape: TypeAlias = tuple[Dim, ...]

LENGTHS = (1, 2, 2, 3, 4, 5, 7, 8, 15, 16, 17, 31, 32, 33, 64, 100)
"""Of dimensions: those that are peculiar, and those around whole vectors and tiles."""
PROBES = ({"n": 7, "s": 13, "t": 19}, {"n": 23, "s": 5, "t": 11})
"""Lengths beside those of the calls, which tell dimensions apart."""
MOST_ELEMENTS = 60_000
"""In one tensor in a call."""


class Unfit(Exception):
    """A template cannot make a node here."""


@dataclass(frozen=True, eq=False)
class Tensor:
    """A value of the graph."""

    name: str
    dtype: str
    shape: Shape

    @property
    def rank(self) -> int:
        """The number of its axes."""
        return len(self.shape)


def is_static(dim: Dim) -> bool:
    """Whether a dimension is the same number in all calls."""
    return len(set(dim)) == 1


def each_call(code: Callable[..., int], *dims: Dim) -> Dim:
    """A function of dimensions."""
    return tuple(code(*numbers) for numbers in zip(*dims, strict=True))


class OpenGrowth:
    """A graph that grows."""

    def __init__(self, rng: Random, opset: int, calls: int):
        self.rng, self.opset = rng, opset
        self.calls = [{name: rng.choice(LENGTHS) for name in "nst"} for _ in range(calls)]
        self.nodes: list[NodeProto] = []
        self.tensors: list[Tensor] = []
        """All that nodes can use, the newest last."""
        self.inputs: list[tuple[Tensor, list[int | str]]] = []
        """With their dimensions in the model."""
        self.constants: list[tuple[str, Array]] = []
        self.used: set[str] = set()
        self._names = 0

    def symbol(self, name: str) -> Dim:
        """An open dimension of the model."""
        return tuple(call[name] for call in (*self.calls, *PROBES))

    def number(self, value: int) -> Dim:
        """A dimension that is the same in all calls."""
        return (value,) * (len(self.calls) + len(PROBES))

    def chance(self, share: float) -> bool:
        """True in that share of cases."""
        return self.rng.random() < share

    def axis(self, tensor: Tensor, condition: Callable[[Dim], bool] = lambda dim: True) -> int:
        """An axis of a tensor. Raises Unfit when none fits."""
        fitting = [axis for axis, dim in enumerate(tensor.shape) if condition(dim)]
        if not fitting:
            raise Unfit("no axis fits")
        return self.rng.choice(fitting)

    def pick(self, dtypes: Sequence[str] = ("float32",), ranks: Sequence[int] = range(6)) -> Tensor:
        """A tensor of the graph, in most cases one that nothing uses yet."""
        fitting = [each for each in self.tensors if each.dtype in dtypes and each.rank in ranks]
        if not fitting:
            raise Unfit("no tensor fits")
        unused = [each for each in fitting if each.name not in self.used]
        return self.rng.choice(unused[-4:] if unused and self.chance(0.6) else fitting)

    # -- making -----------------------------------------------------------------------------------

    def name(self, prefix: str) -> str:
        """A name that nothing has."""
        self._names += 1
        return f"{prefix}{self._names}"

    def input(self, dtype: str, dims: Sequence[int | str]) -> Tensor:
        """A new input of the graph."""
        shape = tuple(self.symbol(d) if isinstance(d, str) else self.number(d) for d in dims)
        tensor = Tensor(self.name("x"), dtype, shape)
        self.inputs.append((tensor, list(dims)))
        self.tensors.append(tensor)
        return tensor

    def constant(self, array: Any) -> str:
        """The name of a new constant."""
        name = self.name("c")
        self.constants.append((name, np.asarray(array)))
        return name

    def longs(self, *values: int) -> str:
        """A constant vector of int64."""
        return self.constant(np.array(values, np.int64))

    def weight(self, *shape: int) -> str:
        """Random moderate numbers."""
        numbers = np.random.default_rng(self.rng.getrandbits(63))
        scale = 1 / max(1.0, prod(shape[1:])) ** 0.5
        return self.constant((scale * numbers.standard_normal(shape)).astype(np.float32))

    def hidden(self, op: str, *inputs: Tensor | str, **attributes: Any) -> str:
        """The name of the result of a new node, which other templates do not use."""
        names = [each if isinstance(each, str) else each.name for each in inputs]
        self.used.update(names)
        name = self.name("v")
        self.nodes.append(helper.make_node(op, names, [name], name, **attributes))
        return name

    def add(
        self, op: str, inputs: Sequence[Tensor | str], dtype: str, shape: Shape, **attributes: Any
    ) -> Tensor:
        """
        A new node with its result. Raises Unfit for one that is too large, and mostly for one that is
        empty in calls.
        """
        sizes = each_call(lambda *lengths: prod(lengths), self.number(1), *shape)
        if max(sizes) > MOST_ELEMENTS or len(shape) > 5:
            raise Unfit("too many elements")
        if min(min(dim) for dim in (*shape, self.number(1))) < (0 if self.chance(0.05) else 1):
            raise Unfit("no elements")
        tensor = Tensor(self.hidden(op, *inputs, **attributes), dtype, shape)
        self.tensors.append(tensor)
        return tensor

    def try_template(self, template: Callable[["OpenGrowth"], object]) -> None:
        """Adds what a template makes, or nothing."""
        before = len(self.nodes), len(self.constants), len(self.tensors), len(self.inputs)
        used = set(self.used)
        try:
            template(self)
        except Unfit:
            for made, count in zip(
                (self.nodes, self.constants, self.tensors, self.inputs), before, strict=True
            ):
                del made[count:]
            self.used = used

    # -- dimensions as values ---------------------------------------------------------------------

    def dimensions(self) -> Iterator[tuple[Dim, Tensor, int]]:
        """The dimensions of all tensors, and where they are."""
        for tensor in self.tensors:
            for axis, dim in enumerate(tensor.shape):
                yield dim, tensor, axis

    def length(self, dim: Dim) -> str:
        """A vector of one element, the dimension, as exporters compute it. Raises Unfit when there is no way."""
        if is_static(dim):
            return self.longs(dim[0])
        known = list(self.dimensions())
        places = [(tensor, axis) for each, tensor, axis in known if each == dim]
        if places:
            return self._read(*self.rng.choice(places))
        pairs = [
            (op, left, right)
            for op, code in (("Mul", mul), ("Add", add))
            for left in dict.fromkeys(each for each, _, _ in known)
            for right in dict.fromkeys(each for each, _, _ in known)
            if each_call(code, left, right) == dim
        ]
        if not pairs:
            raise Unfit("nothing is so long")
        op, left, right = self.rng.choice(pairs)
        return self.hidden(op, self.length(left), self.length(right))

    def _read(self, tensor: Tensor, axis: int) -> str:
        """The length of an axis, one of the ways that exporters write."""
        way = self.rng.randrange(4)
        if way == 0 and self.opset >= 15:
            return self.hidden("Shape", tensor, start=axis, end=axis + 1)
        shape = self.hidden("Shape", tensor)
        if way == 1:
            ends = self.longs(axis), self.longs(axis + 1), self.longs(0)
            return self.hidden("Slice", shape, *ends)
        if way == 2:
            return self.hidden("Gather", shape, self.longs(axis - tensor.rank))
        scalar = self.hidden("Gather", shape, self.constant(np.array(axis)))
        if self.chance(0.3):
            scalar = self.hidden("Cast", self.hidden("Cast", scalar, to=6), to=7)
        return self.hidden("Unsqueeze", scalar, self.longs(0))

    def shape_vector(self, shape: Shape) -> str:
        """A shape as a vector."""
        return self.hidden("Concat", *map(self.length, shape), axis=0) if shape else self.longs()

    # -- the whole --------------------------------------------------------------------------------

    def model(self) -> ModelProto:
        """The graph as a model. What nothing uses is an output."""
        shown = [each for each in self.tensors if each.name not in self.used]
        constants = [numpy_helper.from_array(array, name) for name, array in self.constants]
        graph = helper.make_graph(
            self.nodes,
            "graph",
            [_value(each.name, each.dtype, dims) for each, dims in self.inputs],
            [_value(each.name, each.dtype, [None] * each.rank) for each in shown],
            [each for each in constants if each.name in self.used],
        )
        opsets = [helper.make_opsetid("", self.opset)]
        return helper.make_model(graph, opset_imports=opsets, ir_version=IR_VERSION)


def _value(name: str, dtype: str, dims: Sequence[int | str | None]) -> ValueInfoProto:
    code = helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
    return helper.make_tensor_value_info(name, code, dims)
