"""The element types of operands that ONNX's schemas allow: others have no meaning in ONNX, and are refused."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache

from onnx import NodeProto, defs
from onnx.defs import OpSchema
from xdsl.ir import SSAValue

from xrelay.dialects.dtypes import DTYPES, dtype_name
from xrelay.dialects.shapes import is_tensor_type
from xrelay.frontends.onnx.errors import OnnxImportError
from xrelay.frontends.onnx.narrow import Narrow
from xrelay.runtime.arguments import few

_NAMES: Mapping[str, str] = {row.onnx.lower(): row.name for row in DTYPES}
"""The names of element types by those in schemas."""

_LOOSE = frozenset((("Tile", 1),))
"""Schemas that say what nobody means: the repetitions of Tile would be floating-point numbers."""


@dataclass(frozen=True)
class _Input:
    """An input in a schema."""

    name: str
    variable: str
    """What inputs of one element type share; nothing where there is none to share."""
    allowed: frozenset[str]
    """The names of element types; none where it takes no tensors."""
    is_variadic: bool


@dataclass(frozen=True)
class _Schema:
    """The inputs of an operator in one version."""

    inputs: Sequence[_Input]

    def input(self, index: int) -> _Input | None:
        """What the schema says of an operand; None for one too many."""
        if index < len(self.inputs):
            return self.inputs[index]
        last = self.inputs[-1] if self.inputs else None
        return last if last is not None and last.is_variadic else None

    def agrees(self, other: "_Schema", count: int) -> bool:
        """Whether the first inputs mean what they do in another version, where some have other names."""
        if len(self.inputs) == len(other.inputs):
            return True
        here, there = ([each.name for each in s.inputs[:count]] for s in (self, other))
        return here == there


def _described(schema: OpSchema) -> _Schema:
    inputs: list[_Input] = []
    for each in schema.inputs:
        found = (re.fullmatch(r"(?:optional\()?tensor\((\w+)\)+", text) for text in each.types)
        allowed = frozenset(_NAMES.get(match[1], match[1]) for match in found if match)
        is_variadic = each.option == OpSchema.FormalParameterOption.Variadic
        is_shared = "(" not in each.type_str and (each.is_homogeneous or not is_variadic)
        variable = each.type_str if is_shared else ""
        inputs.append(_Input(each.name, variable, allowed, is_variadic))
    return _Schema(inputs)


@cache
def _history(domain: str, op_type: str) -> Mapping[int, _Schema]:
    """The schemas of an operator by the operator sets that they are from, the newest first."""
    found: dict[int, _Schema] = {}
    version = defs.onnx_opset_version() if domain == "" else 2**31 - 1
    while version > 0 and defs.has(op_type, version, domain):
        schema = defs.get_schema(op_type, version, domain)
        if not schema.deprecated and (op_type, schema.since_version) not in _LOOSE:
            found[schema.since_version] = _described(schema)
        version = schema.since_version - 1
    return found


@cache
def _schemas(domain: str, op_type: str, opset: int) -> Sequence[_Schema]:
    """The schema that is in force in an operator set, before those of all others; none where the set is not known."""
    if not domain and opset > defs.onnx_opset_version():
        return ()
    history = _history(domain, op_type)
    since = max((each for each in history if each <= opset), default=None)
    if since is None:
        return ()
    return [history[each] for each in (since, *sorted(history.keys() - {since}))]


def require_types(
    node: NodeProto,
    domain: str,
    opset: int,
    values: Mapping[str, SSAValue | None],
    narrow: Mapping[SSAValue, Narrow],
) -> None:
    """
    Raises OnnxImportError for a node with operands whose element types the schema of its operator set forbids, and
    those of all other sets, too: many files state an older set than their types are from, and what a set has dropped
    means what it did.
    """
    schemas = _schemas(domain, node.op_type, opset)
    if not schemas:
        return
    operands = dict(_operands(node, values, narrow))
    wrong = _refusal(schemas[0], operands)
    if wrong is None:
        return
    others = (each for each in schemas[1:] if each.agrees(schemas[0], len(node.input)))
    if all(_refusal(each, operands) is not None for each in others):
        raise OnnxImportError(wrong)


def _operands(
    node: NodeProto,
    values: Mapping[str, SSAValue | None],
    narrow: Mapping[SSAValue, Narrow],
) -> Iterator[tuple[int, tuple[str, bool]]]:
    """The operands that are tensors: the name of the element type, and whether programs hold another for it."""
    for index, name in enumerate(node.input):
        value = values.get(name) if name else None
        if value is None or not is_tensor_type(value.type):
            continue
        held = narrow.get(value)
        if held is None:
            yield index, (dtype_name(value.type.element_type), False)
        else:
            yield index, (held.name, True)


def _refusal(schema: _Schema, operands: Mapping[int, tuple[str, bool]]) -> str | None:
    """What is wrong with operands, None where nothing is."""
    first: dict[str, int] = {}
    for index, (dtype, is_narrow) in operands.items():
        formal = schema.input(index)
        if formal is None:
            continue
        if formal.allowed and dtype not in formal.allowed and not is_narrow:
            expected = few(name for name in _NAMES.values() if name in formal.allowed)
            what = f"input {index} ('{formal.name}')"
            return f"{what} has elements of type {dtype}, expected {expected}"
        if not formal.variable:
            continue
        other = first.setdefault(formal.variable, index)
        if operands[other][0] != dtype:
            before = schema.input(other)
            assert before is not None
            return (
                f"input {other} ('{before.name}') has elements of type {operands[other][0]} and "
                f"input {index} ('{formal.name}') of type {dtype}, expected one type"
            )
    return None
