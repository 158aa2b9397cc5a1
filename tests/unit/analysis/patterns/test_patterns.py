"""The pattern language: each constructor with what it describes and what it does not, and why not."""

import random
from collections.abc import Callable
from itertools import permutations, product

import pytest
from xdsl.dialects import func
from xdsl.dialects.builtin import FunctionType, IndexType, IntegerType, ModuleOp, TensorType, f32
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.parser import Parser
from xdsl.utils.exceptions import DiagnosticException

from xrelay.analysis.patterns.language import (
    Pattern,
    is_constant,
    is_expr,
    is_function,
    is_if,
    is_let,
    is_number,
    is_op,
    is_tuple,
    is_tuple_get_item,
    is_var,
    one_of,
    through,
    wildcard,
)
from xrelay.analysis.patterns.matching import Matcher, match, why_not
from xrelay.analysis.patterns.nodes import nodes
from xrelay.compiler import context
from xrelay.dialects.core.values import TupleOp
from xrelay.dialects.tensor.binary import AddOp, DivideOp, MultiplyOp
from xrelay.dialects.tensor.unary import ExpOp, ReluOp
from xrelay.transforms.rules.pattern_rewriting import PatternRule, rewrite_patterns

T = "tensor<4xf32>"


def value_of(lines: str, result: str, params: str = f"%x: {T}, %y: {T}, %z: {T}") -> SSAValue:
    """The value `result` of a function; in `lines`, T stands for the type of all tensors."""
    text = f"func.func @main({params}) {{\n{lines}\nfunc.return\n}}".replace("T", T)
    module = Parser(context(), text).parse_module()
    module.verify()
    for op in module.walk():
        for value in (*op.results, *(arg for r in op.regions for b in r.blocks for arg in b.args)):
            if value.name_hint == result:
                return value
    raise AssertionError(result)


def top(value: SSAValue) -> ModuleOp:
    """The module around a value."""
    op = value.owner
    assert isinstance(op, Operation)
    while (parent := op.parent_op()) is not None:
        op = parent
    assert isinstance(op, ModuleOp)
    return op


def keep(function: func.FuncOp, value: SSAValue) -> None:
    """Makes a value the result of a function."""
    end = function.body.block.last_op
    assert end is not None
    end.operands = [value]
    inputs = function.function_type.inputs.data
    function.function_type = FunctionType.from_lists(inputs, [value.type])


BINARY = "(T, T) -> T"
SUM = f"%r = relay.add %x, %y : {BINARY}"
CHAIN = f"{SUM}\n%e = relay.exp %r : (T) -> T\n%a = relay.nn.relu %e : (T) -> T"
CONSTANT = "%c = relay.constant dense<2.0> : T"
TUPLE = "%t = relay.tuple %x, %y : (T, T) -> tuple<T, T>\n%p = relay.tuple_get_item %t[1] : (tuple<T, T>) -> T"
IF = """%i = relay.less %n, %n : (tensor<f32>, tensor<f32>) -> tensor<i1>
%c = tensor.extract %i[] : tensor<i1>
%r = scf.if %c -> (T) {
  %a = relay.exp %x : (T) -> T
  scf.yield %a : T
} else {
  scf.yield %y : T
}"""
COMPOSITE = """%r = relay.composite "dnnl.f" %x : (T) -> T {
^bb0(%p: T):
  %e = relay.exp %p : (T) -> T
  relay.yield %e : T
}"""
CLOSURE = """%f = relay.closure : !relay.fn<(T) -> T> {
^bb0(%p: T):
  %e = relay.exp %p : (T) -> T
  relay.yield %e : T
}"""

