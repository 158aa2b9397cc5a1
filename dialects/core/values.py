"""
Constants, tuples and function-like operators of the relay dialect.

`relay.fused` is Relay's `Primitive` function literal called in place, `relay.composite` its
`Composite` one.
"""

from collections.abc import Sequence

from xdsl.dialects.builtin import (
    ArrayAttr,
    IntegerAttr,
    StringAttr,
    TensorType,
    TupleType,
    UnitAttr,
)
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.irdl import (
    IRDLOperation,
    ParsePropInAttrDict,
    irdl_op_definition,
    operand_def,
    opt_prop_def,
    prop_def,
    region_def,
    result_def,
    traits_def,
    var_operand_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import IsolatedFromAbove, IsTerminator, Pure, RecursiveMemoryEffect
from xdsl.utils.exceptions import VerifyException

from xrelay.dialects.base import RelayOp, operators, tuple_type
from xrelay.dialects.core.blob import BlobAttr, element_bytes
from xrelay.dialects.core.dense import is_dense, stored_once, with_bits, written
from xrelay.dialects.core.strategy import StrategyAttr, verify_strategies
from xrelay.dialects.fields import AnyValues, Integer, TensorTuple, Value, operand, prop
from xrelay.dialects.lengths import LengthsAttr
from xrelay.dialects.shapes import compatible, element_count, is_tensor_type
from xrelay.dialects.traits import HasPatternKind, NonComputational, OpPatternKind

INLINE_ELEMENTS = 16
"""Constants with at most this many elements, and splats, are printed with their values."""


@irdl_op_definition
class ConstantOp(RelayOp):
    """
    A constant tensor. Small ones and splats hold a dense attribute, in which one element stands for all
    that are the same, others a blob.

    Source: Relay's `Constant`.
    """

    name = "relay.constant"

    value = prop_def(Attribute)
    # Fusion gives scalar constants the kind elementwise: see xrelay.analysis.fusion.plan.
    traits = traits_def(Pure(), HasPatternKind(OpPatternKind.OPAQUE))

    def __init__(self, value: Attribute, result_type: TensorType[Attribute] | None = None):
        self.initialize([], {"value": value}, result_type)

    def __post_init__(self) -> None:
        super().__post_init__()
        value = self.properties.get("value")
        if value is not None and is_dense(value):
            self.properties["value"] = stored_once(value)

    # A dense attribute carries its type and a blob does not, which no assembly_format expresses.
    @classmethod
    def parse(cls, parser: Parser) -> "ConstantOp":
        attributes = parser.parse_optional_attr_dict()
        begin = parser.pos
        value = parser.parse_attribute()
        if is_dense(value):
            text = parser.lexer.input.content[begin : parser.pos]
            try:
                value = with_bits(value, text)
            except VerifyException as error:
                parser.raise_error(str(error), begin, parser.pos)
        result_type: Attribute | None = None
        if not is_dense(value):
            parser.parse_punctuation(":")
            position = parser.pos
            result_type = parser.parse_type()
            if not is_tensor_type(result_type):
                parser.raise_error("expected a tensor type", position, parser.pos)
        op = cls(value, result_type)
        op.attributes.update(attributes)
        return op

    def print(self, printer: Printer) -> None:
        printer.print_op_attributes(self.attributes)
        printer.print_string(" ")
        if is_dense(self.value):
            numbers = written(self.value)
            if numbers is not None:
                printer.print_string(numbers)
                return
            printer.print_string(f'dense<"0x{self.value.data.data.hex().upper()}">')
        else:
            printer.print_attribute(self.value)
        printer.print_string(" : ")
        printer.print_attribute(self.result.type)

    def infer_type(self) -> Attribute:
        if is_dense(self.value):
            return TensorType(self.value.get_element_type(), self.value.get_shape())
        return self.result.type

    def verify_(self) -> None:
        if not is_dense(self.value) and not isinstance(self.value, BlobAttr | LengthsAttr):
            raise VerifyException(f"'value' is {self.value}, expected dense<…> or #relay.blob<…>")
        if not self.result.type.has_static_shape():
            raise VerifyException(f"result type is {self.result.type}, expected a static shape")
        super().verify_()
        if isinstance(self.value, BlobAttr) and self.value.data.data is not None:
            expected = element_count(self.result.type.get_shape()) * element_bytes(
                self.result.type.element_type
            )
            if len(self.value.data.data) != expected:
                raise VerifyException(
                    f"'value' has {len(self.value.data.data)} bytes, {self.result.type} "
                    f"has {expected}"
                )


@irdl_op_definition
class TupleOp(RelayOp):
    """
    A tuple of values.

    Source: Relay's `Tuple`.
    """

    name = "relay.tuple"

    fields: AnyValues = operand()
    result = result_def(TupleType)
    traits = traits_def(Pure(), HasPatternKind(OpPatternKind.TUPLE))
    assembly_format = "($fields^)? attr-dict `:` functional-type(operands, results)"

    def infer_type(self) -> Attribute:
        return tuple_type(self.fields.types)


STATED_FIELDS = 16
"""Of longer tuples the text does not say the type at each use of a field."""


def _is_around(owner: Operation | Block, op: Operation) -> bool:
    """Whether what defines a value stands in the block of its use or around that: in front of it in the text."""
    defining = owner if isinstance(owner, Block) else owner.parent
    block = op.parent
    while block is not None and block is not defining:
        block = block.parent_block()
    return block is not None


@irdl_op_definition
class TupleGetItemOp(RelayOp):
    """
    One field of a tuple. The text of one of more than 16 fields leaves out its type: `%t[3] : tensor<4xf32>`.

    Source: Relay's `TupleGetItem`.
    """

    name = "relay.tuple_get_item"

    tuple_value: TensorTuple = operand()
    index: Integer = prop()
    result = result_def()
    traits = traits_def(Pure(), HasPatternKind(OpPatternKind.INJECTIVE))

    # Written by hand: the type of a tuple of n fields at each of them makes n² types.
    @classmethod
    def parse(cls, parser: Parser) -> "TupleGetItemOp":
        position = parser.pos
        name = parser.parse_unresolved_operand()
        parser.parse_punctuation("[")
        index = IntegerAttr(parser.parse_integer(allow_boolean=False), 64)
        parser.parse_punctuation("]")
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        if parser.parse_optional_punctuation("("):
            type_ = parser.parse_type()
            parser.parse_punctuation(")")
            parser.parse_punctuation("->")
        else:
            known = parser.ssa_values.get(name.operand_name, ())
            if name.index >= len(known):
                parser.raise_error("expected a tuple that is defined before", position, parser.pos)
            type_ = known[name.index].type
        return cls.create(
            operands=[parser.resolve_operand(name, type_)],
            result_types=[parser.parse_type()],
            properties={"index": index},
            attributes=attributes,
        )

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        tuple_value = self.operands[0]
        printer.print_ssa_value(tuple_value)
        printer.print_string(f"[{self.index.value.data}]")
        printer.print_op_attributes(self.attributes)
        printer.print_string(" : ")
        type_ = tuple_value.type
        is_long = isinstance(type_, TupleType) and len(type_.types) > STATED_FIELDS
        if not is_long or not _is_around(tuple_value.owner, self):
            printer.print_string("(")
            printer.print_attribute(type_)
            printer.print_string(") -> ")
        printer.print_attribute(self.result.type)

    def infer_type(self) -> Attribute:
        fields = self.tuple_value.type.types.data
        index = self.index.value.data
        if not 0 <= index < len(fields):
            raise VerifyException(f"'index' is {index}, the tuple has {len(fields)} fields")
        return fields[index]


@irdl_op_definition
class YieldOp(IRDLOperation):
    """Ends the body of `relay.fused` and `relay.composite` with its one result."""

    name = "relay.yield"

    value = operand_def()
    traits = traits_def(
        Pure(), IsTerminator(), HasPatternKind(OpPatternKind.OPAQUE), NonComputational()
    )
    assembly_format = "$value attr-dict `:` type($value)"

    def __init__(self, value: Value):
        super().__init__(operands=[value])


class BodyOp(IRDLOperation):
    """A function literal: block arguments are its parameters."""

    irdl_options = (ParsePropInAttrDict(),)

    result = result_def()
    body = region_def("single_block")

    @property
    def block(self) -> Block:
        """The block of the body."""
        return self.body.block

    @property
    def yielded(self) -> SSAValue:
        """The value in the body that becomes the result."""
        terminator = self.block.last_op
        assert isinstance(terminator, YieldOp)
        return terminator.value

    def verify_(self) -> None:
        if not isinstance(self.block.last_op, YieldOp):
            raise VerifyException("the body does not end with relay.yield")


class CalledBodyOp(BodyOp):
    """A function literal called in place."""

    args = var_operand_def()
    traits = traits_def(
        RecursiveMemoryEffect(), IsolatedFromAbove(), HasPatternKind(OpPatternKind.OPAQUE)
    )

    def verify_(self) -> None:
        super().verify_()
        params = self.block.args
        if len(params) != len(self.args):
            raise VerifyException(
                f"the body has {len(params)} parameters, {len(self.args)} arguments are given"
            )
        for i, (param, arg) in enumerate(zip(params, self.args, strict=True)):
            if not compatible(param.type, arg.type):
                raise VerifyException(
                    f"parameter {i} has type {param.type}, its argument {arg.type}"
                )
        if not compatible(self.yielded.type, self.result.type):
            raise VerifyException(
                f"result type is {self.result.type}, the body yields {self.yielded.type}"
            )


@irdl_op_definition
class FusedOp(CalledBodyOp):
    """
    Operators that become one kernel. The body is isolated: it uses its parameters only.

    `reshape_only` says that every operator of the body only changes the shape, so that no
    kernel is needed. `strategies` says what computes the operators that get loops of their own, in
    the order of the body; `select-strategies` writes it.

    Source: Relay's `Function` with `Primitive=1`, and `relay.reshape_only=1`.
    """

    name = "relay.fused"

    reshape_only = opt_prop_def(UnitAttr)
    strategies = opt_prop_def(ArrayAttr[StrategyAttr])
    assembly_format = "($args^)? attr-dict-with-keyword `:` functional-type($args, results) $body"

    def __init__(
        self,
        args: Sequence[Value],
        body: Region,
        result_type: Attribute,
        *,
        reshape_only: bool = False,
    ):
        super().__init__(
            operands=[list(args)],
            result_types=[result_type],
            regions=[body],
            properties={"reshape_only": UnitAttr() if reshape_only else None},
        )

    @property
    def operators(self) -> tuple[Operation, ...]:
        """The operations of the body, without the one that ends it."""
        return tuple(self.block.ops)[:-1]

    def verify_(self) -> None:
        super().verify_()
        if self.strategies is not None:
            verify_strategies(self.strategies.data, self.operators)


@irdl_op_definition
class CompositeOp(CalledBodyOp):
    """
    Operators that a backend knows as one, under the name `composite` ("dnnl.conv2d_relu").

    Source: Relay's `Function` with `Composite="…"`; `partitioned_from_pattern` is its
    `PartitionedFromPattern`.
    """

    name = "relay.composite"

    composite = prop_def(StringAttr)
    partitioned_from_pattern = opt_prop_def(StringAttr)
    assembly_format = (
        "$composite ($args^)? attr-dict-with-keyword `:` functional-type($args, results) $body"
    )

    def __init__(
        self,
        composite: str,
        args: Sequence[Value],
        body: Region,
        result_type: Attribute,
        *,
        partitioned_from_pattern: str | None = None,
    ):
        super().__init__(
            operands=[list(args)],
            result_types=[result_type],
            regions=[body],
            properties={
                "composite": StringAttr(composite),
                "partitioned_from_pattern": None
                if partitioned_from_pattern is None
                else StringAttr(partitioned_from_pattern),
            },
        )


CORE_OPS = operators(__name__)
CORE_ATTRS = (BlobAttr, StrategyAttr)
