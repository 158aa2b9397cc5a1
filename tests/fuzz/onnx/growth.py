"""
Random ONNX graphs that grow node by node.

A `Growth` holds the tensors that there are so far with their values: each node is run in an outside engine
as it is added, so that templates can choose operands by what they hold (a range of indices, numbers that
are not negative), results have the types that ONNX gives them, and what is no legal node is dropped.

nnsmith, the published generator of random models, is not used: its last version (0.1.0) is of March 2023,
it writes ONNX by way of torch.onnx, so that it never makes an operator that torch does not export, knows
fewer than 90 operators, and needs torch and z3.
"""

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from onnx import GraphProto, NodeProto, defs, helper, numpy_helper

from tests.fuzz.onnx.oracle import NoOracle, run_node
from tests.fuzz.onnx.values import (
    DTYPES,
    MOST_ELEMENTS,
    RARE,
    Array,
    is_float,
    random_array,
    random_shape,
)

WITHOUT_SCHEMA = ("SimplifiedLayerNormalization",)
"""What onnxruntime knows beyond ONNX."""


class Unfit(Exception):
    """A template cannot make a node here: the operator set lacks it, or no tensor fits."""


@dataclass(frozen=True, eq=False)
class Tensor:
    """A value of the graph."""

    name: str
    array: Array

    @property
    def shape(self) -> tuple[int, ...]:
        """The lengths of its axes."""
        return self.array.shape

    @property
    def rank(self) -> int:
        """The number of its axes."""
        return self.array.ndim

    @property
    def dtype(self) -> np.dtype[Any]:
        """Of its elements."""
        return self.array.dtype


Operand = Tensor | Array | None
"""A value of the graph, a constant that is made of an array, or nothing."""
Condition = Callable[[Array], bool]


@cache
def schema_of(op: str, opset: int) -> defs.OpSchema:
    """
    The operator as an operator set has it.

    Raises Unfit when it does not.
    """
    try:
        schema = defs.get_schema(op, opset)
    except defs.SchemaError as error:
        raise Unfit(f"operator set {opset} has no {op}") from error
    if schema.deprecated:
        raise Unfit(f"{op} is deprecated in operator set {opset}")
    return schema


@cache
def allowed_dtypes(op: str, opset: int, name: str) -> tuple[str, ...]:
    """The dtypes that an input can have, of those that are drawn from; the usual more often."""
    schema = schema_of(op, opset)
    (formal,) = (each for each in schema.inputs if each.name == name)
    types: dict[str, Sequence[str]] = {
        each.type_param_str: each.allowed_type_strs for each in schema.type_constraints
    }
    allowed = {_dtype_name(each) for each in types.get(formal.type_str, [formal.type_str])}
    return tuple(each for each in DTYPES + RARE if each in allowed)


def _dtype_name(text: str) -> str:
    """`float32` for `tensor(float)`."""
    name = text.removeprefix("tensor(").removesuffix(")")
    return {"float": "float32", "double": "float64"}.get(name, name)