a, b = wildcard(), wildcard()
CASES: list[tuple[str, str, Pattern, bool]] = [
    (SUM, "r", wildcard(), True),
    (SUM, "x", is_var(), True),
    (SUM, "x", is_var("x"), True),
    (SUM, "x", is_var("y"), False),
    (SUM, "r", is_var(), False),
    (CONSTANT, "c", is_constant(), True),
    (SUM, "x", is_constant(), False),
    (CONSTANT, "c", is_number(2), True),
    (CONSTANT, "c", is_number(3), False),
    (CONSTANT, "c", is_number(), True),
    (SUM, "r", is_op("add")(wildcard(), wildcard()), True),
    (SUM, "r", is_op("relay.add")(wildcard(), wildcard()), True),
    (SUM, "r", is_op(AddOp)(wildcard(), wildcard()), True),
    (SUM, "r", is_op("subtract")(wildcard(), wildcard()), False),
    (SUM, "r", (is_op("subtract") | is_op("add"))(wildcard(), wildcard()), True),
    (SUM, "r", is_op("add").any_call(), True),
    (SUM, "r", wildcard().any_call(), True),
    (SUM, "r", wildcard()(wildcard()), False),
    (SUM, "x", wildcard().any_call(), False),
    (SUM, "r", is_var("x") + is_var("y"), True),
    (SUM, "r", is_var("y") + is_var("x"), True),
    (f"%r = relay.multiply %x, %y : {BINARY}", "r", is_var("y") * is_var("x"), True),
    (f"%r = relay.subtract %x, %y : {BINARY}", "r", is_var("y") - is_var("x"), False),
    (f"%r = relay.maximum %x, %y : {BINARY}", "r", is_op("maximum")(is_var("y"), is_var("x")), False),
    # One node is one value, two nodes can be one.
    (SUM, "r", a + a, False),
    (f"%r = relay.add %x, %x : {BINARY}", "r", a + a, True),
    (f"%r = relay.add %x, %x : {BINARY}", "r", a + b, True),
    # (x * y) / z and x * (y / z) are the same.
    (f"%q = relay.divide %y, %z : {BINARY}\n%r = relay.multiply %x, %q : {BINARY}", "r",
     (is_var("x") * is_var("y")) / is_var("z"), True),
    (f"%q = relay.multiply %x, %y : {BINARY}\n%r = relay.divide %q, %z : {BINARY}", "r",
     is_var("x") * (is_var("y") / is_var("z")), True),
    (f"%q = relay.multiply %x, %y : {BINARY}\n%r = relay.divide %q, %z : {BINARY}", "r",
     is_var("x") * (is_var("z") / is_var("y")), False),
    # Alternatives, the first preferred; all are tried.
    (SUM, "r", (is_var() | wildcard()) + is_var("x"), True),
    (CHAIN, "a", is_op("nn.relu")(is_op("exp")(wildcard())).optional(is_op("log")), True),
    (CHAIN, "e", is_op("exp")(wildcard()).optional(is_op("nn.relu")), True),
    # Tuples.
    (TUPLE, "t", is_tuple([is_var("x"), is_var("y")]), True),
    (TUPLE, "t", is_tuple([is_var("y"), is_var("x")]), False),
    (TUPLE, "t", is_tuple([is_var()]), False),
    (TUPLE, "t", is_tuple(None), True),
    (TUPLE, "p", is_tuple_get_item(wildcard(), 1), True),
    (TUPLE, "p", is_tuple_get_item(wildcard(), 0), False),
    (TUPLE, "p", is_tuple_get_item(wildcard()), True),
    (TUPLE, "p", is_tuple(None)[1], True),
    (SUM, "r", is_tuple(None), False),
    # Attributes: of operators, calls and functions.
    (CHAIN, "e", is_op("exp").has_attr({"TOpPattern": 0})(wildcard()), True),
    (CHAIN, "e", wildcard().has_attr({"TOpPattern": 0})(wildcard()), True),
    (CHAIN, "e", wildcard().has_attr({"TOpPattern": 4})(wildcard()), False),
    (CHAIN, "e", wildcard().has_attr({"TMissing": 0})(wildcard()), False),
    ("%r = relay.sum %x {axis = array<i64: 0>, keepdims = true} : (T) -> tensor<1xf32>", "r",
     is_op("sum")(wildcard()).has_attr({"axis": [0], "keepdims": True}), True),
    ("%r = relay.sum %x {axis = array<i64: 0>, keepdims = true} : (T) -> tensor<1xf32>", "r",
     is_op("sum")(wildcard()).has_attr({"axis": [1]}), False),
    ("%r = relay.sum %x {axis = array<i64: 0>, keepdims = true} : (T) -> tensor<1xf32>", "r",
     is_op("sum")(wildcard()).has_attr({"missing": 1}), False),
    # Types.
    (SUM, "r", wildcard().has_dtype("float32"), True),
    (SUM, "r", wildcard().has_dtype("float16"), False),
    (SUM, "r", wildcard().has_shape([4]), True),
    (SUM, "r", wildcard().has_shape([None]), True),
    (SUM, "r", wildcard().has_shape([4, 4]), False),
    (SUM, "r", wildcard().has_shape([5]), False),
    (SUM, "r", wildcard().has_type(TensorType(f32, [4])), True),
    (SUM, "r", wildcard().has_type(TensorType(f32, [5])), False),
    (TUPLE, "t", wildcard().has_shape([4]), False),
    # Control flow and functions.
    (IF, "r", is_if(is_op("less").any_call(), is_op("exp")(is_var("x")), is_var("y")), True),
    (IF, "r", is_if(is_op("less").any_call(), is_var("x"), is_var("y")), False),
    (SUM, "r", is_if(wildcard(), wildcard(), wildcard()), False),
    (f"{SUM}\n%l = relay.let %r : (T) -> T\n%s = relay.exp %l : (T) -> T", "s",
     is_let(a, is_op("add").any_call(), is_op("exp")(a)), True),
    (f"{SUM}\n%l = relay.let %r : (T) -> T\n%s = relay.exp %l : (T) -> T", "s",
     is_let(a, is_op("multiply").any_call(), is_op("exp")(a)), False),
    (CHAIN, "e", is_let(a, wildcard(), is_op("exp")(a)), False),
    (COMPOSITE, "r", is_function([a], is_op("exp")(a))(is_var("x")), True),
    (COMPOSITE, "r", is_function(None, is_op("exp").any_call()).any_call(), True),
    (COMPOSITE, "r", is_function([a], is_op("log")(a))(is_var("x")), False),
    (COMPOSITE, "r", is_function([a, b], wildcard())(is_var("x")), False),
    (COMPOSITE, "r", is_function(None, wildcard()).has_attr({"Composite": "dnnl.f"}).any_call(), True),
    (COMPOSITE, "r", is_function(None, wildcard()).has_attr({"Composite": "other"}).any_call(), False),
    (SUM, "r", is_function(None, wildcard()).any_call(), False),
    # Additions.
    (CHAIN, "a", through([ReluOp, ExpOp], is_op("add").any_call()), True),
    (CHAIN, "a", through([ReluOp], is_op("add").any_call()), False),
    (CHAIN, "e", is_op("exp").any_call().where(lambda op: True), True),
    (CHAIN, "e", is_op("exp").any_call().where(lambda op: False), False),
]  # fmt: skip


