"""Single ONNX operators with any number of inputs, of any dtype and rank, and any attributes."""

from collections.abc import Sequence
from pathlib import Path
from random import Random
from typing import ClassVar

import numpy as np
from onnx import AttributeProto, GraphProto, ModelProto, NodeProto, TensorProto, defs, helper
from onnx.defs import OpSchema

from tests.fuzz.fuzzer import Fuzzer, Reductions
from tests.fuzz.onnx.fields import FLOATS, NUMBERS, TEXTS
from tests.fuzz.onnx.models import smaller_models, use
from xrelay.frontends.onnx.importer.converters import CONVERTERS, NEWEST_OPSET

USUAL = (TensorProto.FLOAT, TensorProto.INT64, TensorProto.BOOL, TensorProto.FLOAT16)
TYPES = sorted(TensorProto.DataType.values())
SIDES = (0, 1, 1, 2, 2, 3, 3, 4, 5, 8)


class OnnxSchemasFuzzer(Fuzzer):
    """One node that calls an operator that is imported, rarely as its schema says."""

    name: ClassVar[str] = "onnx-schemas"
    suffix: ClassVar[str] = ".onnx"

    def prepare(self) -> None:
        self.operators = sorted(CONVERTERS)
        self.schemas: dict[str, dict[int, OpSchema]] = {}
        for schema in defs.get_all_schemas_with_history():
            if not schema.domain:
                self.schemas.setdefault(schema.name, {})[schema.since_version] = schema

    def generate(self, random: Random) -> bytes:
        operator = random.choice(self.operators)
        schemas = self.schemas.get(operator, {})
        version = random.choice(sorted(schemas) or [1])
        newest = max(version, NEWEST_OPSET)
        opset = version if random.random() < 0.5 else random.randint(version, newest)
        schema = schemas.get(version)
        return OneNode(random).model(operator, opset, schema).SerializeToString(deterministic=True)

    def check(self, payload: bytes, folder: Path) -> None:
        use(payload, folder)

    def reductions(self, payload: bytes) -> Reductions:
        return smaller_models(payload)


