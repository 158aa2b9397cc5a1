"""
`inline-compiler-functions`: takes back from compilers what `partition-graph` has given them.

    %0 = func.call @tvmgen_default_dnnl_main_0(%x)      ──►      %0 = relay.exp %x

Calls of functions with `Compiler` become their bodies, composites within them included, and the functions
are removed. What a compiler's own `optimize` hook has done to them stays.

Leaves alone: functions that `functions` does not name, and those that are used in another way than by
calls, which are kept beside the inlined calls.

Source: Relay's InlineCompilerFunctionsBoundTo.
"""

from dataclasses import dataclass

from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern, op_type_rewrite_pattern

from xrelay.analysis.facts.call_graph import CallGraph
from xrelay.analysis.facts.pattern_walker import PatternWalker
from xrelay.analysis.facts.suggestions import PassOptionError
from xrelay.analysis.relay_pass import RelayPass
from xrelay.dialects.core.values import CompositeOp
from xrelay.transforms.defuse_ops import inline_body
from xrelay.transforms.rules.inlining import compiler_of, erase_unused_functions, inline_call


@dataclass(frozen=True)
class InlineCompilerFunction(RewritePattern):
    """A call becomes the body of the function, with its composites inlined."""

    functions: dict[str, func.FuncOp]

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: func.CallOp, rewriter: PatternRewriter, /) -> None:
        function = self.functions.get(op.callee.string_value())
        if function is not None:
            for inlined in inline_call(op, function, rewriter):
                if isinstance(inlined, CompositeOp):
                    inline_body(inlined, rewriter)


@dataclass(frozen=True)
class InlineCompilerFunctionsPass(RelayPass):
    """
    Inlines functions that are for compilers.

    A function that the module does not have raises PassOptionError.
    """

    name = "inline-compiler-functions"

    functions: tuple[str, ...] = ()
    """The functions to inline; all that have `Compiler` when none is named."""

    def rewrite(self, op: ModuleOp) -> None:
        graph = CallGraph.of_module(op)
        available = [name for name, f in graph.functions.items() if compiler_of(f) is not None]
        for name in self.functions:
            if name not in available:
                raise PassOptionError(
                    f"'functions' has {name}, functions with Compiler are "
                    + (", ".join(available) or "none")
                )
        chosen: dict[str, func.FuncOp] = {}
        for name in graph.callees_first():
            function = graph.functions[name]
            # A function that calls itself, through others or not, is not ready here.
            if (
                (name in self.functions if self.functions else name in available)
                and len(function.body.blocks) == 1
                and all(use in chosen or use not in available for use in graph.uses[name])
                and name not in graph.uses[name]
            ):
                chosen[name] = function
        for name in graph.callees_first():
            PatternWalker(InlineCompilerFunction(chosen), apply_recursively=False).rewrite_region(
                graph.functions[name].body
            )
        erase_unused_functions(op, chosen)