@pytest.mark.parametrize(("lines", "result", "pattern", "holds"), CASES)
def test_what_patterns_describe(lines: str, result: str, pattern: Pattern, holds: bool):
    params = f"%x: {T}, %y: {T}, %z: {T}, %n: tensor<f32>"
    value = value_of(lines, result, params)
    assert (match(pattern, value) is not None) == holds
    assert (why_not(pattern, value) is None) == holds


QUOTIENTS = ("(a * b) / c", "a * (b / c)", "(b / c) * a")
"""All the same number."""


def quotient_lines(form: str) -> str:
    """%r = one of QUOTIENTS, of %x, %y and %z."""
    if form == QUOTIENTS[0]:
        return f"%q = relay.multiply %x, %y : {BINARY}\n%r = relay.divide %q, %z : {BINARY}"
    order = "%x, %q" if form == QUOTIENTS[1] else "%q, %x"
    return f"%q = relay.divide %y, %z : {BINARY}\n%r = relay.multiply {order} : {BINARY}"


def quotient_pattern(form: str, first: Pattern, second: Pattern, divisor: Pattern) -> Pattern:
    if form == QUOTIENTS[0]:
        return first * second / divisor
    quotient = second / divisor
    return first * quotient if form == QUOTIENTS[1] else quotient * first


@pytest.mark.parametrize("program", QUOTIENTS)
def test_a_product_over_a_divisor_in_all_forms(program: str):
    """The factors in any order, the divisor apart; without another form, the quotient stays one."""
    value = value_of(quotient_lines(program), "r")
    for form, names in product(QUOTIENTS, permutations("xyz")):
        x, y, z = (is_var(name) for name in names)
        found = match(quotient_pattern(form, x, y, z), value)
        turned = (form == QUOTIENTS[0]) != (program == QUOTIENTS[0])
        whole = form == QUOTIENTS[0] == program
        expected = names[2] == "z" if turned or whole else names == ("x", "y", "z")
        assert (found is not None) == expected, (form, names)
        if found is not None:
            assert [found[each].name_hint for each in (x, y, z)] == list(names)
            assert sorted(op.name for op in found.ops) == ["relay.divide", "relay.multiply"]


