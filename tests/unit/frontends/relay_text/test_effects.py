"""Which operations have effects, operators with a varying number of operands, and modules without words in the text."""

import pytest
from texts import parsed
from xdsl.dialects.builtin import ComplexType, ModuleOp, TensorType, f32
from xdsl.dialects.func import FuncOp
from xdsl.dialects.test import TestOp
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import (
    AttrSizedOperandSegments,
    ParsePropInAttrDict,
    irdl_op_definition,
    opt_operand_def,
    traits_def,
)
from xdsl.traits import Pure

from xrelay.dialects.base import RelayOp
from xrelay.dialects.fields import AnyValues, Tensor, operand
from xrelay.frontends.relay_text import RelayPrintError, RelayTextError, print_relay_text
from xrelay.frontends.relay_text.attributes import Schema
from xrelay.frontends.relay_text.effects import Effects
from xrelay.frontends.relay_text.errors import Source
from xrelay.frontends.relay_text.metadata import Metadata
from xrelay.frontends.relay_text.operators import OperatorBuilder
from xrelay.frontends.relay_text.syntax import Call, NameRef

CELL = "!relay.ref<tensor<f32>>"
WRITE = f"relay.ref_write %r, %x : ({CELL}, tensor<f32>) -> tuple<>"


def choice(name: str, body: str) -> str:
    """A branch that computes something, or does nothing."""
    return (
        f"{name} = scf.if %p -> (tensor<f32>) {{ {body}\nscf.yield %x : tensor<f32> }}"
        " else { scf.yield %x : tensor<f32> }\n"
    )


def test_branches_have_the_effects_of_what_is_in_them() -> None:
    """Of branches, closures and functions those that are around an effect, but for closures, which only hold it."""
    plain = "%e = relay.exp %x : (tensor<f32>) -> tensor<f32>"
    module = parsed(
        f"func.func @main(%r: {CELL}, %x: tensor<f32>, %p: i1) -> tensor<f32> {{\n"
        f"{choice('%with', f'%u = {WRITE}')}"
        f"{choice('%without', plain)}"
        f"{choice('%around', choice('%inner', f'%v = {WRITE}'))}"
        f'%closure = "relay.closure"() ({{ %w = {WRITE}\nrelay.yield %x : tensor<f32> }})'
        " : () -> !relay.fn<() -> tensor<f32>>\n"
        "func.return %x : tensor<f32> }\n"
        "func.func @other(%x: tensor<f32>) -> tensor<f32> { func.return %x : tensor<f32> }"
    )
    found = Effects(module).of
    hints = {op.results[0].name_hint for op in found if op.results}
    assert hints == {"with", "u", "around", "inner", "v", "w"}
    functions = {op.sym_name.data for op in found if isinstance(op, FuncOp)}
    assert functions == {"main"}


def test_programs_without_effects_have_none() -> None:
    """Not even calls, of which it is not known what they do."""
    module = parsed(
        "func.func @f(%x: tensor<f32>) -> tensor<f32> { func.return %x : tensor<f32> }\n"
        "func.func @main(%x: tensor<f32>) -> tensor<f32> {\n"
        "%y = func.call @f(%x) : (tensor<f32>) -> tensor<f32>\nfunc.return %y : tensor<f32> }"
    )
    effects = Effects(module)
    assert not effects.of
    assert not any(
        effects.out_of_order(op.body.block) for op in module.ops if isinstance(op, FuncOp)
    )


# -- operands ------------------------------------------------------------------------------------


@irdl_op_definition
class ManyOp(RelayOp):
    """The first operand; the others may be any number."""

    name = "relay.test_many"

    data: Tensor = operand()
    others: AnyValues = operand()
    last: Tensor = operand()
    traits = traits_def(Pure())
    assembly_format = "$data $last `,` $others attr-dict `:` functional-type(operands, results)"

    def infer_type(self) -> Attribute:
        return self.data.type


def call(name: str, count: int) -> Call:
    return Call(0, NameRef(0, name, False), [NameRef(i, "x", False) for i in range(count)], {})


def built(op: type[RelayOp], *operands: SSAValue) -> RelayOp:
    """An operation of a call with so many operands."""
    source = Source("x" * 20, "text")
    schema = Schema(op)
    return OperatorBuilder(source, Metadata(source, None)).build(
        call(schema.name, len(operands)), schema, operands
    )


@irdl_op_definition
class SomeOp(RelayOp):
    """One operand, and perhaps another one."""

    name = "relay.test_some"

    data: Tensor = operand()
    other = opt_operand_def(TensorType)
    traits = traits_def(Pure())
    assembly_format = "$data (`,` $other^)? attr-dict `:` functional-type(operands, results)"

    def infer_type(self) -> Attribute:
        return self.data.type


