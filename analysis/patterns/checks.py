"""
What patterns ask of a value itself: whether it is a constant, a number, of a type, with attributes.

Each check returns why it does not hold, in words, and nothing when it holds.
"""

from collections.abc import Mapping
from math import isclose
from typing import cast

from xdsl.dialects.builtin import (
    ArrayAttr,
    DenseArrayBase,
    FloatAttr,
    IntegerAttr,
    IntegerType,
    StringAttr,
    UnitAttr,
    i1,
)
from xdsl.ir import Attribute, Block, Operation, OpResult, SSAValue
from xdsl.utils.exceptions import DiagnosticException

from xrelay.analysis.facts.constants import number_of, rounding
from xrelay.analysis.patterns.language import (
    AttrPattern,
    ConstantPattern,
    DtypePattern,
    ExprPattern,
    NumberPattern,
    Pattern,
    RestrictedPattern,
    ShapePattern,
    TypePattern,
    VarPattern,
    WherePattern,
)
from xrelay.dialects.core.functional import LetOp
from xrelay.dialects.core.values import CalledBodyOp, ConstantOp
from xrelay.dialects.dtypes import dtype_name, is_element_type
from xrelay.dialects.shapes import is_tensor_type
from xrelay.dialects.traits import pattern_kind


def value_text(value: SSAValue) -> str:
    name = f"%{value.name_hint}" if value.name_hint else "a value"
    owner = value.owner
    return f"{name} ({owner.name})" if isinstance(owner, Operation) else f"{name} (a parameter)"


def same_value(one: SSAValue, other: SSAValue) -> bool:
    """Whether two values are the same, or equal constants."""
    if one is other:
        return True
    left, right = one.owner, other.owner
    return (
        isinstance(left, ConstantOp)
        and isinstance(right, ConstantOp)
        and one.type == other.type
        and left.value == right.value
    )


def same_expression(one: SSAValue, other: SSAValue) -> bool:
    """Whether two values are computed alike from the same parameters."""
    pending, seen = [(one, other)], set[tuple[SSAValue, SSAValue]]()
    while pending:
        pair = pending.pop()
        if pair in seen or same_value(*pair):
            continue
        seen.add(pair)
        left, right = pair
        if not isinstance(left, OpResult) or not isinstance(right, OpResult):
            return False
        if (
            left.op.name != right.op.name
            or left.index != right.index
            or left.op.properties != right.op.properties
            or left.op.regions
            or right.op.regions
            or len(left.op.operands) != len(right.op.operands)
        ):
            return False
        pending.extend(zip(left.op.operands, right.op.operands, strict=True))
    return True


def plain(attribute: Attribute) -> object:
    """The Python value of an attribute, as patterns write it; element types by Relay's name."""
    match attribute:
        case IntegerAttr() if attribute.type == i1:
            return bool(attribute.value.data)
        case IntegerAttr() | FloatAttr():
            return attribute.value.data
        case StringAttr():
            return attribute.data
        case DenseArrayBase():
            return list(cast(DenseArrayBase[IntegerType], attribute).get_values())
        case ArrayAttr():
            return [plain(item) for item in attribute]
        case UnitAttr():
            return True
        case _ if is_element_type(attribute):
            return dtype_name(attribute)
        case _:
            return attribute


def leaf_mismatch(pattern: Pattern, value: SSAValue) -> str:
    """Why a value is not as a pattern without parts describes, empty when it is."""
    owner = value.owner
    match pattern:
        case VarPattern():
            if not isinstance(owner, Block | LetOp):
                return "it is no variable"
            if pattern.name and value.name_hint != pattern.name:
                return f"its name is {value.name_hint}"
            return ""
        case ConstantPattern():
            return "" if isinstance(owner, ConstantOp) else "it is no constant"
        case NumberPattern():
            found = number_of(value)
            if found is None:
                return "it is no constant of one number"
            wanted = pattern.value
            if wanted is not None and not isclose(found, wanted, rel_tol=rounding(value)):
                return f"the number is {found}"
            return ""
        case ExprPattern():
            same = same_expression(pattern.value, value)
            return "" if same else "it is computed in another way"
        case _:
            return "it describes no value"


def restriction(pattern: RestrictedPattern, value: SSAValue) -> str:
    """Why a value has not the property that a pattern asks for, empty when it has."""
    owner, type_ = value.owner, value.type
    match pattern:
        case AttrPattern():
            if not isinstance(owner, Operation):
                return "it has no attributes"
            return _attributes(pattern.attrs, {**owner.attributes, **owner.properties})
        case TypePattern():
            return "" if type_ == pattern.type else f"its type is {type_}"
        case DtypePattern():
            if not is_tensor_type(type_):
                return f"its type is {type_}"
            dtype = dtype_name(type_.element_type)
            return "" if dtype == pattern.dtype else f"its elements are {dtype}"
        case ShapePattern():
            if not is_tensor_type(type_):
                return f"its type is {type_}"
            shape = type_.get_shape()
            same = len(shape) == len(pattern.shape) and all(
                wanted in (None, found) for found, wanted in zip(shape, pattern.shape, strict=True)
            )
            return "" if same else f"its shape is {shape}"
        case WherePattern():
            if not isinstance(owner, Operation):
                return "no operation computes it"
            try:
                return "" if pattern.condition(owner) else f"not {pattern.reason}"
            except Exception as error:
                raise DiagnosticException(
                    f"the condition of {pattern} raises {type(error).__name__}: {error}, asked about "
                    f"{value_text(value)}"
                ) from error
        case _:
            raise AssertionError(pattern)


def callee_attributes(pattern: AttrPattern, op: Operation) -> str:
    """Why an operator or a function literal has not the attributes, empty when it has."""
    if isinstance(op, CalledBodyOp):
        return _attributes(pattern.attrs, {**op.attributes, **_relay_named(op.properties)})
    for name, wanted in pattern.attrs.items():
        if name != "TOpPattern":
            return f"operators have no attribute {name}"
        found = int(pattern_kind(op))
        if found != wanted:
            return f"TOpPattern is {found}"
    return ""


def _relay_named(properties: Mapping[str, Attribute]) -> dict[str, Attribute]:
    names = {"composite": "Composite", "partitioned_from_pattern": "PartitionedFromPattern"}
    return {names.get(name, name): value for name, value in properties.items()}


def _attributes(wanted: Mapping[str, object], found: Mapping[str, Attribute]) -> str:
    for name, value in wanted.items():
        if name not in found:
            return f"it has no attribute {name}"
        if plain(found[name]) != (_listed(value)):
            return f"{name} is {plain(found[name])}"
    return ""


def _listed(value: object) -> object:
    """What a pattern writes, with lists for tuples as `plain` has them."""
    return list(cast(tuple[object, ...], value)) if isinstance(value, tuple) else value