@pytest.mark.parametrize("program", QUOTIENTS)
def test_what_is_no_other_form_of_a_quotient(program: str):
    value = value_of(quotient_lines(program), "r")
    other = "divide" if value.owner.name == "relay.multiply" else "multiply"
    anything = wildcard(), wildcard()
    for pattern in (
        is_op(other).any_call(),
        is_op(other)(*anything),
        is_op(other)(wildcard()),
        is_op(other)(is_op(other)(*anything), wildcard()),
        is_op(other)(wildcard(), is_op(other)(*anything)),
        (is_op(other) | is_op("add"))(wildcard() / wildcard(), wildcard() * wildcard()),
        is_op(other)(is_op("add")(*anything), wildcard()),
    ):
        assert match(pattern, value) is None
    assert match(wildcard()(*anything), value) is not None


def test_only_quotients_of_products_have_other_forms():
    """Two operators of the program against two of the pattern, the first as either operand of the second."""
    pairs = list(permutations(("add", "multiply", "divide"), 2))
    quotient, product_ = ("multiply", "divide"), ("divide", "multiply")
    for (inner, outer), place in product(pairs, (0, 1)):
        operands = "%x, %q" if place else "%q, %x"
        lines = f"%q = relay.{inner} %y, %z : {BINARY}\n%r = relay.{outer} {operands} : {BINARY}"
        value = value_of(lines, "r")
        for (low, high), wanted in product(pairs, (0, 1)):
            parts = [is_op(low)(wildcard(), wildcard()), wildcard()]
            found = match(is_op(high)(*(parts[::-1] if wanted else parts)), value)
            expected = (low, high) == (inner, outer) and (outer != "divide" or wanted == place)
            if ((inner, outer), (low, high)) == (product_, quotient):
                expected = wanted == 0
            elif ((inner, outer), (low, high)) == (quotient, product_):
                expected = place == 0
            assert (found is not None) == expected, (inner, outer, place, low, high, wanted)


@pytest.mark.parametrize("element_type", [IndexType(), IntegerType(4)])
def test_element_types_that_relay_lacks(element_type: Attribute):
    (value,) = Block(arg_types=[TensorType(element_type, [4])]).args
    mismatch = why_not(wildcard().has_dtype("float32"), value)
    assert mismatch is not None and mismatch.reason == f"its elements are {element_type}"


def test_expressions_are_compared_by_structure():
    lines = f"%r = relay.add %x, %y : {BINARY}\n%s = relay.add %x, %y : {BINARY}\n"
    lines += f"%u = relay.add %y, %x : {BINARY}\n%v = relay.multiply %x, %y : {BINARY}\n"
    lines += "%t = relay.tuple %r, %s, %u, %v : (T, T, T, T) -> tuple<T, T, T, T>"
    fields = value_of(lines, "t").owner
    assert isinstance(fields, TupleOp)
    r, s, u, v = fields.fields
    assert match(is_expr(r), s) is not None
    assert match(is_expr(r), u) is None
    assert match(is_expr(r), v) is None


def test_nodes_of_a_diamond_are_listed_once():
    x = wildcard()
    left, right = is_op("exp")(x), is_op("log")(x)
    found = nodes(left + right)
    assert len(found) == len(set(found))
    assert found.index(x) < min(found.index(left), found.index(right))


def test_functions_as_values():
    value = value_of(CLOSURE, "f")
    assert match(is_function([a], is_op("exp")(a)), value) is not None
    assert match(is_function([a], is_op("log")(a)), value) is None


def test_bindings_and_operations():
    x, y = wildcard(), wildcard()
    value = value_of(CHAIN, "a")
    found = match(is_op("nn.relu")(is_op("exp")(x + y)), value)
    assert found is not None
    assert [found[x].name_hint, found[y].name_hint] == ["x", "y"]
    assert [op.name for op in found.ops] == ["relay.nn.relu", "relay.exp", "relay.add"]
    assert found.root is value