@irdl_op_definition
class TwoOp(RelayOp):
    """One operand, and perhaps one or two others."""

    name = "relay.test_two"
    irdl_options = (AttrSizedOperandSegments(), ParsePropInAttrDict())

    data: Tensor = operand()
    first = opt_operand_def(TensorType)
    second = opt_operand_def(TensorType)
    traits = traits_def(Pure())
    assembly_format = (
        "$data (`,` $first^)? (`and` $second^)? attr-dict `:` type($data) (`,` type($first)^)? "
        "(`and` type($second)^)? `->` type($result)"
    )

    def infer_type(self) -> Attribute:
        return self.data.type


def refusal(op: type[RelayOp], *operands: SSAValue) -> str:
    """What is said of a call."""
    with pytest.raises(RelayTextError) as caught:
        built(op, *operands)
    return str(caught.value).split("\n")[0]


VALUES = TestOp(result_types=[TensorType(f32, [n]) for n in range(5)]).results


@pytest.mark.parametrize("count", [2, 3, 5])
def test_operands_of_any_number(count: int) -> None:
    """Those between the first and the last one."""
    op = built(ManyOp, *VALUES[:count])
    assert isinstance(op, ManyOp)
    assert op.data is VALUES[0] and op.last is VALUES[count - 1]
    assert tuple(op.others) == VALUES[1 : count - 1]
    assert op.results[0].type == TensorType(f32, [0])


@pytest.mark.parametrize("count", [1, 2])
def test_operands_that_may_be_left_out(count: int) -> None:
    """The second one is there or is not."""
    op = built(SomeOp, *VALUES[:count])
    assert isinstance(op, SomeOp)
    assert op.data is VALUES[0]
    assert op.other is (VALUES[1] if count == 2 else None)


@pytest.mark.parametrize("count", [1, 2, 3])
def test_operands_that_may_be_left_out_from_the_last_on(count: int) -> None:
    """Each is one operand at most."""
    op = built(TwoOp, *VALUES[:count])
    assert isinstance(op, TwoOp)
    found = [op.data, op.first, op.second]
    assert found == [*VALUES[:count], *[None] * (3 - count)]


def test_numbers_of_operands_that_do_not_fit() -> None:
    """The message has the least and the greatest number."""
    many = "expected at least 2 (data, others, last)"
    assert refusal(ManyOp, VALUES[0]) == f"text:1:1: test_many has 1 operands, {many}"
    some = "expected 1 to 2 (data, other)"
    assert refusal(SomeOp) == f"text:1:1: test_some has 0 operands, {some}"
    assert refusal(SomeOp, *VALUES[:3]) == f"text:1:1: test_some has 3 operands, {some}"


def test_kinds_of_operands() -> None:
    """As a schema has them."""
    many, some = Schema(ManyOp), Schema(SomeOp)
    assert (many.kinds, many.fewest, many.most, many.segmented) == (
        ("one", "many", "one"),
        2,
        None,
        True,
    )
    assert (some.kinds, some.fewest, some.most, some.segmented) == (("one", "optional"), 1, 2, True)


# -- what the text has no words for --------------------------------------------------------------

X = "func.func @main(%x: tensor<2xf32>) -> tensor<2xf32>"
REFUSED: dict[str, tuple[str, str]] = {
    "an attribute of a function": (
        f"{X} attributes {{a = affine_map<(d0) -> (d0)>}} {{ func.return %x : tensor<2xf32> }}",
        "attribute a = affine_map<(d0) -> (d0)>",
    ),
    "an operation of another dialect": (
        f"{X} {{ %y = arith.negf %x : tensor<2xf32>\nfunc.return %y : tensor<2xf32> }}",
        "arith.negf",
    ),
    "a branch alone": (
        "func.func @main(%p: tensor<i1>) { %c = tensor.extract %p[] : tensor<i1> scf.if %c { } func.return }",
        "scf.if without an else, or with a condition that is not extracted from a tensor",
    ),
}


def said(module: ModuleOp) -> str:
    """What is said of a module."""
    with pytest.raises(RelayPrintError) as caught:
        print_relay_text(module)
    return str(caught.value)


@pytest.mark.parametrize("case", REFUSED)
def test_modules_without_words(case: str) -> None:
    """The message names what they have."""
    text, rest = REFUSED[case]
    assert said(parsed(text)) == f"Relay text has no words for {rest}"


def test_operators_without_words() -> None:
    """One that Relay does not have, and a property of one that it has."""
    body = '%y = "relay.sum"(%x) : (tensor<2xf32>) -> tensor<f32>\nfunc.return %y : tensor<f32>'
    module = parsed(f"func.func @main(%x: tensor<2xf32>) -> tensor<f32> {{ {body} }}")
    (old,) = [op for op in module.walk() if op.name == "relay.sum"]
    old.properties["axis"] = ComplexType(f32)
    assert said(module) == "Relay text has no words for axis = complex<f32> of relay.sum"
    block = old.parent
    assert block is not None
    new = SomeOp.of([old.operands[0], []], {})
    block.insert_op_before(new, old)
    old.operands = [new.results[0]]
    assert said(module) == "Relay text has no words for relay.test_some"
