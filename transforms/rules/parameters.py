"""The parameters of entry functions: what they are called, and tuples among them taken apart."""

from collections.abc import Sequence

from xdsl.dialects import func
from xdsl.dialects.builtin import (
    ArrayAttr,
    DictionaryAttr,
    FunctionType,
    ModuleOp,
    StringAttr,
    TupleType,
)
from xdsl.ir import Attribute, SSAValue

from xrelay.analysis.facts.call_graph import CallGraph
from xrelay.analysis.facts.ports import Port, ports
from xrelay.dialects.core.values import TupleOp
from xrelay.dialects.model_names import ONNX_NAME, STORED_DTYPE
from xrelay.transforms.rules.tuples import take_fields


def parameter_attributes(stated: Sequence[Port]) -> ArrayAttr[DictionaryAttr]:
    """What says of parameters how they are called, and stored."""
    return ArrayAttr(
        [
            DictionaryAttr(
                {
                    ONNX_NAME: StringAttr(port.name),
                    **({STORED_DTYPE: StringAttr(port.stored)} if port.stored else {}),
                }
            )
            for port in stated
        ]
    )


def take_tuples_apart(function: func.FuncOp) -> bool:
    """
    Gives an entry function parameters for the tensors in tuples that it takes, under the names that `ports` has for them.
    Returns whether it could: callers would still pass tuples.
    """
    block = function.body.blocks[0]
    if not any(isinstance(arg.type, TupleType) for arg in block.args):
        return True
    module, name = function.parent_op(), function.sym_name.data
    assert isinstance(module, ModuleOp)
    if any(name in used for used in CallGraph.of_module(module).uses.values()):
        return False
    inputs, made = ports(function)[0], list[TupleOp]()

    def value_of(type_: Attribute) -> SSAValue:
        """A parameter that is added, or the tuple of several."""
        if not isinstance(type_, TupleType):
            return block.insert_arg(type_, len(block.args))
        op = TupleOp([value_of(each) for each in type_.types.data])
        made.append(op)
        return op.result

    for arg in tuple(block.args):
        hint, value = arg.name_hint, value_of(arg.type)
        value.name_hint = hint
        arg.replace_all_uses_with(value)
        block.erase_arg(arg)
    first = block.first_op
    assert first is not None
    block.insert_ops_before(made, first)
    for op in reversed(made):  # Each after those that it is a field of.
        take_fields(op)
    outputs = function.function_type.outputs
    function.function_type = FunctionType.from_lists(block.arg_types, outputs.data)
    function.arg_attrs = parameter_attributes(inputs)
    return True
