"""
`convert-relay-to-kernels`: relay functions to kernels and an entry function that calls them.

    func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
      %0 = relay.fused %x … { relay.exp … }
    }

becomes

    func.func private @fused_exp(%p0: !llvm.ptr, %out: !llvm.ptr, %scratch: !llvm.ptr) { loops }
    func.func @main(%inputs, %outputs, %constants, %workspace) { call @fused_exp(…) }

Run it after `fuse-ops`; operators outside of `relay.fused` get kernels of their own. Weights stay
outside: the entry function gets their address.
"""

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import IntegerAttr, ModuleOp, i64
from xdsl.passes import ModulePass

from xrelay.lowering.program import entry_function, lower_function
from xrelay.lowering.target import NATIVE, check_target_name, named_target

WORKSPACE_ATTRIBUTE = "xrelay.workspace_bytes"
CONSTANTS_ATTRIBUTE = "xrelay.constant_bytes"


@dataclass(frozen=True)
class ConvertRelayToKernelsPass(ModulePass):
    """Lowers one relay function to kernel IR."""

    name = "convert-relay-to-kernels"

    target: str = NATIVE
    """The CPU: native, x86-64, x86-64-v3 or x86-64-v4."""
    function: str | None = None
    """The function to lower; by default `main`, or the only one of the module."""

    def __post_init__(self) -> None:
        check_target_name(self.target)

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        function = entry_function(op, self.function)
        program = lower_function(function, named_target(self.target))
        for old in list(op.body.block.ops):
            old.detach()
            old.erase(safe_erase=False)
        for new in list(program.module.body.block.ops):
            new.detach()
            op.body.block.add_op(new)
        op.attributes[WORKSPACE_ATTRIBUTE] = IntegerAttr(program.workspace_bytes, i64)
        op.attributes[CONSTANTS_ATTRIBUTE] = IntegerAttr(program.constant_bytes, i64)
