"""
`partial-eval`: what is known of a program is computed now.

    %f = relay.closure {                       %f = relay.let …        // what nothing uses any more stays
    ^bb0(%d: tensor<f32>):
      %s = relay.add %d, %d          ──►
      relay.yield %s                           %x = relay.let 4.0
    }                                          %y = relay.let 8.0
    %0 = relay.apply %f(4.0)                   return %y
    return %0

An interpreter runs the program with values of which a part is known: arrays, the fields of tuples and of data
types, functions, which cell a cell is. What is not known it writes down, each with a name (`relay.let`).

- A call of a known function becomes its body, for these arguments. Within it the function is expanded again only
  for an argument that is a part of one of the arguments around it, or a smaller number, so that expansion ends. Of functions
  that call each other each is expanded once as long as no argument is known: in every order they would be very many.
- What cells hold is known until something unknown may write them: a call that stays, a cell that is not known.
  Branches that may or may not run, and the bodies of functions, begin with what is known, or with nothing, and
  leave nothing behind.
- Operators on constants are computed by the interpreter, `relay.match` and `scf.if` on what is known become the clause
  or branch that runs.

`dead-code-elimination` removes what nothing uses any more. Stay as they are: functions for other compilers,
functions of several blocks, operations of other dialects with what they hold, and `relay.fused` and `relay.composite`, on
constants as well, which the original computes: here `defuse-ops{include-composite=true}` in front opens the groups.
`max-operations` bounds how much larger programs become. Another run expands recursion whose arguments are not known once more.

Source: Relay's PartialEvaluate, which does not forget what cells hold when a function calls itself.
"""

from dataclasses import dataclass

from xdsl.dialects.builtin import ModuleOp

from xrelay.analysis.facts.suggestions import require_at_least
from xrelay.transforms.fold_constant import FoldingPass
from xrelay.transforms.infer_type import TypeInference
from xrelay.transforms.rules.functional.partial_evaluation import PartialEvaluation


@dataclass(frozen=True)
class PartialEvalPass(FoldingPass):
    """Computes what is known."""

    name = "partial-eval"

    max_operations: int = 100_000
    """Once this many names were given and calls expanded, calls stay."""

    def rewrite(self, op: ModuleOp) -> None:
        require_at_least(0, max_operations=self.max_operations)
        PartialEvaluation(op, self.evaluator(), self.max_operations).run()
        TypeInference(op).run()
