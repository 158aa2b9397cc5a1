"""
Parts of an ONNX model in the form in which it came: the nodes on the ways from some of its values to others.

Engines that take ONNX know quantised operators, attention and the like by these nodes. What an export makes of an
imported region computes the same, and may take several times as long.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from hashlib import blake2b
from math import prod
from pathlib import Path

from onnx import AttributeProto, GraphProto, ModelProto, NodeProto, TensorProto, ValueInfoProto

from xrelay.backends.regions import RegionTensor
from xrelay.frontends.onnx.importer.functions import captured_names, graph_attributes
from xrelay.frontends.onnx.tensors import data_type_of, element_type_of, loaded_tensor
from xrelay.interpreters.arrays import Array, dtype_of

LARGE_ATTRIBUTE = 4096
"""Attributes of more bytes are weights, of which the text of a part says the size alone."""

SMALL_CONSTANT = 64
"""Tensors of at most this many elements are no weights."""
WEIGHT_TYPES = (
    *(TensorProto.FLOAT, TensorProto.DOUBLE, TensorProto.FLOAT16, TensorProto.BFLOAT16),
    *(TensorProto.INT8, TensorProto.UINT8),
)
"""The types of weights."""


@dataclass(frozen=True)
class Border:
    """A value at the border of a part: its name in the model, and what it is."""

    name: str
    tensor: RegionTensor


@dataclass(frozen=True)
class OnnxPart:
    """A part of a model: how to make a model of it, when that is wanted."""

    original: "OnnxOriginal" = field(repr=False)
    inputs: tuple[Border, ...]
    outputs: tuple[Border, ...]
    nodes: tuple[int, ...]
    """In the order of the model."""
    initializers: tuple[str, ...]
    known: Mapping[str, Array] = field(repr=False)
    """Values that nodes outside of the part compute, and that are known: shapes for example."""

    @property
    def text(self) -> str:
        """What is computed and how, without names and the numbers of large tensors: equal for equal parts."""
        numbers: dict[str, int] = {}
        given = [*(each.name for each in self.inputs), *self.initializers, *self.known]
        for name in given:
            numbers[name] = len(numbers)
        tensors = self.original.initializers
        lines = [f"{self.original.opsets} {[str(each.tensor) for each in self.inputs]}"]
        lines += [_tensor_text(tensors[n], self.original.base_dir) for n in self.initializers]
        lines += [
            f"{array.dtype}{array.shape}{_digest(array.tobytes())}" for array in self.known.values()
        ]
        for index in self.nodes:
            node = self.original.nodes[index]
            names = [numbers.get(name, -1) for name in needed_names(node)]
            numbers.update((name, len(numbers) + i) for i, name in enumerate(node.output) if name)
            attributes = sorted(map(_attribute_text, node.attribute))
            lines.append(f"{node.domain} {node.op_type} {names} {' '.join(attributes)}")
        lines.append(str([numbers[each.name] for each in self.outputs]))
        functions = self.original.model.functions
        lines += [_digest(each.SerializeToString(deterministic=True)) for each in functions]
        return "\n".join(lines)

    def model(self, *, weights: bool = True) -> ModelProto:
        """
        The part as a model of its own; without `weights`, large tensors have no elements (see `fill_weights`).

        Raises OnnxImportError for weights in files that cannot be read.
        """
        source = self.original.model
        graph = GraphProto(name=source.graph.name or "part")
        graph.input.extend(map(_value_info, self.inputs))
        graph.output.extend(map(_value_info, self.outputs))
        graph.node.extend(self.original.nodes[index] for index in self.nodes)
        for name in self.initializers:
            tensor = self.original.initializers[name]
            graph.initializer.append(
                loaded_tensor(tensor, self.original.base_dir)
                if weights or not _is_weight(tensor)
                else TensorProto(name=name, data_type=tensor.data_type, dims=tensor.dims)
            )
        for name, array in self.known.items():
            graph.initializer.append(_tensor(name, array))
        return ModelProto(
            # Before version 4 initializers are inputs as well.
            ir_version=max(source.ir_version, 4),
            producer_name=source.producer_name,
            opset_import=source.opset_import,
            functions=source.functions,
            graph=graph,
        )


class OnnxOriginal:
    """An ONNX model that parts are taken of."""

    def __init__(self, model: ModelProto, base_dir: Path | None = None):
        self.model = model
        self.base_dir = base_dir
        """The folder of external data."""
        self.nodes: Sequence[NodeProto] = list(model.graph.node)
        self.initializers: Mapping[str, TensorProto] = {
            tensor.name: tensor for tensor in model.graph.initializer
        }
        self.producers = {
            name: index for index, node in enumerate(self.nodes) for name in node.output if name
        }
        self.opsets = sorted((entry.domain, entry.version) for entry in model.opset_import)

    @cached_property
    def fixed(self) -> frozenset[str]:
        """The values that follow from initializers alone."""
        found = set(self.initializers)
        users: dict[str, list[int]] = {}
        waits: list[int] = []
        for index, node in enumerate(self.nodes):
            names = set(needed_names(node)) - found
            waits.append(len(names))
            for name in names:
                users.setdefault(name, []).append(index)
        ready = [index for index, count in enumerate(waits) if not count]
        while ready:
            for name in filter(None, self.nodes[ready.pop()].output):
                found.add(name)
                for user in users.get(name, ()):
                    waits[user] -= 1
                    if not waits[user]:
                        ready.append(user)
        return frozenset(found)

    def between(
        self, inputs: Sequence[Border], outputs: Sequence[Border], known: Mapping[str, Array]
    ) -> OnnxPart | None:
        """
        The nodes that compute some values of others; None when they need more than those, or not all of them.
        `known` has values that are constant in the program, whatever computes them in the model.
        """
        given = {each.name for each in inputs}
        nodes: set[int] = set()
        met: set[str] = set()
        pending = [each.name for each in outputs]
        while pending:
            name = pending.pop()
            if name in met:
                continue
            met.add(name)
            if name in given or name in self.initializers or self.is_known(name, known):
                continue
            index = self.producers.get(name)
            if index is None:
                return None
            if index not in nodes:
                nodes.add(index)
                pending += needed_names(self.nodes[index])
        computed = {name for index in nodes for name in self.nodes[index].output}
        if not nodes or given - met or given & computed:
            return None
        return OnnxPart(
            self,
            tuple(inputs),
            tuple(outputs),
            tuple(sorted(nodes)),
            tuple(name for name in self.initializers if name in met and name not in given),
            {name: array for name, array in known.items() if name in met - computed - self.fixed},
        )

    def is_known(self, name: str, known: Mapping[str, Array]) -> bool:
        """Whether a value is given as a constant. What initializers decide stays as it came."""
        return name in known and name not in self.fixed


def needed_names(node: NodeProto) -> Iterator[str]:
    """The names that a node uses, the graphs in it among them."""
    yield from filter(None, node.input)
    for attribute in graph_attributes(node):
        yield from captured_names(attribute.g)


def _attribute_text(attribute: AttributeProto) -> str:
    size = attribute.ByteSize()
    if size > LARGE_ATTRIBUTE:
        return f"{attribute.name}:{size}"
    return f"{attribute.name}:{_digest(attribute.SerializeToString(deterministic=True))}"


def _tensor_text(tensor: TensorProto, base_dir: Path | None) -> str:
    """The type of a tensor, and of a small one its elements, of shapes for example."""
    text = f"{tensor.data_type}{list(tensor.dims)}"
    if prod(tensor.dims) > SMALL_CONSTANT:
        return text
    nameless = TensorProto()
    nameless.CopyFrom(loaded_tensor(tensor, base_dir))
    nameless.ClearField("name")
    nameless.ClearField("doc_string")
    return f"{text}{_digest(nameless.SerializeToString(deterministic=True))}"


def _digest(content: bytes) -> str:
    return blake2b(content, digest_size=16).hexdigest()


def fill_weights(model: ModelProto, numbers: Callable[[RegionTensor, int], Array]) -> None:
    """Gives numbers to the tensors of a model that was made without weights: those for a tensor and its place."""
    for place, tensor in enumerate(model.graph.initializer):
        if _is_weight(tensor) and not tensor.HasField("raw_data"):
            dtype = dtype_of(element_type_of(tensor.data_type, tensor.name))
            made = numbers(RegionTensor(tuple(tensor.dims), dtype), place)
            tensor.raw_data = made.tobytes()


def _is_weight(tensor: TensorProto) -> bool:
    """
    Whether numbers decide nothing but results: not those of shapes and indices, and no vectors, among which are
    scales and zero points, on which it depends what an engine fuses.
    """
    is_large = len(tensor.dims) > 1 and prod(tensor.dims) > SMALL_CONSTANT
    return is_large and tensor.data_type in WEIGHT_TYPES


def _value_info(border: Border) -> ValueInfoProto:
    value = ValueInfoProto(name=border.name)
    value.type.tensor_type.elem_type = data_type_of(border.tensor.dtype)
    value.type.tensor_type.shape.SetInParent()
    for length in border.tensor.shape:
        value.type.tensor_type.shape.dim.add(dim_value=length)
    return value


def _tensor(name: str, array: Array) -> TensorProto:
    code = data_type_of(array.dtype)
    return TensorProto(name=name, data_type=code, dims=array.shape, raw_data=array.tobytes())
