"""Which operations nobody notices when they do not run: calls whose function is not there, or is one of many types."""

import pytest
from xdsl.dialects import func
from xdsl.dialects.builtin import FunctionType, ModuleOp, StringAttr, SymbolRefAttr, TensorType, f32
from xdsl.ir import Block, Region

from xrelay.analysis.facts.purity import Purity
from xrelay.frontends.relay_text import read_relay_text


def test_calls_of_what_is_no_function_of_the_module_are_not_pure():
    type_ = TensorType(f32, [2])
    body = Block(arg_types=[type_])
    body.add_op(func.ReturnOp(body.args[0]))
    signature = FunctionType.from_lists([type_], [type_])
    known = func.FuncOp("known", signature, Region(body))
    block = Block(arg_types=[type_])
    calls = [
        func.CallOp(SymbolRefAttr(name), [block.args[0]], [type_])
        for name in ("known", "unknown", "library")
    ]
    block.add_ops([*calls, func.ReturnOp(*(call.results[0] for call in calls))])
    outputs = FunctionType.from_lists([type_], [type_] * 3)
    library = ModuleOp([], sym_name=StringAttr("library"))
    purity = Purity(ModuleOp([known, func.FuncOp("main", outputs, Region(block)), library]))
    assert [purity.is_pure(call) for call in calls] == [True, False, False]


@pytest.mark.parametrize(
    ("function", "found"),
    [
        ("fn [A](%y: A) -> A { %y }", []),
        ("if (%c) { fn [A](%y: A) -> A { %y } } else { fn [A](%z: A) -> A { %z } }", []),
        ("fn [A](%y: A) -> A { ref_write(%r, %x); %y }", ["ref_write", "apply", "apply"]),
        (
            "if (%c) { fn [A](%y: A) -> A { ref_write(%r, %x); %y } } else { fn [A](%z: A) -> A { %z } }",
            ["ref_write", "apply", "apply"],
        ),
    ],
)
def test_functions_of_many_types(function: str, found: list[str]) -> None:
    """Calls of them are pure where what they do is."""
    module = read_relay_text(
        "def @main(%x: float32, %c: bool) { let %r = ref(%x); "
        f"let %f = {function}; (%f(%x), %f(1)) }}"
    )
    purity = Purity(module)
    impure = [op.name.removeprefix("relay.") for op in module.walk() if op in purity.impure]
    assert [name for name in impure if name != "scf.if"] == found
