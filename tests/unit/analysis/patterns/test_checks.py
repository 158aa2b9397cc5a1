"""What patterns say of values and of themselves, leaf by leaf, and the groups that matches become."""

import pytest
from xdsl.dialects.builtin import (
    ArrayAttr,
    BoolAttr,
    DenseArrayBase,
    FloatAttr,
    IntegerAttr,
    StringAttr,
    UnitAttr,
    bf16,
    f16,
    f32,
    i1,
    i32,
    i64,
)
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.parser import Parser
from xdsl.utils.exceptions import DiagnosticException

from xrelay.analysis.patterns.checks import leaf_mismatch, plain, restriction
from xrelay.analysis.patterns.groups import embeds, group_of
from xrelay.analysis.patterns.language import (
    Pattern,
    RestrictedPattern,
    is_constant,
    is_expr,
    is_function,
    is_if,
    is_number,
    is_op,
    is_tuple,
    is_tuple_get_item,
    is_var,
    one_of,
    wildcard,
)
from xrelay.analysis.patterns.matching import match, why_not
from xrelay.analysis.patterns.search import Mismatch
from xrelay.compiler import context
from xrelay.dialects.tensor.binary import AddOp
from xrelay.dialects.tensor.unary import ReluOp

TEXT = """
func.func @main(%x: tensor<4xf32>, %p: tuple<tensor<4xf32>, tensor<4xf32>>, %c: i1) -> tensor<4xf32> {
  %one = relay.constant dense<1.0> : tensor<4xf32>
  %list = relay.constant dense<[1.0, 2.0, 3.0, 4.0]> : tensor<4xf32>
  %half = relay.constant dense<0.5> : tensor<4xf16>
  %a = relay.add %x, %one : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %b = relay.nn.relu %a : (tensor<4xf32>) -> tensor<4xf32>
  %t = relay.tuple %a, %b : (tensor<4xf32>, tensor<4xf32>) -> tuple<tensor<4xf32>, tensor<4xf32>>
  %g = relay.tuple_get_item %t[1] : (tuple<tensor<4xf32>, tensor<4xf32>>) -> tensor<4xf32>
  %e = relay.exp %g : (tensor<4xf32>) -> tensor<4xf32>
  %l = relay.let %e : (tensor<4xf32>) -> tensor<4xf32>
  %d = relay.composite "mine.negative" %l : (tensor<4xf32>) -> tensor<4xf32> {
  ^bb0(%y: tensor<4xf32>):
    %n = relay.negative %y : (tensor<4xf32>) -> tensor<4xf32>
    relay.yield %n : tensor<4xf32>
  }
  %if = scf.if %c -> (tensor<4xf32>) {
    scf.yield %a : tensor<4xf32>
  } else {
    scf.yield %b : tensor<4xf32>
  }
  func.return %d : tensor<4xf32>
}
"""


def values() -> dict[str, SSAValue]:
    """The values of the program, by name."""
    module = Parser(context(), TEXT).parse_module()
    module.verify()
    found: dict[str, SSAValue] = {}
    for op in module.walk():
        blocks = [block for region in op.regions for block in region.blocks]
        for value in (*op.results, *(arg for block in blocks for arg in block.args)):
            if value.name_hint is not None:
                found[value.name_hint] = value
    return found


@pytest.mark.parametrize(
    ("attribute", "found"),
    [
        (BoolAttr.from_bool(True), True),
        (BoolAttr.from_bool(False), False),
        (IntegerAttr(1, i32), 1),
        (IntegerAttr(-3, i64), -3),
        (FloatAttr(0.25, f32), 0.25),
        (StringAttr("NCHW"), "NCHW"),
        (DenseArrayBase.from_list(i64, [1, -2, 3]), [1, -2, 3]),
        (ArrayAttr([StringAttr("a"), ArrayAttr([IntegerAttr(2, i64)])]), ["a", [2]]),
        (UnitAttr(), True),
        (f16, "float16"),
        (bf16, "bfloat16"),
        (i1, "bool"),
        (i32, "int32"),
    ],
)
def test_python_values_of_attributes(attribute: Attribute, found: object) -> None:
    """What patterns write for an attribute, of the same Python type."""
    value = plain(attribute)
    assert (type(value), value) == (type(found), found)