class OneNode:
    """A model of one node under construction."""

    def __init__(self, random: Random):
        self.random = random
        self.graph = GraphProto(name="g")
        self.shape = self.any_shape()
        self.type = random.choice(USUAL)
        """What most of the inputs are."""

    def model(self, operator: str, opset: int, schema: OpSchema | None) -> ModelProto:
        """The model."""
        low, high, outputs = 1, 3, 1
        if schema is not None:
            low, high = schema.min_input, min(schema.max_input, schema.min_input + 6)
            outputs = min(schema.max_output, 4)
        count = self.random.randint(low, max(low, high))
        if self.random.random() < 0.1:
            count = self.random.randint(0, high + 2)
        node = NodeProto(name="the_node", op_type=operator)
        for number in range(count):
            node.input.append("" if self.random.random() < 0.08 else self.input(number, schema))
        results = self.random.randint(1, outputs + (self.random.random() < 0.05))
        node.output.extend(f"out{number}" for number in range(results))
        if schema is not None:
            for name in sorted(schema.attributes):
                if schema.attributes[name].required or self.random.random() < 0.4:
                    node.attribute.append(self.attribute(name, schema.attributes[name].type))
        self.graph.node.append(node)
        for name in node.output:
            self.graph.output.add(name=name)
        model = ModelProto(ir_version=8, graph=self.graph)
        model.opset_import.add(domain="", version=opset)
        return model

    def any_shape(self) -> list[int]:
        """A small shape of any rank."""
        return [self.random.choice(SIDES) for _ in range(self.random.randint(0, 5))]

    def any_type(self, number: int, schema: OpSchema | None) -> int:
        """A dtype, mostly one that the schema allows."""
        if self.random.random() < 0.1:
            return self.random.choice(TYPES)
        if schema is None or not schema.inputs:
            return self.type
        formal = schema.inputs[min(number, len(schema.inputs) - 1)]
        allowed = sorted(
            TensorProto.DataType.Value(name)
            for type_ in formal.types
            if (name := type_[7:-1].upper()) in TensorProto.DataType.keys()  # noqa: SIM118
        )
        return self.type if self.type in allowed or not allowed else self.random.choice(allowed)

    def input(self, number: int, schema: OpSchema | None) -> str:
        """An input of the graph or an initializer."""
        name = f"in{number}"
        type_ = self.any_type(number, schema)
        shape = self.shape if self.random.random() < 0.6 else self.any_shape()
        whole = type_ in (TensorProto.INT64, TensorProto.INT32)
        if whole and number and self.random.random() < 0.6:
            # A shape, axes, or the like.
            shape = [len(self.shape) if self.random.random() < 0.6 else self.random.randint(0, 5)]
            self.constant(name, type_, shape)
        elif self.random.random() < 0.25:
            self.constant(name, type_, shape)
        else:
            dims = [self.random.choice(["N", "M", -1]) if self.random.random() < 0.04 else dim
                    for dim in shape]  # fmt: skip
            self.graph.input.append(helper.make_tensor_value_info(name, type_, dims))
        return name

    def constant(self, name: str, type_: int, shape: Sequence[int]) -> None:
        """An initializer with small elements, or with awkward ones."""
        tensor = self.graph.initializer.add(name=name, data_type=type_, dims=shape)
        count = int(np.prod(shape))
        if type_ == TensorProto.STRING:
            tensor.string_data.extend([b"x"] * count)
            return
        values = NUMBERS if self.random.random() < 0.3 else range(-2, 5)
        try:
            dtype = helper.tensor_dtype_to_np_dtype(type_)
        except KeyError:
            return
        data = np.array([self.random.choice(values) for _ in range(count)], np.int64)
        with np.errstate(all="ignore"):
            tensor.raw_data = data.astype(dtype).tobytes()

    def attribute(self, name: str, type_: OpSchema.AttrType) -> AttributeProto:
        """An attribute, mostly of the type that the schema says."""
        kind = type_.value
        if self.random.random() < 0.04:
            kind = self.random.randint(0, 14)
        attribute = AttributeProto(name=name, type=kind)  # pyright: ignore
        random = self.random
        numbers = NUMBERS if random.random() < 0.25 else range(-3, 8)
        length = len(self.shape) if random.random() < 0.4 else random.randint(0, 6)
        match kind:
            case AttributeProto.INT:
                attribute.i = random.choice(numbers)
            case AttributeProto.FLOAT:
                attribute.f = random.choice(FLOATS)
            case AttributeProto.STRING:
                attribute.s = random.choice((*TEXTS, *MODES)).encode()
            case AttributeProto.INTS:
                attribute.ints.extend(random.choice(numbers) for _ in range(length))
            case AttributeProto.FLOATS:
                attribute.floats.extend(random.choice(FLOATS) for _ in range(length))
            case AttributeProto.STRINGS:
                words = [random.choice((*TEXTS, *MODES)).encode() for _ in range(length % 4)]
                attribute.strings.extend(words)
            case AttributeProto.TENSOR:
                holder = OneNode(random)
                holder.constant("t", self.any_type(0, None), self.any_shape())
                attribute.t.CopyFrom(holder.graph.initializer[0])
            case AttributeProto.GRAPH:
                attribute.g.name = "body"
                node = attribute.g.node.add(op_type="Identity", input=["in0"], output=["inner"])
                attribute.g.output.add(name=node.output[0])
            case _:
                pass
        return attribute


MODES = (
    *("SAME_LOWER", "reflect", "edge", "wrap", "nearest", "cubic", "bilinear", "zeros", "border"),
    *("half_pixel", "align_corners", "asymmetric", "tf_crop_and_resize", "round_prefer_floor"),
    *("forward", "reverse", "bidirectional", "Relu", "Tanh", "Sigmoid", "DCR", "CRD", "add", "mul"),
    *("max", "min", "none", "mean", "sum", "ij,jk->ik", "ii->i", "...i->...", "LEFT", "RIGHT"),
)
"""Words that attributes take."""
