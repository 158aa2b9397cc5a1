"""Which operations nobody notices when they do not run: calls whose function is not there."""

from xdsl.dialects import func
from xdsl.dialects.builtin import FunctionType, ModuleOp, StringAttr, SymbolRefAttr, TensorType, f32
from xdsl.ir import Block, Region

from xrelay.analysis.facts.purity import Purity


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
