"""From a call of an operator in the text to the operation of the dialect."""

from collections.abc import Sequence
from difflib import get_close_matches

from xdsl.dialects.builtin import NoneType
from xdsl.ir import Attribute, OpResult, SSAValue
from xdsl.ir.core import SSAValues
from xdsl.utils.exceptions import VerifyException

from xrelay.dialects.base import RelayOp
from xrelay.dialects.shapes import is_tensor_type
from xrelay.frontends.relay_text.attributes import (
    BESIDE_OPERANDS,
    BOOLEAN,
    INTEGER,
    INTEGERS,
    NUMBER,
    OBJECT_FIELDS,
    SCHEMAS,
    Schema,
)
from xrelay.frontends.relay_text.errors import RelayTextError, Source
from xrelay.frontends.relay_text.literals import int64
from xrelay.frontends.relay_text.metadata import Metadata
from xrelay.frontends.relay_text.syntax import Attrs, AttrText, AttrValue, Call, MetaRef, NameRef
from xrelay.frontends.relay_text.type_printer import written
from xrelay.frontends.relay_text.types import element_type_named


class OperatorBuilder:
    """Builds the operations that the calls of one text stand for."""

    def __init__(self, source: Source, metadata: Metadata):
        self.source = source
        self.metadata = metadata
        self._accepted: dict[tuple[Schema, int, type[Attribute]], bool] = {}

    def schema(self, callee: NameRef) -> Schema:
        """
        The operator of a name.

        Raises RelayTextError that suggests similar names.
        """
        schema = SCHEMAS.get(callee.name)
        if schema is None:
            similar = get_close_matches(callee.name, SCHEMAS, n=3)
            hint = f", is it {' or '.join(similar)}?" if similar else ""
            raise self.source.error(
                callee.position, f"unknown operator or constructor '{callee.name}'{hint}"
            )
        return schema

    def build(self, call: Call, schema: Schema, operands: Sequence[SSAValue]) -> RelayOp:
        """
        The operation, with the result type that it infers.

        Raises RelayTextError for a wrong number of operands, operands and attributes that the
        operator does not take.
        """
        self._check_operands(call, schema, operands)
        properties = self.properties(call, schema)
        if schema.segmented:
            try:
                return schema.op.of(_grouped(schema, operands), properties)
            except VerifyException as error:
                raise self._refused(call, schema, error) from error
        op = schema.op.create(operands=operands, result_types=(_UNKNOWN,), properties=properties)
        try:
            type_ = op.infer_type()
        except VerifyException as error:
            raise self._refused(call, schema, error) from error
        op.results = SSAValues((OpResult(type_, op, 0),))
        if "dtype" in call.attrs and "dtype" not in schema.properties:
            self._check_dtype(call, schema, type_)
        return op

    def _check_dtype(self, call: Call, schema: Schema, type_: Attribute) -> None:
        """Relay states the element type of some results that operands or others tell anyway."""
        stated = call.attrs["dtype"]
        if not isinstance(stated.value, str) or not stated.value:
            return
        if not is_tensor_type(type_) or type_.element_type != element_type_named(stated.value):
            raise self.source.error(
                stated.position,
                f"{schema.name} has the attribute 'dtype' {stated.value}, its result is {written(type_)}",
            )

    def _refused(self, call: Call, schema: Schema, error: VerifyException) -> RelayTextError:
        return self.source.error(call.position, f"{schema.name}: {error}")

    def _check_operands(self, call: Call, schema: Schema, operands: Sequence[SSAValue]) -> None:
        count = len(operands)
        if count < schema.fewest or (schema.most is not None and count > schema.most):
            raise self.source.error(
                call.position, f"{schema.name} has {count} operands, expected {schema.arity}"
            )
        for index, operand in enumerate(operands):
            key = schema, index, type(operand.type)
            accepted = self._accepted.get(key)
            if accepted is None:
                accepted = self._accepted[key] = schema.takes(index, operand.type)
            if not accepted:
                raise self.source.error(
                    call.args[index].position,
                    f"{schema.name}: operand '{schema.operands[index]}' is {written(operand.type)}, "
                    f"which it does not take",
                )

    def properties(self, call: Call, schema: Schema) -> dict[str, Attribute]:
        """The properties of a call: those that the text states, and defaults."""
        properties = dict(schema.defaults)
        ignored = BESIDE_OPERANDS.get(schema.name, {})
        attrs = call.attrs
        if call.meta_attrs is not None:
            attrs = self._from_metadata(call.meta_attrs, schema)
        for name, attr in attrs.items():
            if name not in schema.properties:
                if name == "dtype" or name in ignored:
                    continue
                known = ", ".join(schema.properties) or "none"
                raise self.source.error(
                    attr.position,
                    f"{schema.name} has no attribute '{name}', its attributes are: {known}",
                )
            try:
                value = attr.value
                if isinstance(value, MetaRef):
                    value = self.metadata.value(value)
                found = schema.property_of(name, value)
            except ValueError as error:
                raise self.source.error(
                    attr.position,
                    f"attribute '{name}' of {schema.name} is {attr.value!r}, {error}",
                ) from error
            if found is None:
                properties.pop(name, None)  # an optional one, absent
            else:
                properties[name] = found
        for name in schema.required:
            if name not in properties:
                raise self.source.error(
                    call.position, f"{schema.name} lacks the attribute '{name}'"
                )
        return properties

    def _from_metadata(self, ref: MetaRef, schema: Schema) -> Attrs:
        """The attributes of a call that an entry of the metadata section holds."""
        node = self.metadata.node(ref)
        attrs: Attrs = {}
        for name, field in self.metadata.attrs(node).items():
            value: AttrValue = field
            if name in schema.properties:
                value = self._field(ref, name, field, schema)
            attrs[name] = AttrText(value, ref.position)
        return attrs

    def _field(self, ref: MetaRef, name: str, field: str, schema: Schema) -> AttrValue:
        """The value of a field of an object, which is a string whatever its type."""
        metadata = self.metadata
        try:
            if (ref.key, name) in OBJECT_FIELDS:
                return metadata.plain(metadata.at(field, ref), ref)
            if schema.accepts(name, INTEGERS):
                if metadata.at(field, ref).get("type_key") == "":
                    return None
                return [metadata.integer(item, ref) for item in metadata.items(field, ref)]
            if schema.accepts(name, INTEGER) or schema.accepts(name, BOOLEAN):
                return int64(field)
            if schema.accepts(name, NUMBER):
                return float(field)
        except ValueError:
            raise metadata.error(
                ref, f"field '{name}' is {field!r}, expected a number of 64 bits"
            ) from None
        return field


def _grouped(schema: Schema, operands: Sequence[SSAValue]) -> list[SSAValue | Sequence[SSAValue]]:
    """Operands as constructors take them: optional and variadic ones in lists of their own."""
    groups: list[SSAValue | Sequence[SSAValue]] = []
    spare = len(operands) - schema.fewest
    rest = list(operands)
    for kind in schema.kinds:
        if kind == "one":
            groups.append(rest.pop(0))
            continue
        count = spare if kind == "many" else min(spare, 1)
        groups.append([rest.pop(0) for _ in range(count)])
        spare -= count
    return groups


_UNKNOWN = NoneType()