class Growth:
    """A graph that grows."""

    def __init__(self, rng: random.Random, opset: int):
        self.rng = rng
        self.opset = opset
        self.nodes: list[NodeProto] = []
        self.tensors: list[Tensor] = []
        """All that nodes can use, the newest last."""
        self.used: set[str] = set()
        self.inputs: list[Tensor] = []
        self.constants: list[Tensor] = []
        self._pending: tuple[list[Tensor], list[Tensor]] = ([], [])
        """Inputs and constants of the node under construction."""
        self._names = 0

    # -- choices ------------------------------------------------------------------------------

    def chance(self, share: float) -> bool:
        """True in that share of cases."""
        return self.rng.random() < share

    def choice(self, *options: Any) -> Any:
        """One of some things."""
        return self.rng.choice(options)

    def axis(self, rank: int) -> int:
        """An axis, counted from either end."""
        if not rank:
            raise Unfit("there is no axis")
        return self.rng.randrange(-rank, rank)

    def axes(self, rank: int, least: int = 1) -> list[int]:
        """Several axes in any order, each at most once, counted from either end."""
        if rank < least:
            raise Unfit("there are too few axes")
        chosen = self.rng.sample(range(rank), self.rng.randint(least, rank))
        return [axis - rank if self.chance(0.3) else axis for axis in chosen]

    # -- operands -----------------------------------------------------------------------------

    def name(self, prefix: str) -> str:
        """A name that nothing has."""
        self._names += 1
        return f"{prefix}{self._names}"

    def leaf(self, array: Array, constant: float = 0.3) -> Tensor:
        """A new input, or in some share of cases a constant."""
        is_constant = self.chance(constant)
        tensor = Tensor(self.name("c" if is_constant else "x"), np.asarray(array, order="C"))
        self._pending[is_constant].append(tensor)
        return tensor

    def new(self, dtype: Any, shape: Sequence[int] | None = None, constant: float = 0.3) -> Tensor:
        """A leaf with random elements."""
        shape = random_shape(self.rng) if shape is None else shape
        if np.prod(shape, dtype=np.int64) > MOST_ELEMENTS:
            raise Unfit("too many elements")
        return self.leaf(random_array(self.rng, dtype, shape), constant)

    def positive(self, dtype: Any, shape: Sequence[int], constant: float = 0.8) -> Tensor:
        """A leaf with moderate positive elements."""
        numbers = np.random.default_rng(self.rng.getrandbits(63))
        return self.leaf(numbers.uniform(0.2, 2, shape).astype(dtype), constant)

    def weight(self, dtype: Any, shape: Sequence[int]) -> Tensor:
        """A leaf with moderate elements, in most cases a constant."""
        if np.prod(shape, dtype=np.int64) > MOST_ELEMENTS:
            raise Unfit("too many elements")
        numbers = np.random.default_rng(self.rng.getrandbits(63))
        if np.dtype(dtype).kind != "f":
            return self.leaf(random_array(self.rng, dtype, shape), 0.8)
        return self.leaf(np.asarray(0.5 * numbers.standard_normal(shape)).astype(dtype), 0.8)

    def indices(
        self, shape: Sequence[int], length: int, *, negative: bool = True, dtype: str = "int64"
    ) -> Tensor:
        """A tensor with numbers from 0 to `length`, also ones counted from the end."""
        if not length and 0 not in shape:
            raise Unfit("there is nothing to index")
        found = self.find(
            lambda a: (
                a.dtype == dtype
                and list(a.shape) == list(shape)
                and bool(((a >= 0) & (a < length)).all())
            )
        )
        if found and self.chance(0.5):
            return self.rng.choice(found)
        numbers = np.random.default_rng(self.rng.getrandbits(63))
        low = -length if negative and self.chance(0.3) else 0
        return self.leaf(
            np.asarray(numbers.integers(low, max(1, length), shape)).astype(dtype), 0.5
        )

    def find(self, condition: Condition) -> list[Tensor]:
        """The tensors that fulfil a condition."""
        with np.errstate(all="ignore"):
            return [tensor for tensor in self.tensors if condition(tensor.array)]

    def pick(
        self,
        op: str,
        name: str,
        rank: int | tuple[int, int] | None = None,
        where: Condition | None = None,
        kind: str = "",
        nonempty: bool = False,
    ) -> Tensor:
        """
        A tensor for an input of an operator: one of the graph in most cases, of those that nothing
        uses above all, otherwise a new one. `kind` narrows the dtypes to some of "fiub".
        """
        dtypes = allowed_dtypes(op, self.opset, name)
        dtypes = tuple(each for each in dtypes if not kind or np.dtype(each).kind in kind)
        if not dtypes:
            raise Unfit(f"{op} takes no such dtype")
        low, high = (rank, rank) if isinstance(rank, int) else rank or (0, 5)

        def fits(array: Array) -> bool:
            return (
                array.dtype.name in dtypes
                and low <= array.ndim <= high
                and (array.size > 0 or not nonempty)
                and (where is None or where(array))
            )

        found = self.find(fits)
        if found and self.chance(0.95):
            tame = [each for each in found if is_tame(each.array)]
            found = tame if tame and self.chance(0.9) else found
            unused = [each for each in found if each.name not in self.used]
            if unused and self.chance(0.65):
                return self.rng.choice(unused[-4:])
            return self.rng.choice(found)
        for _ in range(20):
            size = self.rng.choice([r for r in (0, 1, 1, 2, 2, 3, 3, 4, 4, 5) if low <= r <= high])
            shape = random_shape(self.rng, size)
            array = random_array(self.rng, self.rng.choice(dtypes), shape)
            if fits(array):
                return self.leaf(array)
        raise Unfit(f"nothing fits {name} of {op}")

    def partner(self, tensor: Tensor, dtype: Any = None, *, unidirectional: bool = False) -> Tensor:
        """A tensor that can be broadcast with another; `unidirectional`: to its shape."""
        dtype = np.dtype(dtype or tensor.dtype)

        def fits(array: Array) -> bool:
            if array.dtype != dtype:
                return False
            pairs = zip(reversed(array.shape), reversed(tensor.shape), strict=False)
            if unidirectional:
                return array.ndim <= tensor.rank and all(a in (1, b) for a, b in pairs)
            return all(a == b or 1 in (a, b) for a, b in pairs)

        found = [each for each in self.find(fits) if is_tame(each.array) or self.chance(0.1)]
        if found and self.chance(0.7):
            return self.rng.choice(found)
        shape = [1 if self.chance(0.25) else n for n in tensor.shape]
        shape = shape[self.rng.randint(0, len(shape)) if self.chance(0.3) else 0 :]
        if not unidirectional and self.chance(0.1):
            shape = [1] * (tensor.rank - len(shape)) + shape
            shape = [self.choice(1, 2, 3), *shape]
        return self.new(dtype, shape, 0.5)

    # -- nodes --------------------------------------------------------------------------------

    def node(self, op: str, outputs: int = 1, **arguments: Any) -> list[Tensor]:
        """
        Adds a node. `arguments` are inputs and attributes by the names that the operator's schema
        gives them, whichever they are in this operator set. Returns the results.

        Raises Unfit when the operator set has no such argument, or no engine runs the node.
        """
        schema = schema_of(op, self.opset)
        places = {formal.name: i for i, formal in enumerate(schema.inputs)}
        operands: dict[int, Operand | Sequence[Operand]] = {}
        attributes: dict[str, Any] = {}
        for key, value in arguments.items():
            if value is None:
                continue
            if key in places:
                operands[places[key]] = value
            elif key in schema.attributes:
                attributes |= _attribute(key, value)
            else:
                raise Unfit(f"{op} of operator set {self.opset} has no {key}")
        inputs: list[Operand] = []
        for place in range(max(operands, default=-1) + 1):
            operand = operands.get(place)
            inputs.extend(operand if isinstance(operand, list | tuple) else [operand])
        return self.raw_node(op, inputs, outputs, **attributes)

    def raw_node(
        self, op: str, operands: Sequence[Operand], outputs: int = 1, **attributes: Any
    ) -> list[Tensor]:
        """
        Adds a node with its inputs in order.

        Raises Unfit when no engine runs it.
        """
        if op not in WITHOUT_SCHEMA:
            schema_of(op, self.opset)
        inputs: list[str] = []
        feeds: dict[str, Array] = {}
        for operand in operands:
            if operand is None:
                inputs.append("")
                continue
            tensor = operand if isinstance(operand, Tensor) else self.leaf(np.asarray(operand), 1)
            inputs.append(tensor.name)
            feeds[tensor.name] = tensor.array
        names = [self.name("v") for _ in range(outputs)]
        node = helper.make_node(op, inputs, names, f"n{len(self.nodes)}", **attributes)
        constants = {tensor.name for tensor in (*self.constants, *self._pending[1])}
        feeds |= {each.name: each.array for each in self.captured(node)}
        try:
            arrays = run_node(node, feeds, self.opset, constants)
        except NoOracle as error:
            raise Unfit(str(error)) from error
        if any(array.size > MOST_ELEMENTS or array.ndim > 6 for array in arrays):
            raise Unfit("too many elements")
        results = [Tensor(name, array) for name, array in zip(names, arrays, strict=True)]
        self.commit(node, results)
        return results

    def captured(self, node: NodeProto) -> list[Tensor]:
        """What the graphs inside a node use of this one."""
        known = {each.name: each for each in (*self.tensors, *self._pending[0], *self._pending[1])}
        names = [
            name
            for attribute in node.attribute
            if attribute.HasField("g")
            for name in _free_names(attribute.g)
        ]
        return [known[name] for name in dict.fromkeys(names) if name in known]

    def commit(self, node: NodeProto, results: Sequence[Tensor]) -> None:
        """Makes a node, its results, and the leaves that were made for it part of the graph."""
        self.inputs.extend(self._pending[0])
        self.constants.extend(self._pending[1])
        # Weights are for their own nodes.
        self.tensors.extend(each for each in self._pending[0] if each.array.size)
        self._pending = ([], [])
        self.used.update(node.input)
        self.nodes.append(node)
        self.tensors.extend(results)

    def start(self, tensors: int) -> None:
        """Gives an empty graph inputs."""
        for _ in range(tensors):
            self.new(self.rng.choice(DTYPES[:12]), constant=0)
        self.inputs.extend(self._pending[0])
        self.tensors.extend(self._pending[0])
        self._pending = ([], [])

    def try_template(self, template: Callable[["Growth", str], object], op: str) -> bool:
        """Whether a template added its node."""
        self._pending = ([], [])
        try:
            template(self, op)
        except Unfit:
            return False
        return True


