"""
Every operator of the dialect states what passes ask for, and agrees with Relay's registry.

`data/relay_ops.csv` holds the facts that TVM v0.10 registers (`RELAY_REGISTER_OP` with its
arguments, attributes, `TOpPattern`, `TReshapeOp`, `TOpIsStateful` and `TShapeDataDependent`) for
the operators that the dialect has.
"""

import ast
import csv
from inspect import signature
from pathlib import Path

import pytest
from xdsl.dialects.builtin import (
    DenseArrayBase,
    Float32Type,
    Float64Type,
    FloatAttr,
    IntegerAttr,
    IntegerType,
    ModuleOp,
    StringAttr,
    i1,
)
from xdsl.interpreter import Interpreter
from xdsl.ir import Attribute
from xdsl.irdl import IRDLOperation, OptPropertyDef, PropertyDef
from xdsl.traits import MemoryEffect
from xdsl.utils.hints import isa

from xrelay.dialects.base import RelayOp
from xrelay.dialects.core.adt import ConstructOp, ConstructorOp, MatchOp, TypeDefOp
from xrelay.dialects.core.annotation import CompilerAnnotationOp
from xrelay.dialects.core.device import VirtualDeviceAttr
from xrelay.dialects.core.functional import ClosureOp, GlobalVarOp
from xrelay.dialects.core.values import CompositeOp, FusedOp, YieldOp
from xrelay.dialects.dyn.base import DynamicOp
from xrelay.dialects.relay import Relay
from xrelay.dialects.traits import HasPatternKind, NonComputational, ReshapeOnly, ShapeDataDependent
from xrelay.interpreters.relay import RELAY_FUNCTIONS, register_relay

OPS: list[type[IRDLOperation]] = [op for op in Relay.operations if issubclass(op, IRDLOperation)]
RELAY = {
    row["op"]: row
    for row in csv.DictReader(
        (Path(__file__).parents[1] / "data" / "relay_ops.csv").read_text().splitlines()
    )
}
IMPLEMENTATIONS = {
    op: functions
    for functions in RELAY_FUNCTIONS
    for op, _ in functions._impls()  # pyright: ignore[reportPrivateUsage] no public way
}

EXPRESSIONS = {
    "apply": "Relay's Call of a function value",
    "closure": "Relay's Function as a value",
    "composite": "a function literal with the attribute Composite",
    "constant": "Relay's Constant",
    "construct": "Relay's Call of a Constructor",
    "constructor_var": "Relay's Constructor",
    "fused": "a function literal with the attribute Primitive",
    "global_var": "Relay's GlobalVar",
    "instantiate": "what type inference does in Relay",
    "let": "Relay's Let",
    "match": "Relay's Match",
    "ref_create": "Relay's RefCreate",
    "ref_read": "Relay's RefRead",
    "ref_write": "Relay's RefWrite",
    "tuple": "Relay's Tuple",
    "tuple_get_item": "Relay's TupleGetItem",
    "type_def": "Relay's TypeData",
    "yield": "the end of a body, which Relay does not write down",
}
"""Operations that are expressions in Relay, not registered operators."""

EXTENSIONS = {
    "bounded_argwhere": "ONNX's NonZero, with the bound of its size",
    "fail": "the instruction `Fatal` of Relay's virtual machine",
    "nn.rms_norm": "ONNX's RMSNormalization",
    "qnn.dense_blocks": "onnxruntime's MatMulNBits",
    "qnn.dequantize_blocks": "ONNX's DequantizeLinear with blocks",
    "qnn.lookup": "what qnn.Legalize makes of functions of bytes, as an elementwise operator",
}
"""Operators that Relay lacks, and where they come from."""

REQUIRED, OPTIONAL = "required", "optional"
ABSENT = "absent"

