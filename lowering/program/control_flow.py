"""What the code generator does not take: control flow, functions as values, data types."""

from xdsl.dialects import func
from xdsl.dialects.builtin import TupleType
from xdsl.dialects.scf import Scf
from xdsl.ir import Attribute

from xrelay.analysis.facts.names import operation_text
from xrelay.dialects.core.functional import AdtType, FnType, ForallType, TypeVarType
from xrelay.dialects.shapes import HasNoCode
from xrelay.lowering.program.registry import FUNCTIONS, INTERPRETER_ONLY

CONTROL_FLOW = frozenset(Scf.operations)


def check_straight(function: func.FuncOp) -> None:
    """
    Raises HasNoCode, with the place, for a function that is more than operators on
    tensors one after the other.
    """
    name = function.sym_name.data
    for arg in function.args:
        if _holds_values_of_functions(arg.type):
            raise HasNoCode(
                f"function '{name}': parameter %{arg.name_hint or arg.index} is of type {arg.type}, "
                f"which has no code: {FUNCTIONS}"
            )
    for op in function.body.block.ops:
        if type(op) in CONTROL_FLOW:
            reason = "the code generator takes no control flow"
        elif INTERPRETER_ONLY.get(type(op)) == FUNCTIONS:
            reason = FUNCTIONS
        else:
            continue
        raise HasNoCode(f"function '{name}': {operation_text(op)} has no code: {reason}")


def _holds_values_of_functions(type_: Attribute) -> bool:
    parts = [type_]
    while parts:
        part = parts.pop()
        if isinstance(part, AdtType | FnType | ForallType | TypeVarType):
            return True
        if isinstance(part, TupleType):
            parts.extend(part.types.data)
    return False
