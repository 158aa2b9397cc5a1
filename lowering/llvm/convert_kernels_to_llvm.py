"""
`convert-kernels-to-llvm`: kernel IR to the llvm dialect, which `-t llvm` prints as LLVM IR.

    scf.for %i = %c0 to %c8 step %c1 {          llvm.br ^bb1(%c0)
      …                                   ──►   ^bb1(%i):
    }                                             …

Loops become branches between blocks, arithmetic and vectors the operations of the llvm dialect. Run it after
`convert-relay-to-kernels`.
"""

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from xrelay.lowering.llvm.to_llvm import convert_module


@dataclass(frozen=True)
class ConvertKernelsToLLVMPass(ModulePass):
    """Rebuilds scf, arith, math and vector operations of kernels as llvm operations."""

    name = "convert-kernels-to-llvm"

    triple: str | None = None
    """The target triple that the module states; by default none."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        convert_module(op, self.triple)
