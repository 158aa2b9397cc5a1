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

Leaves alone: recursive functions, without `calls` also those that use a function that is not inlined, and declarations.

Source: Relay's Inline.
"""

from dataclasses import dataclass

from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation
from xdsl.pattern_rewriter import (
    GreedyRewritePatternApplier,
    PatternRewriter,
    RewritePattern,
    op_type_rewrite_pattern,
)
from xdsl.rewriter import Rewriter

from xrelay.analysis.facts.call_graph import CallGraph, symbols_used
from xrelay.analysis.facts.pattern_walker import PatternWalker
from xrelay.analysis.facts.walking import walk
from xrelay.analysis.relay_pass import RelayPass
from xrelay.dialects.core.functional import ApplyOp, GlobalVarOp, type_params_of
from xrelay.transforms.rules.inlining import closure_of, compiler_of, inline_call


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


class ExpandingWalker(PatternWalker):
    """Visits what takes the place of an operation, too, and what that holds."""

    def _handle_operation_insertion(self, op: Operation) -> None:
        for each in walk(op):
            self._worklist.push(each)


@dataclass(frozen=True)
class InlinePass(RelayPass):
    """Inlines functions with `Inline`."""

    name = "inline"

    calls: bool = False
    """Whether functions without `Inline` are inlined too, unless another compiler takes them."""

    def rewrite(self, op: ModuleOp) -> None:
        graph = CallGraph.of_module(op)
        inlinable = graph.inlinable(calls=self.calls)
        walker = ExpandingWalker(
            GreedyRewritePatternApplier(
                [InlineCall(inlinable), InlineValue(inlinable)], dce_enabled=False
            ),
            apply_recursively=False,
        )
        used_before = {use for uses in graph.uses.values() for use in uses}
        # What stays is expanded from its calls inwards, so that no operation is copied that goes afterwards.
        pending = [
            name
            for name in graph.functions
            if name not in inlinable or name not in used_before or name in graph.used_elsewhere
        ]
        kept = set(pending)
        while pending:
            function = graph.functions[pending.pop()]
            walker.rewrite_region(function.body)
            left = [name for name in symbols_used(function) if name in inlinable]
            pending.extend(name for name in left if name not in kept)
            kept.update(left)
        for name, function in inlinable.items():
            if name not in kept:
                Rewriter.erase_op(function)
