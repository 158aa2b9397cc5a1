"""What the code generator says of control flow, calls and parts of tensors that it does not take."""

import pytest
from xdsl.dialects import func
from xdsl.dialects.builtin import FunctionType, ModuleOp, TensorType, f32
from xdsl.ir import Block, Region
from xdsl.parser import Parser

from xrelay.compiler import context
from xrelay.dialects.length_scope import Scope
from xrelay.dialects.lengths import symbol
from xrelay.dialects.shapes import HasNoCode
from xrelay.lowering.program.control_flow import check_flow, check_straight

MAIN = "%x: tensor<3x4xf32>, %n: tensor<2xi64>, %b: tensor<i1>, %i: index, %g: tensor<?xi64>"
OTHER_FLOW = "the code generator takes no other control flow than scf.if, scf.for and scf.while"
ONE_NUMBER = "only a tensor of one integer is made of numbers"
ONE_ROW = "only one of the rows of a tensor can be replaced"


def reason(body: str, *, straight: bool = False) -> str | None:
    """Why the function @main has no code, without where; None when it has."""
    text = f"""
    func.func private @far(%x: tensor<3x4xf32>) -> tensor<3x4xf32>
    func.func @open(%x: tensor<?x4xf32>) -> tensor<?x4xf32> {{ func.return %x : tensor<?x4xf32> }}
    func.func @near(%x: tensor<3x4xf32>) -> tensor<3x4xf32> {{ func.return %x : tensor<3x4xf32> }}
    func.func @number(%x: i64) -> i64 {{ func.return %x : i64 }}
    func.func @round(%x: tensor<3x4xf32>) -> tensor<3x4xf32> {{
        %0 = func.call @round(%x) : (tensor<3x4xf32>) -> tensor<3x4xf32>
        func.return %0 : tensor<3x4xf32>
    }}
    func.func @main({MAIN}) {{
        %c0 = arith.constant 0 : index
        %c1 = arith.constant 1 : index
        %c2 = arith.constant 2 : index
        %below = arith.constant -1 : index
        {body}
        func.return
    }}"""
    module = Parser(context(), text).parse_module()
    main = next(
        op for op in module.ops if isinstance(op, func.FuncOp) and op.sym_name.data == "main"
    )
    try:
        (check_straight if straight else check_flow)(main)
    except HasNoCode as error:
        where, _, why = str(error).partition(" has no code: ")
        assert where.startswith("function 'main': ")
        return why
    return None


def loop(lower: str = "%c0", step: str = "%c1", carried: str = "%x", given: str = "%s") -> str:
    """A loop that carries one value."""
    type_ = "tensor<3x4xf32>" if carried == "%x" else "index"
    return f"""%r = scf.for %k = {lower} to %c2 step {step} iter_args(%s = {carried}) -> ({type_}) {{
        scf.yield {given} : {type_}
    }}"""


def row(
    source: str = "1x4",
    target: str = "3x4",
    offsets: str = "%c1, 0",
    sizes: str = "1, 4",
    strides: str = "1, 1",
) -> str:
    """A tensor gets another row."""
    return f"""%s = tensor.empty() : tensor<{source}xf32>
        %t = tensor.empty() : tensor<{target}xf32>
        %r = tensor.insert_slice %s into %t[{offsets}] [{sizes}] [{strides}] : tensor<{source}xf32> into tensor<{target}xf32>"""