def _free_names(graph: GraphProto) -> list[str]:
    """The names that the nodes of a graph use and that it does not define."""
    defined = {value.name for value in (*graph.input, *graph.initializer)}
    defined |= {name for node in graph.node for name in node.output}
    used = [name for node in graph.node for name in node.input]
    used.extend(value.name for value in graph.output)
    return [name for name in used if name and name not in defined]


def _attribute(key: str, value: Any) -> dict[str, Any]:
    """An attribute: arrays become lists, or numbers where they have no axes; without empty lists."""
    value = value.tolist() if isinstance(value, np.ndarray) else value
    return {} if value == [] else {key: value}


def is_tame(array: Array) -> bool:
    """Whether an array holds moderate numbers, so that something can be seen of what is done to it."""
    if not is_float(array) or not array.size:
        return bool(array.size)
    with np.errstate(invalid="ignore"):
        moderate = np.abs(array) < (1e2 if array.dtype == np.float16 else 1e4)
    return bool(moderate.mean() > 0.5) and bool(np.ptp(array[moderate].astype(float)) > 0)


def longs(*values: int) -> Array:
    """A vector of int64."""
    return np.array(values, np.int64)


def tensor_attribute(array: Array) -> Any:
    """An array as the value of an attribute."""
    return numpy_helper.from_array(array)
