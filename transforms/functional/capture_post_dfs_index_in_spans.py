"""
`capture-post-dfs-index-in-spans`: each expression states its number and that of its post-dominator.

    %0 = relay.exp %x            ──►   %0 = relay.exp %x {relay.span = array<i64: 2, 3>}
    %1 = relay.tanh %0                 %1 = relay.tanh %0 {relay.span = array<i64: 4, 5>}

The numbers are those of the original's spans (`span=index:2:3`), and count the expressions of Relay, operators
included (`exp` is 1, `tanh` 3 and the function 5): what an expression is made of comes before it. The post-dominator is the
first expression after it that all uses lead to; -1 stands for none, as for the function itself. A pass that looks at
groups of expressions can say with the two which are between an expression and where all its uses meet.

The numbers stand in attributes, each an array of the two:

| attribute | of |
| --- | --- |
| `relay.span` | operations and parameters of functions: their result; functions; `relay.let`: its variable |
| `relay.let_span` | `relay.let`: the expression itself, after all that follows |
| `relay.function_span` | `relay.fused`, `relay.composite`: the function that they call |
| `relay.param_spans` | operations with regions: the parameters of these, in order |

Operations that the result does not depend on are no expressions, and state nothing; a second run states the same. Leaves
alone: functions for other compilers, and those that have not one block.

Source: Relay's CapturePostDfsIndexInSpans.
"""

from dataclasses import dataclass

from xdsl.dialects import func
from xdsl.dialects.builtin import ArrayAttr, DenseArrayBase, DictionaryAttr, ModuleOp, i64
from xdsl.ir import Attribute, Operation

from xrelay.analysis.facts.indexed_graph import IndexedGraph
from xrelay.analysis.facts.scopes import SKIPPED_FUNCTIONS, functions_without
from xrelay.analysis.facts.walking import blocks_in, walk
from xrelay.analysis.relay_pass import RelayPass
from xrelay.dialects.core.functional import ClosureOp

SPAN = "relay.span"
LET_SPAN = "relay.let_span"
FUNCTION_SPAN = "relay.function_span"
PARAM_SPANS = "relay.param_spans"
SPANS = (SPAN, LET_SPAN, FUNCTION_SPAN, PARAM_SPANS)
"""The attributes that state numbers."""


@dataclass(frozen=True)
class CapturePostDfsIndexInSpansPass(RelayPass):
    """States the numbers of expressions and of their post-dominators."""

    name = "capture-post-dfs-index-in-spans"

    def rewrite(self, op: ModuleOp) -> None:
        for function in functions_without(op, SKIPPED_FUNCTIONS):
            if len(function.body.blocks) == 1:
                _state_spans(function)


def _state_spans(function: func.FuncOp) -> None:
    graph = IndexedGraph.of_function(function)
    function.attributes[SPAN] = _attribute(graph.span(function))
    if function.args:
        stated = (
            function.arg_attrs.data
            if function.arg_attrs
            else [DictionaryAttr({})] * len(function.args)
        )
        function.arg_attrs = ArrayAttr(
            DictionaryAttr({**attrs.data, SPAN: _attribute(graph.span(arg))})
            for attrs, arg in zip(stated, function.args, strict=True)
        )
    for op in walk(function):
        if op is not function:
            _state_span(op, graph)


def _state_span(op: Operation, graph: IndexedGraph) -> None:
    result = graph.span(op.results[0]) if op.results else None
    args = [arg for block in blocks_in(op) for arg in block.args]
    if isinstance(op, ClosureOp) and op.recursive:
        args = args[1:]
    spans = {
        SPAN: result,
        LET_SPAN: graph.span(("let", op)),
        FUNCTION_SPAN: graph.span(("function", op)),
    }
    found = {name: _attribute(span) for name, span in spans.items() if span is not None}
    params = [graph.span(arg) for arg in args]
    # Those of a loop, and of other dialects, are no variables of the original.
    if params and result is not None and None not in params:
        found[PARAM_SPANS] = ArrayAttr(map(_attribute, params))
    for name in SPANS:
        op.attributes.pop(name, None)
    op.attributes.update(found)


def _attribute(span: tuple[int, int] | None) -> Attribute:
    assert span is not None
    return DenseArrayBase.from_list(i64, span)
