"""
`remove-standalone-reshapes`: reshapes of what a kernel leaves in memory are no kernels.

    %0 = relay.fused %x … { exp }             %0 = relay.fused %x … { exp }
    %a = relay.let %0                         %a = relay.let %0
    %1 = relay.fused %a                 ──►   %2 = relay.constant dense<[2, 2]>
      attributes {reshape_only} …             %1 = relay.vm.reshape_tensor %a, %2 {newshape = [2, 2]}
    %b = relay.let %1                         %b = relay.let %1

A primitive function that only reshapes (`reshape_only`; a function value with `relay.reshape_only`) was not fused with a
neighbour. Of a tensor that another primitive function computes in `@main`, maybe under a name or `on_device`, the reshape
becomes a view of the same memory, and so do those that follow it.

What stays: reshapes of parameters and constants, whose memory is not the function's own, and of fields of tuples; reshapes
to shapes that are not known; those in branches and other functions; operators outside of primitive functions.

Source: Relay's RemoveStandaloneReshapes, which calls the kernel in the reshape's place.
"""

from dataclasses import dataclass

from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation, SSAValue
from xdsl.traits import SymbolTable

from xrelay.analysis.facts.reshapes import reshaped_argument
from xrelay.analysis.facts.scopes import belongs_to_backend
from xrelay.analysis.relay_pass import RelayPass
from xrelay.dialects.core.device import OnDeviceOp
from xrelay.dialects.core.functional import ApplyOp, LetOp
from xrelay.dialects.core.values import FusedOp
from xrelay.dialects.core.vm import VmReshapeTensorOp
from xrelay.dialects.shapes import is_tensor_type
from xrelay.transforms.rules.called_bodies import (
    called_primitive,
    only_reshapes,
    replace_call,
    reshaped_view,
)


def _is_in_kernel_memory(value: SSAValue) -> bool:
    """Whether a value is the result of a primitive function, or a view of it."""
    while isinstance(value.owner, LetOp | OnDeviceOp):
        value = value.owner.operands[0]
    if isinstance(value.owner, Block):
        return False
    return isinstance(value.owner, VmReshapeTensorOp) or called_primitive(value.owner) is not None


def view_of(call: FusedOp | ApplyOp) -> list[Operation] | None:
    """What a call of a function that only reshapes becomes, None if it stays."""
    function = called_primitive(call)
    type_ = call.result.type
    if function is None or not only_reshapes(function) or not is_tensor_type(type_):
        return None
    number = reshaped_argument(function)
    if number is None or not _is_in_kernel_memory(call.args[number]):
        return None
    if not type_.has_static_shape():
        return None
    return reshaped_view(call.args[number], type_)


@dataclass(frozen=True)
class RemoveStandaloneReshapesPass(RelayPass):
    """Makes views of reshapes that are kernels of their own."""

    name = "remove-standalone-reshapes"

    def rewrite(self, op: ModuleOp) -> None:
        main = SymbolTable.lookup_symbol(op, "main")
        if not isinstance(main, func.FuncOp) or belongs_to_backend(main):
            return
        for block in main.body.blocks:
            for call in tuple(block.ops):
                if isinstance(call, FusedOp | ApplyOp) and (view := view_of(call)) is not None:
                    replace_call(call, view)
