"""
`inline`: functions with the attribute `Inline` take the place of their calls; with `calls` all that can.

    func.func @main(%x) {                      func.func @main(%x) {
      %0 = func.call @g(%x)          ──►         %0 = relay.exp %x
      …                                          …
    func.func @g(%p) attributes {Inline = 1}
      %0 = relay.exp %p
      …

- A function that is for a compiler (`Compiler`) becomes a `relay.closure` that is called in place, so that
  its operators stay together; `outline-compiler-functions` is the opposite.
- A function that is used as a value becomes a `relay.closure` there.
- Functions that were inlined are removed. Those that nothing used before stay: they are entries.

Leaves alone: recursive functions, those that use a function that is not inlined, and declarations.

Source: Relay's Inline.
"""

from dataclasses import dataclass

from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp
from xdsl.pattern_rewriter import (
    GreedyRewritePatternApplier,
    PatternRewriter,
    RewritePattern,
    op_type_rewrite_pattern,
)

from xrelay.analysis.facts.call_graph import CallGraph
from xrelay.analysis.facts.pattern_walker import PatternWalker
from xrelay.analysis.relay_pass import RelayPass
from xrelay.dialects.core.functional import ApplyOp, GlobalVarOp, type_params_of
from xrelay.transforms.rules.inlining import (
    closure_of,
    compiler_of,
    erase_unused_functions,
    inline_call,
)


@dataclass(frozen=True)
class InlineCall(RewritePattern):
    """A call becomes the body of the function, or a call of the function as a value."""

    functions: dict[str, func.FuncOp]

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: func.CallOp, rewriter: PatternRewriter, /) -> None:
        function = self.functions.get(op.callee.string_value())
        if function is None:
            return
        if compiler_of(function) is None:
            inline_call(op, function, rewriter)
        elif len(op.results) == 1:
            closure = closure_of(function)
            result = op.results[0].type
            rewriter.replace(op, (closure, ApplyOp(closure.result, op.arguments, result)))


@dataclass(frozen=True)
class InlineValue(RewritePattern):
    """A function that is used as a value becomes a `relay.closure`."""

    functions: dict[str, func.FuncOp]

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: GlobalVarOp, rewriter: PatternRewriter, /) -> None:
        function = self.functions.get(op.function.string_value())
        # A function with type parameters is a value of another type than where it is used.
        if function is not None and not type_params_of(function):
            rewriter.replace(op, (closure_of(function),))


@dataclass(frozen=True)
class InlinePass(RelayPass):
    """Inlines functions with `Inline`."""

    name = "inline"

    calls: bool = False
    """Whether functions without `Inline` are inlined too, unless another compiler takes them."""

    def rewrite(self, op: ModuleOp) -> None:
        graph = CallGraph.of_module(op)
        inlinable = graph.inlinable(calls=self.calls)
        patterns = GreedyRewritePatternApplier(
            [InlineCall(inlinable), InlineValue(inlinable)], dce_enabled=False
        )
        # What is inlined has been inlined into before, so that each call is rewritten once.
        for name in graph.callees_first():
            PatternWalker(patterns, apply_recursively=False).rewrite_region(
                graph.functions[name].body
            )
        used_before = {use for uses in graph.uses.values() for use in uses}
        erase_unused_functions(
            op, {name: function for name, function in inlinable.items() if name in used_before}
        )
