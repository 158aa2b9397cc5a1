"""
`expand-functions`: functions become parts of their callers, loops, and at last functions that take and give tensors.

    func.func @main(%x) {                                func.func @main(%x) {
      %f = relay.closure {                                 %0 = relay.exp %x
      ^bb0(%a: tensor<4xf32>):                 ──►         …
        %0 = func.call @g(%a)                            }
        relay.yield %0
      }
      %1 = relay.apply %f(%x)
      …
    func.func private @g(%p) {
      %0 = relay.exp %p
      …

In order: `eta-expand` of functions that are values, `recursion-to-loops`, `inline{calls=true}`, `inline-closures`, `inline` again for
what these called, and `outline-closures`. What is left calls itself elsewhere than last, or is for another compiler. Where
function values or data types are left, `partial-eval` finds out what cells and constructors hold, and the passes run again; those that
are left then, as a branch, a parameter, or a list of unknown length gives them, become tensors (`data-types-to-tensors`), and of the functions
those stay that `@main`, or the only one that no other calls, needs.

Leaves alone: what each of these passes leaves alone, and with `strict=false` data and function values that cannot become tensors, which are
refused otherwise.

Source: this project; code is generated for tensors.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation
from xdsl.utils.exceptions import DiagnosticException

from xrelay.analysis.facts.ports import entry_function
from xrelay.analysis.facts.walking import walk
from xrelay.analysis.relay_pass import RelayPass
from xrelay.dialects.core.adt import ConstructOp, MatchOp
from xrelay.dialects.core.functional import ApplyOp, ClosureOp, GlobalVarOp
from xrelay.dialects.shapes import HasNoCode
from xrelay.transforms.dead_code_elimination import DeadCodeEliminationPass
from xrelay.transforms.eliminate_common_subexpr import EliminateCommonSubexprPass
from xrelay.transforms.functional.data_types_to_tensors import DataTypesToTensorsPass
from xrelay.transforms.functional.eta_expand import EtaExpandPass
from xrelay.transforms.functional.inline_closures import InlineClosuresPass
from xrelay.transforms.functional.outline_closures import OutlineClosuresPass
from xrelay.transforms.functional.partial_eval import PartialEvalPass
from xrelay.transforms.functional.recursion_to_loops import RecursionToLoopsPass
from xrelay.transforms.functional.to_graph_normal_form import ToGraphNormalFormPass
from xrelay.transforms.infer_type import InferTypePass
from xrelay.transforms.inline import InlinePass
from xrelay.transforms.promote_references import PromoteReferencesPass
from xrelay.transforms.rules.called_bodies import named
from xrelay.transforms.rules.copying import copied
from xrelay.transforms.rules.inlining import compiler_of

FUNCTIONS_AND_DATA = (func.CallOp, ClosureOp, GlobalVarOp, ConstructOp, MatchOp)
"""What is to be expanded."""


@dataclass(frozen=True)
class ExpandFunctionsPass(RelayPass):
    """Leaves no functions where there need be none."""

    name = "expand-functions"

    strict: bool = False
    """Whether what cannot be expanded is refused, with the reason, and not left alone."""

    def rewrite(self, op: ModuleOp) -> None:
        # Most programs are one function, in which there is nothing to do.
        if any(isinstance(each, FUNCTIONS_AND_DATA) for each in walk(op)):
            _run(_direct(), op)
            if any(map(_is_left, walk(op))):
                self._evaluate(op)

    def _evaluate(self, op: ModuleOp) -> None:
        """Finds out what cells and constructors hold, or puts tensors in the place of data and function values."""
        plain = copied(op)
        _run((*_evaluation(), *_direct()), op)
        if not any(map(_is_left, walk(op))):
            return
        # Where evaluation does not find everything, it has expanded functions in vain, unless it has to find some.
        refusal: DiagnosticException | None = None
        for source in (plain, copied(op)):
            try:
                DataTypesToTensorsPass((entry_function(source).sym_name.data,)).rewrite(source)
            except DiagnosticException as error:
                refusal = error
                continue
            whole = source.detach_region(source.body)
            op.detach_region(op.body)
            op.add_region(whole)
            _run((*_tidying(), *_direct(), *_tidying()), op)
            return
        if self.strict:
            raise HasNoCode(f"function '{entry_function(op).sym_name.data}': {refusal}")


def _run(passes: Iterable[RelayPass], op: ModuleOp) -> None:
    for each in passes:
        each.rewrite(op)


def _direct() -> tuple[RelayPass, ...]:
    """What finds functions where they are called."""
    return (
        EtaExpandPass(expand_constructor=False),
        RecursionToLoopsPass(),
        InlinePass(calls=True),
        InlineClosuresPass(primitive=True),
        InlinePass(calls=True),
        OutlineClosuresPass(),
    )


def _evaluation() -> tuple[RelayPass, ...]:
    """What finds functions in cells, tuples and data types."""
    return (
        PartialEvalPass(),
        ToGraphNormalFormPass(),
        DeadCodeEliminationPass(),
        PromoteReferencesPass(),
    )


def _tidying() -> tuple[RelayPass, ...]:
    """What is known of tensors that were data, each once."""
    return InferTypePass(), EliminateCommonSubexprPass(), DeadCodeEliminationPass()


def _is_left(op: Operation) -> bool:
    """Whether an operation calls a function value, but none of another compiler, or makes or takes a value of a data type."""
    if not isinstance(op, ApplyOp):
        return isinstance(op, ConstructOp | MatchOp)
    literal = named(op.function).owner
    return not isinstance(literal, ClosureOp) or compiler_of(literal) is None