def test_a_diamond_has_one_top():
    top = is_op("exp")(wildcard())
    pattern = is_op("nn.relu")(top) + is_op("tanh")(top)
    lines = "%e = relay.exp %x : (T) -> T\n%g = relay.exp %y : (T) -> T\n"
    lines += "%a = relay.nn.relu %e : (T) -> T\n%b = relay.tanh {} : (T) -> T\n"
    for source, holds in (("%e", True), ("%g", False)):
        value = value_of(lines.replace("{}", source) + f"%r = relay.add %a, %b : {BINARY}", "r")
        assert (match(pattern, value) is not None) == holds


ELEMWISE = wildcard().has_attr({"TOpPattern": 0})(wildcard())
CONV = is_op("exp")(wildcard())


@pytest.mark.parametrize(
    ("lines", "path", "holds"),
    [
        # parent ─► path ─► child; the child's own operands may start the path or be the parent.
        ("%p = relay.exp %x : (T) -> T\n%m = relay.nn.relu %p : (T) -> T", ELEMWISE, True),
        ("%p = relay.exp %x : (T) -> T\n%m = relay.nn.relu %p : (T) -> T", None, True),
        # Another operator on the path.
        (
            "%p = relay.exp %x : (T) -> T\n%m = relay.nn.softmax %p : (T) -> T",
            is_op("nn.relu")(wildcard()),
            False,
        ),
        # No parent at all.
        ("%m = relay.nn.relu %x : (T) -> T", wildcard(), False),
        # Something else uses what is on the path.
        (
            "%p = relay.exp %x : (T) -> T\n%m = relay.nn.relu %p : (T) -> T\n%o = relay.tanh %m : (T) -> T",
            ELEMWISE,
            False,
        ),
    ],
)
def test_dominators(lines: str, path: Pattern | None, holds: bool):
    value = value_of(f"{lines}\n%r = relay.log %m : (T) -> T", "r")
    pattern = is_op("log")(wildcard()).dominates(CONV, path)
    assert (match(pattern, value) is not None) == holds


def test_dominators_of_diamonds():
    lines = "%p = relay.exp %x : (T) -> T\n%m = relay.nn.relu %p : (T) -> T\n"
    lines += "%n = relay.tanh %p : (T) -> T\n"
    value = value_of(lines + f"%r = relay.add %m, %n : {BINARY}", "r")
    pattern = (wildcard() + wildcard()).dominates(CONV, ELEMWISE)
    found = match(pattern, value)
    assert found is not None
    assert {op.name for op in found.ops} == {
        "relay.add", "relay.exp", "relay.nn.relu", "relay.tanh"
    }  # fmt: skip
    # Two parents are none.
    lines += "%q = relay.exp %y : (T) -> T\n%o = relay.tanh %q : (T) -> T\n"
    value = value_of(lines + f"%r = relay.add %m, %o : {BINARY}", "r")
    assert match(pattern, value) is None


def test_dominators_of_a_ladder():
    """
    A way more at each of 40 rungs, and each of them tried twice, would take 4 ** 40 steps: a diamond
    below another one is the parent of the next.
    """
    block = Block(arg_types=[TensorType(f32, [4])])
    value: SSAValue = block.args[0]

    def emit(op: Operation) -> SSAValue:
        block.add_op(op)
        return op.results[0]

    top = value = emit(ExpOp(value))
    pattern: Pattern = CONV
    for _ in range(40):
        value = emit(AddOp(emit(ReluOp(value)), emit(ReluOp(value))))
        pattern = (wildcard() + wildcard()).dominates(pattern, is_op("nn.relu")(wildcard()))
    found = match(pattern, value)
    assert found is not None and found.ops[-1] is top.owner
    assert len(set(found.ops)) == 1 + 3 * 40
    # The lowest relu is used elsewhere, so that nothing above it is dominated.
    low = next(op for op in reversed(list(block.ops)) if isinstance(op, ReluOp))
    emit(ReluOp(low.result))
    assert match(pattern, value) is None
    assert "something else uses it" in str(why_not(pattern, value))


