"""ONNX models whose fields are changed: the file is whole, what it says is not."""

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from random import Random
from typing import Any, ClassVar

from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.message import Message
from onnx import AttributeProto, GraphProto, ModelProto, StringStringEntryProto, TensorProto

from tests.fuzz.fuzzer import Fuzzer, Reductions
from tests.fuzz.onnx.models import corpus, parts_of, smaller_models, use
from xrelay.frontends.onnx.importer.converters import CONVERTERS

NUMBERS = (
    *(0, 1, 2, 3, 4, 5, 7, 8, 11, 13, 16, 17, 22, 127, 255, 1000, 65537, -1, -2, -3, -9),
    *(2**18, 2**31 - 1, 2**31, -(2**31), 2**36, 2**62, 2**63 - 1, -(2**63)),
)
FLOATS = (0.0, -0.0, 1.0, -1.0, 0.5, 2.0, 1e-45, 1e30, -1e30, float("inf"), float("nan"))
LOCATIONS = (
    *("data.bin", "folder", "fifo", "missing", "../model.onnx", "/etc/passwd", "/dev/zero"),
    *("", ".", "..", "./data.bin", "folder/../data.bin", "link", "/proc/self/mem", "a\0b"),
)
"""Where data can lie: some of these are there."""
TEXTS = (
    *("", "x", "y", "0", "a\0b", "é", "\n", '"', "\\", "%x", "n" * 5000, "/", "ai.onnx"),
    *("com.microsoft", "NOTSET", "SAME_UPPER", "VALID", "constant", "linear", "FLOAT", "location"),
)
Change = Callable[[Random, ModelProto, Sequence[bytes]], None]


class OnnxFieldsFuzzer(Fuzzer):
    """Small models with other types, shapes, names, attributes, versions, data, bodies."""

    name: ClassVar[str] = "onnx-fields"
    suffix: ClassVar[str] = ".onnx"

    def prepare(self) -> None:
        self.models = corpus()

    def generate(self, random: Random) -> bytes:
        model = ModelProto.FromString(random.choice(self.models))
        for _ in range(random.choice((1, 1, 1, 2, 2, 3, 5))):
            random.choice(CHANGES)(random, model, self.models)
        return model.SerializeToString(deterministic=True)

    def check(self, payload: bytes, folder: Path) -> None:
        (folder / "data.bin").write_bytes(bytes(range(256)) * 16)
        (folder / "folder").mkdir()
        (folder / "link").symlink_to("/etc/passwd")
        os.mkfifo(folder / "fifo")
        use(payload, folder)

    def reductions(self, payload: bytes) -> Reductions:
        return smaller_models(payload)


def messages(message: Message) -> list[Message]:
    """A message and all inside of it."""
    found = [message]
    for _, value in message.ListFields():
        for item in (
            value if not isinstance(value, Message | str | bytes | int | float) else [value]
        ):
            if isinstance(item, Message):
                found.extend(messages(item))
    return found


def texts(model: ModelProto) -> list[str]:
    """The names in the graph of a model."""
    graph = model.graph
    return [
        *(name for node in graph.node for name in (*node.input, *node.output, node.op_type)),
        *(value.name for value in (*graph.input, *graph.output)),
        *(tensor.name for tensor in graph.initializer),
    ]


def scalar(random: Random, field: FieldDescriptor, model: ModelProto) -> Any:
    """A value for a field that holds no message."""
    match field.cpp_type:
        case FieldDescriptor.CPPTYPE_STRING:
            names = texts(model)
            text = random.choice(names if names and random.random() < 0.6 else TEXTS)
            if random.random() < 0.15:
                text = random.choice(sorted(CONVERTERS))
            return text.encode() if field.type == FieldDescriptor.TYPE_BYTES else text
        case FieldDescriptor.CPPTYPE_FLOAT | FieldDescriptor.CPPTYPE_DOUBLE:
            return random.choice(FLOATS)
        case FieldDescriptor.CPPTYPE_ENUM:
            assert field.enum_type is not None
            return random.choice([value.number for value in field.enum_type.values])
        case FieldDescriptor.CPPTYPE_INT32:
            return random.choice([n for n in NUMBERS if -(2**31) <= n < 2**31] + list(range(24)))
        case FieldDescriptor.CPPTYPE_UINT64:
            return random.choice([n for n in NUMBERS if n >= 0])
        case _:
            return random.choice(NUMBERS)


def set_scalar(random: Random, model: ModelProto, others: Sequence[bytes]) -> None:
    """A number, a text or a choice becomes another one."""
    places = [
        part for part in parts_of(model) if part[1].cpp_type != FieldDescriptor.CPPTYPE_MESSAGE
    ]
    if not places:
        return
    message, field, place = random.choice(places)
    if place is None:
        setattr(message, field.name, scalar(random, field, model))
    else:
        getattr(message, field.name)[place] = scalar(random, field, model)


