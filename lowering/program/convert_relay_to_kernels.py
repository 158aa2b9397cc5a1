"""
`convert-relay-to-kernels`: relay functions to kernels and an entry function that calls them.

    func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
      %0 = relay.fused %x … { relay.exp … }
    }

becomes

    func.func private @fused_exp(%p0: !llvm.ptr, %out: !llvm.ptr, %scratch: !llvm.ptr) { loops }
    func.func @main(%inputs, %outputs, %constants, %workspace) { call @fused_exp(…) }

Run it after `fuse-ops`; operators outside of `relay.fused` get kernels of their own. The entry
function gets the addresses of the inputs, the outputs, the constants and the workspace. Module
attributes say what the caller provides: `xrelay.workspace_bytes`, `xrelay.constant_bytes`, and
`xrelay.constants`, the value expected at each offset of the constants.
"""

from dataclasses import dataclass

from xdsl.dialects.builtin import ModuleOp

from xrelay.analysis.facts.ports import entry_function
from xrelay.analysis.relay_pass import RelayPass
from xrelay.lowering.emit.target import NATIVE, named_target
from xrelay.lowering.program.options import KernelOptions
from xrelay.lowering.program.program import lower_function


@dataclass(frozen=True)
class ConvertRelayToKernelsPass(RelayPass):
    """Lowers one relay function to kernel IR."""

    name = "convert-relay-to-kernels"

    target: str = NATIVE
    """The CPU: native, or a named one such as x86-64-v4."""
    threads: int = 1
    """How many threads run the program."""
    function: str | None = None
    """The function to lower; by default `main`, or the only one of the module."""

    def rewrite(self, op: ModuleOp) -> None:
        function = entry_function(op, self.function)
        program = lower_function(function, KernelOptions(named_target(self.target), self.threads))
        for old in list(op.body.block.ops):
            old.detach()
            old.erase(safe_erase=False)
        for new in list(program.module.body.block.ops):
            new.detach()
            op.body.block.add_op(new)
        op.attributes.update(program.module.attributes)