def test_an_attribute_without_a_python_value() -> None:
    type_ = values()["x"].type
    assert plain(type_) is type_


@pytest.mark.parametrize(
    ("pattern", "name", "reason"),
    [
        (is_var(), "x", ""),
        (is_var(), "l", ""),
        (is_var("x"), "x", ""),
        (is_var("y"), "x", "its name is x"),
        (is_var(), "a", "it is no variable"),
        (is_constant(), "list", ""),
        (is_constant(), "a", "it is no constant"),
        (is_number(), "one", ""),
        (is_number(1), "one", ""),
        (is_number(1 + 2.0**-22), "one", ""),
        (is_number(1 + 2.0**-20), "one", "the number is 1.0"),
        (is_number(0.5 + 2.0**-11), "half", ""),
        (is_number(0.5 + 2.0**-9), "half", "the number is 0.5"),
        (is_number(), "list", "it is no constant of one number"),
        (is_number(2), "x", "it is no constant of one number"),
        (wildcard(), "a", "it describes no value"),
        (is_op("add"), "a", "it describes no value"),
    ],
)
def test_leaves(pattern: Pattern, name: str, reason: str) -> None:
    """Whether a leaf describes a value, and why not."""
    assert leaf_mismatch(pattern, values()[name]) == reason


def fails(op: Operation) -> bool:
    """A condition that cannot be asked."""
    raise KeyError(op.name)


@pytest.mark.parametrize(
    ("pattern", "name", "reason"),
    [
        (wildcard().has_attr({"axis": 1}), "x", "it has no attributes"),
        (wildcard().has_attr({"axis": 1}), "a", "it has no attribute axis"),
        (wildcard().has_attr({"index": 1}), "g", ""),
        (wildcard().has_attr({"index": 0}), "g", "index is 1"),
        (wildcard().has_attr({}), "a", ""),
        (wildcard().has_type(f32), "x", "its type is tensor<4xf32>"),
        (wildcard().has_dtype("float32"), "x", ""),
        (wildcard().has_dtype("float16"), "x", "its elements are float32"),
        (wildcard().has_dtype("float32"), "p", "its type is tuple<tensor<4xf32>, tensor<4xf32>>"),
        (wildcard().has_shape([4]), "x", ""),
        (wildcard().has_shape([None]), "x", ""),
        (wildcard().has_shape([5]), "x", "its shape is (4,)"),
        (wildcard().has_shape([4, 1]), "x", "its shape is (4,)"),
        (wildcard().has_shape([]), "x", "its shape is (4,)"),
        (wildcard().has_shape([4]), "p", "its type is tuple<tensor<4xf32>, tensor<4xf32>>"),
        (wildcard().where(lambda op: isinstance(op, AddOp)), "a", ""),
        (wildcard().where(lambda op: isinstance(op, ReluOp), "a relu"), "a", "not a relu"),
        (wildcard().where(lambda op: True), "x", "no operation computes it"),
    ],
)
def test_restrictions(pattern: RestrictedPattern, name: str, reason: str) -> None:
    """Whether a value has a property, and why not."""
    assert restriction(pattern, values()[name]) == reason


def test_conditions_that_raise() -> None:
    with pytest.raises(
        DiagnosticException,
        match=r"^the condition of \*\.where\(fails\) raises KeyError: 'relay\.add', asked about %a",
    ):
        restriction(wildcard().where(fails), values()["a"])


def test_a_restriction_that_says_nothing() -> None:
    """The base class has no property: our own mistake."""
    with pytest.raises(AssertionError):
        restriction(RestrictedPattern(wildcard()), values()["a"])