@pytest.mark.parametrize(
    ("body", "why"),
    [
        (loop(), None),
        (loop(step="%c2"), None),
        (loop(step="%c0"), "its step is 0, expected 1 or more"),
        (loop(step="%below"), "its step is -1, expected 1 or more"),
        (loop(step="%i"), "its step is not a constant, expected 1 or more"),
        (loop(carried="%i"), None),
        ("%e = tensor.extract %n[%c0] : tensor<2xi64>", None),
        ("%e = tensor.extract %n[%c1] : tensor<2xi64>", None),
        ("%e = tensor.extract %n[%c2] : tensor<2xi64>", "index 0 is 2, expected 0 to 1"),
        ("%e = tensor.extract %n[%below] : tensor<2xi64>", "index 0 is -1, expected 0 to 1"),
        ("%e = tensor.extract %n[%i] : tensor<2xi64>", "index 0 is not a constant"),
        (
            "%e = tensor.extract %g[%c0] : tensor<?xi64>",
            "the tensor is tensor<?xi64>, which has an unknown dimension",
        ),
        (
            "%e = tensor.extract %x[%c0, %c0] : tensor<3x4xf32>",
            "the tensor is tensor<3x4xf32>, expected one of integers",
        ),
        ("%0 = func.call @near(%x) : (tensor<3x4xf32>) -> tensor<3x4xf32>", None),
        (
            "%0 = func.call @far(%x) : (tensor<3x4xf32>) -> tensor<3x4xf32>",
            "the function that it calls has no body here, or is for another compiler",
        ),
        (
            "%0 = func.call @missing(%x) : (tensor<3x4xf32>) -> tensor<3x4xf32>",
            "the function that it calls has no body here, or is for another compiler",
        ),
        (
            "%k = arith.constant 1 : i64\n%0 = func.call @number(%k) : (i64) -> i64",
            "a call takes or gives i64, expected tensors",
        ),
        ("%k = arith.constant 1 : i64\n%t = tensor.from_elements %k : tensor<i64>", None),
        (
            "%k = arith.constant 1 : i64\n%t = tensor.from_elements %k, %k : tensor<2xi64>",
            ONE_NUMBER,
        ),
        (
            "%k = arith.constant 1.0 : f32\n%t = tensor.from_elements %k : tensor<f32>",
            ONE_NUMBER,
        ),
        (row(), None),
        (row(offsets="%i, 0"), None),
        (row(source="4"), None),
        (row(offsets="1, 0"), ONE_ROW),
        (row(offsets="%c1, 1"), ONE_ROW),
        (row(offsets="%c0, %c0"), ONE_ROW),
        (row(source="2x4", sizes="2, 4"), ONE_ROW),
        (row(source="1x3", sizes="1, 3"), ONE_ROW),
        (row(strides="2, 1"), ONE_ROW),
        (row(strides="%c1, 1"), ONE_ROW),
        (row(sizes="%c1, 4"), None),
        (row(source="?x4", sizes="1, 4"), ONE_ROW),
        (row(target="?x4"), ONE_ROW),
        (
            "%r = scf.index_switch %i -> tensor<3x4xf32>\ndefault {\nscf.yield %x : tensor<3x4xf32>\n}",
            OTHER_FLOW,
        ),
    ],
)  # fmt: skip
def test_what_has_no_code(body: str, why: str | None) -> None:
    """Each side of each condition, with the whole reason."""
    assert reason(body) == why


@pytest.mark.parametrize(
    ("body", "why"),
    [
        (loop(), "programs of which engines run parts take no control flow"),
        ("%0 = func.call @near(%x) : (tensor<3x4xf32>) -> tensor<3x4xf32>", None),
        ("%0 = func.call @far(%x) : (tensor<3x4xf32>) -> tensor<3x4xf32>", None),
        (
            "%0 = func.call @round(%x) : (tensor<3x4xf32>) -> tensor<3x4xf32>",
            "programs of which engines run parts take no functions that call themselves",
        ),
        ("%e = tensor.extract %n[%i] : tensor<2xi64>", "index 0 is not a constant"),
    ],
)
def test_what_engines_do_not_take(body: str, why: str | None) -> None:
    """Calls of what they run are no matter of this check."""
    assert reason(body, straight=True) == why


def test_calls_with_lengths_that_are_known_later() -> None:
    """A function is compiled once, for tensors of known lengths."""
    open_type = TensorType(f32, [symbol(Scope(), "n", 4), 2])
    block = Block(arg_types=[open_type])
    block.add_op(func.ReturnOp(*block.args))
    called = func.FuncOp("called", FunctionType.from_lists([open_type], [open_type]), Region(block))
    outer = Block(arg_types=[open_type])
    outer.add_ops(
        [call := func.CallOp("called", outer.args, [open_type]), func.ReturnOp(*call.results)]
    )
    main = func.FuncOp("main", FunctionType.from_lists([open_type], [open_type]), Region(outer))
    ModuleOp([main, called])
    with pytest.raises(
        HasNoCode,
        match="^function 'main': func.call has no code: a call takes or gives .*, which has a dimension that is not known$",
    ):
        check_flow(main)