def test_orders_of_operands_below_a_dominator():
    """Trying both orders of 40 sums, in the child and in the parent, would take 2 ** 80 steps."""
    block = Block(arg_types=[TensorType(f32, [4])])
    value: SSAValue = block.args[0]
    parent: Pattern = is_op("tanh")(wildcard())
    for _ in range(40):
        op = AddOp(value, value)
        block.add_op(op)
        value, parent = op.result, parent + wildcard()
    op = ReluOp(value)
    block.add_op(op)
    pattern = is_op("nn.relu")(wildcard()).dominates(parent, wildcard())
    assert match(pattern, op.result) is None
    assert match(wildcard() + pattern, AddOp(op, op).result) is None


def test_paths_are_as_long_as_programs():
    lines = ["%p = relay.exp %x : (T) -> T", "%v0 = relay.nn.relu %p : (T) -> T"]
    lines += [f"%v{i + 1} = relay.nn.relu %v{i} : (T) -> T" for i in range(1200)]
    value = value_of("\n".join(lines) + "\n%r = relay.log %v1200 : (T) -> T", "r")
    assert match(is_op("log")(wildcard()).dominates(CONV, ELEMWISE), value) is not None


@pytest.mark.parametrize(
    ("pattern", "message"),
    [
        (
            is_op("nn.relu")(is_op("log")(wildcard())),
            "log does not describe %e (relay.exp): found relay.exp",
        ),
        (
            is_op("nn.relu")(is_op("exp")(is_constant() + wildcard())),
            "is_constant() does not describe %x (a parameter): it is no constant",
        ),
        (
            is_op("nn.relu")(is_op("exp")(wildcard()).has_shape([5])),
            "exp(*).has_shape((5,)) does not describe %e (relay.exp): its shape is (4,)",
        ),
        (
            one_of(is_op("tanh")(wildcard()), is_op("nn.relu")(is_op("exp")(is_op("log")(a)))),
            "log does not describe %r (relay.add): found relay.add",
        ),
    ],
)
def test_why_not(pattern: Pattern, message: str):
    found = why_not(pattern, value_of(CHAIN, "a"))
    assert str(found) == message


def test_rewriting_goes_on_until_nothing_changes():
    x = wildcard()
    rule = PatternRule("relu", is_op("nn.relu")(is_op("nn.relu")(x)), lambda f, e: e(ReluOp(f[x])))
    chain = "%a = relay.nn.relu %x : (T) -> T\n%b = relay.nn.relu %a : (T) -> T\n"
    value = value_of(chain + "%c = relay.nn.relu %b : (T) -> T\n%r = relay.exp %c : (T) -> T", "r")
    module = top(value)
    func_op = next(op for op in module.walk() if isinstance(op, func.FuncOp))
    keep(func_op, value)
    rewrite_patterns(module, [rule])
    module.verify()
    assert [op.name for op in func_op.body.block.ops] == [
        "relay.nn.relu", "relay.exp", "func.return"
    ]  # fmt: skip


def test_rewriting_that_does_not_end_is_refused():
    x, y = wildcard(), wildcard()
    swap = PatternRule("swap", x + y, lambda f, e: e(AddOp(f[y], f[x])))
    value = value_of(SUM, "r")
    module = top(value)
    keep(next(op for op in module.walk() if isinstance(op, func.FuncOp)), value)
    with pytest.raises(DiagnosticException, match="still apply after 100 rounds: swap"):
        rewrite_patterns(module, [swap])


def test_a_rule_that_is_used_once():
    x, y = wildcard(), wildcard()
    double: Callable[..., SSAValue] = lambda f, e: e(MultiplyOp(e(AddOp(f[x], f[y])), f[x]))
    value = value_of(SUM, "r")
    module = top(value)
    func_op = next(op for op in module.walk() if isinstance(op, func.FuncOp))
    keep(func_op, value)
    rewrite_patterns(module, [PatternRule("once", x + y, double, once=True)])
    names = [op.name for op in func_op.body.block.ops]
    assert names == ["relay.add", "relay.multiply", "func.return"]


# -- the search ---------------------------------------------------------------------------------


