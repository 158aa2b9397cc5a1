"""Functions that compilers lower: inline and outlined, with the interpreter as the oracle."""

import numpy as np
import pytest
from xdsl.context import Context
from xdsl.dialects import func
from xdsl.dialects.builtin import FunctionType, ModuleOp
from xdsl.parser import Parser
from xdsl.rewriter import InsertPoint, Rewriter
from xdsl.traits import SymbolTable
from xdsl.utils.exceptions import DiagnosticException

from xrelay.analysis.partition.compilers import REGISTRY, Compiler
from xrelay.compiler import context
from xrelay.dialects.tensor.binary import AddOp, SubtractOp
from xrelay.dialects.tensor.unary import NegativeOp
from xrelay.interpreters.relay import interpret
from xrelay.transforms.relay_to_tir import RelayToTirPass

T = "tensor<2xf32>"
FN = f"!relay.fn<({T}, {T}) -> {T}>"
BODY = f"%s = relay.add %p, %q : ({T}, {T}) -> {T}"
ATTRIBUTES = 'Compiler = "{}", Primitive = 1 : i32, Inline = 1 : i32, global_symbol = "g"'
OUTLINED = f"""
    func.func @main(%x: {T}, %y: {T}) -> {T} {{
      %0 = func.call @g(%x, %y) : ({T}, {T}) -> {T}
      func.return %0 : {T}
    }}
    func.func private @g(%p: {T}, %q: {T}) -> {T} attributes {{{ATTRIBUTES}}} {{
      {BODY}
      func.return %s : {T}
    }}"""
INLINE = f"""
    func.func @main(%x: {T}, %y: {T}) -> {T} {{
      %f = relay.closure attributes {{{ATTRIBUTES}}} : {FN} {{
      ^bb0(%p: {T}, %q: {T}):
        {BODY}
        relay.yield %s : {T}
      }}
      %0 = relay.apply %f(%x, %y) : ({FN}, {T}, {T}) -> {T}
      func.return %0 : {T}
    }}"""


def parsed(text: str, compiler: str) -> ModuleOp:
    module = Parser(context(), text.replace("{}", compiler)).parse_module()
    module.verify()
    return module


def subtracts(module: ModuleOp) -> bool:
    """Sums as differences: something that one sees."""
    for op in list(module.walk()):
        if isinstance(op, AddOp):
            opposite = NegativeOp(op.rhs)
            Rewriter.insert_op(opposite, InsertPoint.before(op))
            Rewriter.replace_op(op, SubtractOp(op.lhs, opposite.result))
    return True


def names(module: ModuleOp) -> list[str]:
    return [op.name for op in module.walk()]


def result(module: ModuleOp) -> list[float]:
    inputs = np.array([1, 2], np.float32), np.array([5, np.inf], np.float32)
    (found,) = interpret(module, inputs)
    return found.tolist()


@pytest.mark.parametrize("text", [INLINE, OUTLINED], ids=["inline", "outlined"])
def test_lowers_functions(text: str):
    REGISTRY.register(Compiler("lowering", lower=subtracts))
    module = parsed(text, "lowering")
    RelayToTirPass().apply(Context(), module)
    module.verify()
    function = SymbolTable.lookup_symbol(module, "g")
    assert isinstance(function, func.FuncOp)
    assert set(function.attributes) == {"Inline", "global_symbol"}
    assert "relay.subtract" in names(module) and "func.call" in names(module)
    assert not {"relay.add", "relay.closure", "relay.apply"} & set(names(module))
    assert result(module) == result(parsed(text, "lowering")) == [6, np.inf]
    once = module.clone()
    RelayToTirPass().apply(Context(), module)
    assert module.is_structurally_equivalent(once)


@pytest.mark.parametrize("text", [INLINE, OUTLINED], ids=["inline", "outlined"])
def test_leaves_functions_of_compilers_without_the_hook(text: str):
    REGISTRY.register(Compiler("without"))
    module = parsed(text, "without")
    RelayToTirPass().apply(Context(), module)
    assert module.is_structurally_equivalent(parsed(text, "without"))


def test_what_a_compiler_declines_is_kept():
    def declines(module: ModuleOp) -> bool:
        subtracts(module)
        return False

    REGISTRY.register(Compiler("declining", lower=declines))
    module = parsed(OUTLINED, "declining")
    RelayToTirPass().apply(Context(), module)
    assert module.is_structurally_equivalent(parsed(OUTLINED, "declining"))


def test_compilers_are_asked_in_alphabetical_order():
    asked: list[str] = []

    def ask(module: ModuleOp) -> bool:
        asked.extend(op.sym_name.data for op in module.ops if isinstance(op, func.FuncOp))
        return True

    text = "".join(
        f'func.func @{name}(%x: {T}) -> {T} attributes {{Compiler = "{compiler}"}} {{\n'
        f"  func.return %x : {T}\n}}\n"
        for name, compiler in (("d", "later"), ("c", "earlier"), ("b", "later"), ("a", "none"))
    )
    declared = f'func.func private @e({T}) -> {T} attributes {{Compiler = "later"}}'
    for compiler in ("later", "earlier"):
        REGISTRY.register(Compiler(compiler, lower=ask))
    RelayToTirPass().apply(Context(), parsed(text + declared, ""))
    assert asked == ["c", "b", "d"]


@pytest.mark.parametrize("what", ["removed", "changed the type of", "added functions to", "made"])
def test_a_hook_that_breaks_its_function_is_refused(what: str):
    def lower(module: ModuleOp) -> bool:
        (function,) = module.ops
        assert isinstance(function, func.FuncOp)
        match what:
            case "removed":
                function.detach()
            case "added functions to":
                module.body.block.add_op(func.FuncOp("helper", ([], [])))
            case "made":
                end = function.body.block.last_op
                assert end is not None
                end.detach()
            case _:
                function.function_type = FunctionType.from_lists([], [])
        return True

    REGISTRY.register(Compiler("broken", lower=lower))
    with pytest.raises(DiagnosticException, match=f"compiler 'broken' has {what} @g"):
        RelayToTirPass().apply(Context(), parsed(OUTLINED, "broken"))