STATIC = "a shape that is not known at compile time is an operand of another operator"
OWN_TYPE = "the dtype is that of the operand; cast changes it"
OPERAND = "Relay's attribute repeats the operand of the same name"
DEVIATIONS: dict[tuple[str, str], tuple[object, str]] = {
    ("arange", "start"): (ABSENT, OPERAND),
    ("arange", "step"): (ABSENT, OPERAND),
    ("arange", "stop"): (ABSENT, OPERAND),
    ("broadcast_to", "dtype"): (ABSENT, OWN_TYPE),
    ("broadcast_to", "shape"): (REQUIRED, STATIC),
    ("collapse_sum_to", "dtype"): (ABSENT, OWN_TYPE),
    ("collapse_sum_to", "shape"): (ABSENT, OPERAND),
    ("dyn.broadcast_to", "dtype"): (ABSENT, OWN_TYPE),
    ("dyn.broadcast_to", "shape"): (ABSENT, OPERAND),
    ("dyn.full", "shape"): (ABSENT, OPERAND),
    ("dyn.image.resize2d", "roi"): (ABSENT, OPERAND),
    ("dyn.image.resize2d", "size"): (ABSENT, OPERAND),
    ("dyn.nn.upsampling3d", "scale_d"): (ABSENT, OPERAND),
    ("dyn.nn.upsampling3d", "scale_h"): (ABSENT, OPERAND),
    ("dyn.nn.upsampling3d", "scale_w"): (ABSENT, OPERAND),
    ("dyn.nn.pad", "pad_width"): (ABSENT, OPERAND),
    ("dyn.nn.upsampling", "scale_h"): (ABSENT, OPERAND),
    ("dyn.nn.upsampling", "scale_w"): (ABSENT, OPERAND),
    ("dyn.one_hot", "depth"): (ABSENT, OPERAND),
    ("dyn.ones", "dtype"): (REQUIRED, "no operand tells it"),
    ("dyn.ones", "shape"): (ABSENT, OPERAND),
    ("dyn.reshape", "newshape"): (ABSENT, OPERAND),
    ("dyn.squeeze", "axis"): (ABSENT, "the operand axes says it"),
    ("dyn.strided_slice", "begin"): (ABSENT, OPERAND),
    ("dyn.strided_slice", "end"): (ABSENT, OPERAND),
    ("dyn.strided_slice", "strides"): (ABSENT, OPERAND),
    ("dyn.tile", "reps"): (ABSENT, OPERAND),
    ("dyn.topk", "k"): (ABSENT, OPERAND),
    ("dyn.zeros", "dtype"): (REQUIRED, "no operand tells it"),
    ("dyn.zeros", "shape"): (ABSENT, OPERAND),
    ("full", "shape"): (REQUIRED, STATIC),
    ("memory.alloc_tensor", "assert_shape"): (OPTIONAL, "empty in Relay when nothing is asserted"),
    ("memory.alloc_tensor", "const_shape"): (OPTIONAL, "null in Relay when it is not known"),
    ("image.crop_and_resize", "crop_size"): (REQUIRED, STATIC),
    ("image.resize1d", "size"): (REQUIRED, STATIC),
    ("image.resize2d", "size"): (REQUIRED, STATIC),
    ("image.resize3d", "size"): (REQUIRED, STATIC),
    ("nn.dense", "units"): (OPTIONAL, "null in Relay when the weight tells"),
    ("nn.matmul", "units"): (OPTIONAL, "null in Relay when the operand tells"),
    ("ones", "dtype"): (REQUIRED, "no operand tells it"),
    ("ones", "shape"): (REQUIRED, STATIC),
    ("qnn.dense", "units"): (OPTIONAL, "null in Relay when the weight tells"),
    ("repeat", "axis"): (REQUIRED, "flattening is a reshape"),
    ("slice_like", "axes"): (OPTIONAL, "null in Relay takes all axes"),
    ("strided_slice", "begin"): (REQUIRED, STATIC),
    ("strided_slice", "end"): (REQUIRED, STATIC),
    ("transpose", "axes"): (OPTIONAL, "null in Relay reverses the axes"),
    ("vision.get_valid_counts", "score_threshold"): (ABSENT, "the operand of this name"),
    ("zeros", "dtype"): (REQUIRED, "no operand tells it"),
    ("zeros", "shape"): (REQUIRED, STATIC),
}
"""Attributes that differ from Relay's: what they are here, and why."""
ADDED_ATTRIBUTES: dict[tuple[str, str], tuple[object, str]] = {
    **{
        (f"image.resize{axes}d", "scales"): (OPTIONAL, "ONNX's Resize rounds lengths times scales")
        for axes in (1, 2, 3)
    },
    ("vision.roi_align", "aligned"): (False, "ONNX's RoiAlign with half_pixel"),
}
"""Attributes that Relay lacks: what they are here, and where they come from."""

