"""ONNX nodes that are wrong in one place: another rank, dtype, number of inputs or attribute."""

from collections.abc import Callable
from random import Random

import numpy as np
from onnx import AttributeProto, ModelProto, TensorProto, defs, helper, numpy_helper

LENGTHS = (0, 1, 2, 5, 2**20, 2**33)
INTEGERS = (-(2**63), -(2**40), -3, -1, 0, 1, 2, 2**31, 2**40, 2**63 - 1)
REALS = (0.0, -1.0, 1e38, float("inf"), float("-inf"), float("nan"))
STRINGS = ("", "x", "SAME_UPPER", "linear", "nearest", "reverse", "max", "ij,jk->ik", "...", "wrap")
DTYPES = (
    *(TensorProto.FLOAT, TensorProto.DOUBLE, TensorProto.FLOAT16, TensorProto.BFLOAT16),
    *(TensorProto.BOOL, TensorProto.INT8, TensorProto.UINT8, TensorProto.INT32, TensorProto.INT64),
)

Mutation = Callable[[ModelProto, Random], None]


def change_shape(model: ModelProto, random: Random) -> None:
    """An axis of an input more or less, or of another length."""
    if not model.graph.input:
        return
    dims = random.choice(model.graph.input).type.tensor_type.shape.dim
    match random.randrange(4):
        case 0 if dims:
            del dims[random.randrange(len(dims))]
        case 1:
            dims.add().dim_value = random.choice(LENGTHS)
        case 2:
            del dims[:]
        case _ if dims:
            random.choice(dims).dim_value = random.choice(LENGTHS)
        case _:
            pass


def change_dtype(model: ModelProto, random: Random) -> None:
    """Another element type of an input."""
    if model.graph.input:
        chosen = random.choice(model.graph.input)
        chosen.type.tensor_type.elem_type = random.choice(DTYPES)


def change_constant(model: ModelProto, random: Random) -> None:
    """Another shape, dtype or number in a constant."""
    if not model.graph.initializer:
        return
    tensor = random.choice(model.graph.initializer)
    array = numpy_helper.to_array(tensor)
    match random.randrange(5):
        case 0:
            array = array.reshape(-1)[: random.randrange(3)]
        case 1:
            array = array[None]
        case 2:
            array = array.reshape(-1).repeat(2)
        case 3 if array.dtype.kind in "iu":
            array = array.astype(random.choice(("float32", "int32", "uint8", "bool")))
        case _ if array.size and array.dtype.kind in "if":
            array = array.copy()
            numbers = INTEGERS if array.dtype.kind == "i" else REALS
            with np.errstate(all="ignore"):
                number = np.array(random.choice(numbers)).astype(array.dtype)
            array.reshape(-1)[random.randrange(array.size)] = number
        case _:
            return
    tensor.CopyFrom(numpy_helper.from_array(array, tensor.name))


def change_arity(model: ModelProto, random: Random) -> None:
    """An input absent, away, twice, or an output more."""
    (node,) = model.graph.node
    if not node.input:
        return
    position = random.randrange(len(node.input))
    match random.randrange(4):
        case 0:
            node.input[position] = ""
        case 1:
            del node.input[position]
        case 2:
            node.input.insert(position, node.input[position])
        case _:
            node.output.append("one more")


def change_attribute(model: ModelProto, random: Random) -> None:
    """An attribute of another value or type, or away."""
    (node,) = model.graph.node
    schema = defs.get_schema(node.op_type, model.opset_import[0].version, "")
    kinds = {name: int(each.type.value) for name, each in sorted(schema.attributes.items())}
    names = [name for name, kind in kinds.items() if kind in _VALUES]
    if not names:
        return
    name = random.choice(names)
    stated = [each for each in node.attribute if each.name != name]
    del node.attribute[:]
    node.attribute.extend(stated)
    if random.random() < 0.9:
        kind = kinds[name] if random.random() < 0.8 else random.choice(list(_VALUES))
        value = _VALUES[kind](random)
        node.attribute.append(helper.make_attribute(name, value, attr_type=kind))


_VALUES = {
    AttributeProto.INT: lambda random: random.choice(INTEGERS),
    AttributeProto.INTS: lambda random: random.choices(INTEGERS, k=random.randrange(6)),
    AttributeProto.FLOAT: lambda random: random.choice(REALS),
    AttributeProto.FLOATS: lambda random: random.choices(REALS, k=random.randrange(4)),
    AttributeProto.STRING: lambda random: random.choice(STRINGS),
    AttributeProto.STRINGS: lambda random: random.choices(STRINGS, k=random.randrange(4)),
}

MUTATIONS: tuple[Mutation, ...] = (
    change_shape,
    change_dtype,
    change_constant,
    change_arity,
    change_attribute,
)