def add_scalar(random: Random, model: ModelProto, others: Sequence[bytes]) -> None:
    """A field that was not set, or one more in a repeated one."""
    message = random.choice(messages(model))
    fields = [
        field
        for field in message.DESCRIPTOR.fields
        if field.cpp_type != FieldDescriptor.CPPTYPE_MESSAGE
    ]
    if not fields:
        return
    field = random.choice(fields)
    value = scalar(random, field, model)
    if field.is_repeated:
        getattr(message, field.name).append(value)
    else:
        setattr(message, field.name, value)


def remove(random: Random, model: ModelProto, others: Sequence[bytes]) -> None:
    """Anything is missing."""
    parts = list(parts_of(model))
    if parts:
        message, field, place = random.choice(parts)
        if place is None:
            message.ClearField(field.name)
        else:
            del getattr(message, field.name)[place]


def copy(random: Random, model: ModelProto, others: Sequence[bytes]) -> None:
    """A message becomes a copy of another of its type, of this model or of another one."""
    source = ModelProto.FromString(random.choice(others)) if random.random() < 0.3 else model
    target = random.choice(messages(model)[1:] or [model])
    alike = [each for each in messages(source) if each.DESCRIPTOR == target.DESCRIPTOR]
    if alike:
        kept = type(target)()
        kept.CopyFrom(random.choice(alike))
        target.CopyFrom(kept)


def duplicate(random: Random, model: ModelProto, others: Sequence[bytes]) -> None:
    """A node, an input, a tensor, … comes twice."""
    places = [
        part
        for part in parts_of(model)
        if part[2] is not None and part[1].cpp_type == FieldDescriptor.CPPTYPE_MESSAGE
    ]
    if places:
        message, field, place = random.choice(places)
        items = getattr(message, field.name)
        items.add().CopyFrom(items[place])


def make_external(random: Random, model: ModelProto, others: Sequence[bytes]) -> None:
    """The data of a tensor lie in another file, or are said to."""
    tensors = [each for each in messages(model) if isinstance(each, TensorProto)]
    tensor = random.choice(tensors) if tensors else model.graph.initializer.add()
    if not tensors and model.graph.input:
        tensor.name, tensor.data_type = model.graph.input[0].name, TensorProto.FLOAT
        tensor.dims.extend([2, 3])
    for name in ("raw_data", "float_data", "int32_data", "int64_data", "double_data"):
        tensor.ClearField(name)
    tensor.data_location = TensorProto.EXTERNAL
    location = LOCATIONS[0] if random.random() < 0.5 else random.choice(LOCATIONS)
    entries = [("location", location)]
    for key in ("offset", "length", "checksum", "location"):
        if random.random() < 0.25:
            entries.append((key, str(random.choice((*NUMBERS, "x", "", "1e3", "٣")))))
    tensor.external_data.extend(StringStringEntryProto(key=k, value=v) for k, v in entries)


def name_a_file(random: Random, model: ModelProto, others: Sequence[bytes]) -> None:
    """Metadata that look like those of external data."""
    model.metadata_props.append(
        StringStringEntryProto(key="location", value=random.choice(LOCATIONS))
    )


def set_graph(random: Random, model: ModelProto, others: Sequence[bytes]) -> None:
    """A node gets a body: a graph of another model, or the one that it lies in."""
    if not model.graph.node:
        return
    body = GraphProto()
    body.CopyFrom(random.choice([model, ModelProto.FromString(random.choice(others))]).graph)
    node = random.choice(model.graph.node)
    graphs = [attribute for attribute in node.attribute if attribute.HasField("g")]
    name = random.choice(["body", "then_branch", "else_branch", "g"])
    attribute = random.choice(graphs) if graphs else node.attribute.add(name=name)
    attribute.type = AttributeProto.GRAPH
    attribute.g.CopyFrom(body)


def make_function(random: Random, model: ModelProto, others: Sequence[bytes]) -> None:
    """A node becomes the call of a function, which can call itself."""
    if not model.graph.node:
        return
    node = random.choice(model.graph.node)
    function = model.functions.add(name="F", domain="here")
    function.node.extend(model.graph.node)
    function.input.extend(node.input)
    function.output.extend(node.output)
    function.opset_import.extend(model.opset_import)
    node.op_type, node.domain = "F", "here"
    if random.random() < 0.5:
        model.opset_import.add(domain="here", version=1)
    if random.random() < 0.3:
        function.node.append(node)


CHANGES: Sequence[Change] = (
    *(set_scalar,) * 8,
    *(add_scalar, add_scalar, remove, remove, copy, copy, duplicate),
    *(make_external, name_a_file, set_graph, make_function),
)
"""All, the smallest more often."""