STATEFUL_IN_RELAY = {
    "memory.kill": "its effect is one on memory",
    "nn.dropout": "dropout as inference sees it has no state",
    "vm.invoke_tvm_op": "its effect is one on memory",
}


STATED_TYPES = (
    ClosureOp,
    CompositeOp,
    ConstructOp,
    ConstructorOp,
    FusedOp,
    GlobalVarOp,
    MatchOp,
    TypeDefOp,
    YieldOp,
)
"""Operations whose types are stated: by bodies, or by definitions elsewhere in the module."""
ATTRIBUTES = "the registry lists two attributes among the arguments"
GRADIENT_FIRST = "Relay's calls pass the gradient first, whatever the registry says"
CALLS = "the registry names the arguments in another order than calls have them"
SUM_OPERANDS = (
    "lhs rhs lhs_scale lhs_zero_point rhs_scale rhs_zero_point output_scale output_zero_point"
)
PRODUCT_OPERANDS = "data weight input_zero_point weight_zero_point input_scale weight_scale"
OPERAND_DEVIATIONS: dict[str, tuple[str, str]] = {
    "dyn.strided_slice": (
        "data begin end strides",
        "slice_mode, of Relay's list of arguments, is an attribute there too",
    ),
    "nn.avg_pool2d_grad": ("grad data", GRADIENT_FIRST),
    "nn.max_pool2d_grad": ("grad data", GRADIENT_FIRST),
    "qnn.add": (SUM_OPERANDS, ATTRIBUTES),
    "qnn.batch_matmul": ("x y x_zero_point y_zero_point x_scale y_scale", CALLS),
    "qnn.conv2d": (PRODUCT_OPERANDS, CALLS),
    "qnn.conv2d_transpose": (PRODUCT_OPERANDS, CALLS),
    "qnn.dense": (PRODUCT_OPERANDS, CALLS),
    "qnn.mul": (SUM_OPERANDS, ATTRIBUTES),
    "qnn.subtract": (SUM_OPERANDS, ATTRIBUTES),
}
"""Operands that differ from the arguments in Relay's registry: what they are here, and why."""


def relay_name(op: type[IRDLOperation]) -> str:
    return op.name.removeprefix("relay.")