def random_pattern(rng: random.Random, depth: int, made: list[Pattern]) -> Pattern:
    """Some of its nodes occur twice."""
    if made and rng.random() < 0.15:
        return rng.choice(made)
    kind = rng.choice(["add", "add", "multiply", "divide", "relu", "or", "leaf", "dominates"])
    if depth == 0 or kind == "leaf":
        pattern: Pattern = rng.choice([wildcard, wildcard, is_var])()
    elif kind == "relu":
        pattern = is_op("nn.relu")(random_pattern(rng, depth - 1, made))
    else:
        left = random_pattern(rng, depth - 1, made)
        right = random_pattern(rng, depth - 1, made)
        if kind == "dominates":
            pattern = left.dominates(right, rng.choice([None, ELEMWISE]))
        else:
            pattern = left | right if kind == "or" else is_op(kind)(left, right)
    made.append(pattern)
    return pattern


def random_value(rng: random.Random) -> SSAValue:
    block = Block(arg_types=[TensorType(f32, [4])] * 2)
    values: list[SSAValue] = [*block.args]
    for _ in range(7):
        lhs, rhs = rng.choice(values[-4:]), rng.choice(values[-4:])
        kind = rng.choice([AddOp, AddOp, MultiplyOp, DivideOp, ReluOp])
        op = ReluOp(lhs) if kind is ReluOp else kind(lhs, rhs)
        block.add_op(op)
        values.append(op.results[0])
    return values[-1]


def test_outcomes_that_are_kept_change_nothing() -> None:
    """The matcher that tries all ways of all nodes is the oracle."""
    matches = 0
    for seed in range(600):
        rng = random.Random(seed)
        pattern, value = random_pattern(rng, 3, []), random_value(rng)
        plain = Matcher()
        expected = None
        for _ in plain.match(pattern, value):
            expected = dict(plain.bindings), tuple(plain.ops)
            break
        found = match(pattern, value)
        assert (found and (found.bindings, found.ops)) == expected, seed
        matches += found is not None
        if found is None:
            assert why_not(pattern, value) is not None
    assert 60 < matches < 540


def test_swapped_operands_do_not_multiply() -> None:
    """Trying both orders at each level would take 2 ** 60 steps."""
    block = Block(arg_types=[TensorType(f32, [4])])
    value: SSAValue = block.args[0]
    pattern: Pattern = is_op("nn.relu")(wildcard())
    other: Pattern = wildcard()
    for _ in range(60):
        inner = AddOp(value, value)
        outer = AddOp(value, inner.result)
        block.add_ops([inner, outer])
        value = outer.result
        pattern = pattern + wildcard()
        other = other + (wildcard() + wildcard())
    assert match(pattern, value) is None
    assert match(is_op("nn.relu")(other), value) is None
    end = MultiplyOp(value, value)
    block.add_op(end)
    assert match(other * is_constant(), end.result) is None
    assert why_not(other * is_constant(), end.result) is not None
    assert match(other * wildcard(), end.result) is not None


def test_patterns_that_nest_too_deeply() -> None:
    block = Block(arg_types=[TensorType(f32, [4])])
    value: SSAValue = block.args[0]
    pattern: Pattern = wildcard()
    for _ in range(2000):
        op = ReluOp(value)
        block.add_op(op)
        value, pattern = op.result, is_op("nn.relu")(pattern)
    with pytest.raises(DiagnosticException, match="nests too deeply .*, found 2001"):
        match(pattern, value)


def test_patterns_print_as_they_are_written() -> None:
    x, any_tuple = is_var("x"), is_tuple(None)
    shown = {
        "fn(…) {*}": is_function(None, wildcard()),
        "fn(is_var('x'), *) {nn.relu(*)}": is_function(
            (x, wildcard()), is_op("nn.relu")(wildcard())
        ),
        "(is_var('x'), is_constant())": is_tuple((x, is_constant())),
        "(…)[1]": is_tuple_get_item(any_tuple, 1),
        "(…)[…]": is_tuple_get_item(any_tuple),
        "is_if(is_var('x'), *, is_var())": is_if(x, wildcard(), is_var()),
        "is_let(is_var('x'), *, is_constant())": is_let(x, wildcard(), is_constant()),
        "(add(*, *) | is_number(2.0))": is_op("add")(wildcard(), wildcard()) | is_number(2.0),
        "is_number()": is_number(),
        "ReluOp or ExpOp(*)": is_op((ReluOp, ExpOp))(wildcard()),
    }
    assert {str(pattern): pattern for pattern in shown.values()} == shown