def test_which_constants_belong_to_groups() -> None:
    found = values()
    patterns = {
        "a constant": is_constant(),
        "a number": is_number(2),
        "a constant as an expression": is_expr(found["one"]),
        "a computed expression": is_expr(found["a"]),
        "either": is_constant() | is_number(),
        "a constant or anything": is_constant() | wildcard(),
        "anything or a constant": wildcard() | is_constant(),
        "anything": wildcard(),
        "a variable": is_var(),
    }
    assert {name: embeds(pattern) for name, pattern in patterns.items()} == {
        "a constant": True,
        "a number": True,
        "a constant as an expression": True,
        "a computed expression": False,
        "either": True,
        "a constant or anything": False,
        "anything or a constant": False,
        "anything": False,
        "a variable": False,
    }


@pytest.mark.parametrize(
    ("pattern", "root", "name", "inputs"),
    [
        (is_op("nn.relu")(is_op("add")(wildcard(), is_constant())), "b", "add_nn.relu_", ["x"]),
        (is_op("nn.relu")(is_op("add")(wildcard(), wildcard())), "b", "add_nn.relu_", ["x", "one"]),
        (is_tuple([wildcard(), wildcard()])[1], "g", "Tuple_TupleGetItem1_", ["a", "b"]),
        (is_op("exp")(is_tuple_get_item(wildcard())), "e", "TupleGetItem1_exp_", ["t"]),
        (is_function(None, wildcard())(wildcard()), "d", "mine.negative_", ["l"]),
    ],
)
def test_groups_of_matches(pattern: Pattern, root: str, name: str, inputs: list[str]) -> None:
    """What Relay calls the group, and the values that it takes in order."""
    found = match(pattern, values()[root])
    assert found is not None
    group = group_of(pattern, found)
    assert group is not None
    assert (group.name, [value.name_hint for value in group.inputs]) == (name, inputs)
    assert group.root is found.root.owner


def test_control_flow_is_in_no_group() -> None:
    pattern = is_if(is_var("c"), is_op("add").any_call(), is_op("nn.relu").any_call())
    found = match(pattern, values()["if"])
    assert found is not None
    assert group_of(pattern, found) is None


@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        (is_op("relay.nn.relu"), "nn.relu"),
        (is_op(AddOp), "AddOp"),
        (is_op((AddOp, ReluOp)), "AddOp or ReluOp"),
        (is_function(None, wildcard()), "fn(…) {*}"),
        (is_function([], is_constant()), "fn() {is_constant()}"),
        (is_function([is_var("x"), wildcard()], is_var()), "fn(is_var('x'), *) {is_var()}"),
        (one_of(is_var(), is_constant(), wildcard()), "(is_var() | (is_constant() | *))"),
    ],
)
def test_texts_of_patterns(pattern: Pattern, text: str) -> None:
    assert str(pattern) == text


@pytest.mark.parametrize(
    ("pattern", "name", "reason"),
    [
        (is_function(None, wildcard()).any_call(), "a", "found relay.add"),
        (is_constant()(wildcard()), "b", "it describes no operator and no function"),
        (is_op("add")(wildcard()), "a", "it has 2 operands, expected 1"),
    ],
)
def test_why_nothing_is_called_so(pattern: Pattern, name: str, reason: str) -> None:
    found = why_not(pattern, values()[name])
    assert found is not None
    assert found.reason == reason


def test_what_a_mismatch_was_compared_with() -> None:
    found = values()
    pattern = is_constant()
    assert Mismatch(pattern, found["a"], "").op is found["a"].owner
    assert Mismatch(pattern, found["x"], "").op is None
    text = str(Mismatch(pattern, found["x"], "it is no constant"))
    assert text.startswith("is_constant() does not describe %x")
    assert text.endswith(": it is no constant")