def each(ops: list[type[IRDLOperation]]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("op", ops, ids=relay_name)


REGISTERED = [op for op in OPS if relay_name(op) not in {**EXPRESSIONS, **EXTENSIONS}]


@each(OPS)
def test_states_one_pattern_kind(op: type[IRDLOperation]):
    # Traits of base classes accumulate: two kinds would make the answer depend on hashes.
    kinds = [t for t in op.get_irdl_definition().traits if isinstance(t, HasPatternKind)]
    assert len(kinds) == 1


@each(OPS)
def test_states_effects(op: type[IRDLOperation]):
    assert any(isinstance(trait, MemoryEffect) for trait in op.get_irdl_definition().traits)


@each(OPS)
def test_docstring_names_source(op: type[IRDLOperation]):
    doc = op.__dict__.get("__doc__")
    assert doc
    assert op is YieldOp or "Source: " in doc


@each(OPS)
def test_infers_type(op: type[IRDLOperation]):
    if op in STATED_TYPES:
        return  # No operand or property determines them.
    assert issubclass(op, RelayOp)
    assert not getattr(op.infer_type, "__isabstractmethod__", False)


@each(OPS)
def test_has_assembly_format(op: type[IRDLOperation]):
    assert op.get_irdl_definition().assembly_format or "print" in op.__dict__


@each(OPS)
def test_interpreter_stands_in_file_of_same_name(op: type[IRDLOperation]):
    functions = IMPLEMENTATIONS[op]
    # The static operators run those of all files of `dyn` operators.
    module = "xrelay.dialects.dyn.tensor" if issubclass(op, DynamicOp) else op.__module__
    assert functions.__module__ == module.replace(".dialects.", ".interpreters.")


def test_interpreters_are_found_by_an_interpreter():
    register_relay(Interpreter(ModuleOp([])))


def test_relay_facts_cover_the_dialect():
    assert {relay_name(op) for op in OPS} == {*RELAY, *EXPRESSIONS, *EXTENSIONS}


@each(REGISTERED)
def test_pattern_kind_and_flags_agree_with_relay(op: type[IRDLOperation]):
    row = RELAY[relay_name(op)]
    (kind,) = (t.kind for t in op.get_irdl_definition().traits if isinstance(t, HasPatternKind))
    # Relay registers none for operators that are rewritten before fusion.
    assert kind.label == (row["pattern_kind"] or "opaque")
    flagged = "non_computational" in row["flags"] or issubclass(op, CompilerAnnotationOp)
    assert op.has_trait(NonComputational) == flagged
    assert op.has_trait(ReshapeOnly) == ("reshape" in row["flags"])
    assert op.has_trait(ShapeDataDependent) == ("1" in row["shape_data_dependent"])
    assert (relay_name(op) in STATEFUL_IN_RELAY) == ("stateful" in row["flags"])


@each(REGISTERED)
def test_operands_agree_with_relay(op: type[IRDLOperation]):
    names = [name for name, _ in op.get_irdl_definition().operands]
    expected = RELAY[relay_name(op)]["operands"].split()
    if relay_name(op) in OPERAND_DEVIATIONS:
        stated = OPERAND_DEVIATIONS[relay_name(op)][0].split()
        assert expected != stated, "no deviation any more"
        expected = stated
    assert names == expected


def relay_default(type_: str, default: str) -> object:
    """What the registry says of one attribute: REQUIRED, OPTIONAL or its default."""
    if default == "none" or (not default and type_.endswith("?")):
        return OPTIONAL
    if not default:
        return REQUIRED
    if type_ == "dtype":
        return default.strip("'")
    return ast.literal_eval({"true": "True", "false": "False"}.get(default, default))


def dialect_default(definition: PropertyDef) -> object:
    """What the dialect says, in the same terms."""
    if isinstance(definition, OptPropertyDef):
        return OPTIONAL
    if definition.default_value is None:
        return REQUIRED
    return python_value(definition.default_value)


def python_value(attribute: Attribute) -> object:
    if isa(attribute, DenseArrayBase[IntegerType]) or isa(attribute, DenseArrayBase[Float64Type]):
        return list(attribute.get_values())
    match attribute:
        case IntegerAttr() if attribute.type == i1:
            return bool(attribute.value.data)
        case IntegerAttr() | FloatAttr():
            return attribute.value.data
        case StringAttr():
            return attribute.data
        case IntegerType():
            return f"int{attribute.width.data}"
        case VirtualDeviceAttr():
            assert attribute == VirtualDeviceAttr()
            return "unconstrained"
        case Float32Type():
            return "float32"
        case _:
            raise AssertionError(f"no Python value of {attribute}")


@each(REGISTERED)
def test_attributes_agree_with_relay(op: type[IRDLOperation]):
    name = relay_name(op)
    expected: dict[str, object] = {}
    for item in filter(None, RELAY[name]["attributes"].split("; ")):
        attribute, _, rest = item.partition(":")
        type_, _, default = rest.partition("=")
        expected[attribute] = relay_default(type_, default)
    for (op_name, attribute), (here, _) in DEVIATIONS.items():
        if op_name == name:
            assert expected[attribute] != here, "no deviation any more"
            expected[attribute] = here
    stated = {key: value for key, value in expected.items() if value != ABSENT}
    for (op_name, attribute), (here, _) in ADDED_ATTRIBUTES.items():
        if op_name == name:
            stated[attribute] = here
    properties = op.get_irdl_definition().properties
    assert {key: dialect_default(value) for key, value in properties.items()} == stated


@each(OPS)
def test_constructors_state_the_defaults_of_the_properties(op: type[IRDLOperation]):
    """What a constructor does not get, text that does not state it has as well."""
    properties = op.get_irdl_definition().properties
    for name, parameter in signature(op.__init__).parameters.items():
        stated = properties.get(name)
        if stated is None or stated.default_value is None:
            continue
        if parameter.default in (parameter.empty, None):
            continue  # None stands for the default.
        expected = python_value(stated.default_value)
        found = parameter.default
        if isinstance(found, Attribute):
            found = python_value(found)
        assert (list(found) if isinstance(expected, list) else found) == expected, name
