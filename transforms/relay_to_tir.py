"""
`relay-to-tir`: compilers lower functions that are for them.

    %f = relay.closure {Compiler = "a"} { relay.add … }         %0 = func.call @tvmgen_a_0(%x)
    %0 = relay.apply %f(%x)                             ──►     func.func private @tvmgen_a_0 …  { what "a" makes of it }

A compiler with a hook `lower` (`xrelay.backends.base.Backend.lower`) is given each function of its own, in a module, and says
whether it has lowered it: has rewritten it into operators that this project's own code generator compiles. Such a
function loses `Compiler` and `Primitive`, so that it is an ordinary one. Where it stands inline as a function value, it
becomes a function of the module first, as `outline-compiler-functions` has it. Compilers are asked in alphabetical order,
and about their functions in that order too.

Leaves alone: functions of compilers that lower nothing, and those that a compiler leaves to its `compile`.

Source: Relay's RelayToTIRTargetHook, where the hook of a kind of target is a pass on the whole module.
"""

from dataclasses import dataclass

from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp
from xdsl.rewriter import Rewriter

from xrelay.analysis.facts.walking import walk
from xrelay.analysis.partition.compilers import REGISTRY
from xrelay.analysis.relay_pass import RelayPass
from xrelay.dialects.core.functional import ClosureOp
from xrelay.transforms.outline_compiler_functions import OutlineCompilerFunctionsPass
from xrelay.transforms.rules.compiler_hooks import rewritten_by
from xrelay.transforms.rules.inlining import compiler_of

OWNERS = ("Compiler", "Primitive")
"""The attributes of functions that this project does not compile."""


@dataclass(frozen=True)
class RelayToTirPass(RelayPass):
    """
    Has compilers lower their functions.

    Raises DiagnosticException when a compiler removes one, changes its type, adds others or leaves what does not verify.
    """

    name = "relay-to-tir"

    def rewrite(self, op: ModuleOp) -> None:
        functions = (each for each in walk(op) if isinstance(each, func.FuncOp | ClosureOp))
        for compiler in sorted({name for each in functions if (name := compiler_of(each))}):
            lower = REGISTRY.get(compiler).lower
            if lower is None:
                continue
            OutlineCompilerFunctionsPass(compiler).rewrite(op)
            own = [
                each
                for each in op.body.ops
                if isinstance(each, func.FuncOp)
                and compiler_of(each) == compiler
                and not each.is_declaration
            ]
            for function in sorted(own, key=lambda each: each.sym_name.data):
                copy = function.clone()
                lowered, is_lowered = rewritten_by(compiler, copy, lower)
                if not is_lowered:
                    continue
                for attribute in OWNERS:
                    lowered.attributes.pop(attribute, None)
                Rewriter.replace_op(function, lowered)
