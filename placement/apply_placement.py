"""
`apply-placement`: carries out a plan of `xrelay place`: regions become functions of their engines.

    func.func @main(%x) {                     func.func @main(%x) {
      %0 = relay.nn.relu %x                     %0 = func.call @tvmgen_default_onnxruntime_main_0(%x)
      %1 = relay.exp %0             ──►         func.return %0
      func.return %1                          }
    }                                         func.func private @tvmgen_default_onnxruntime_main_0(%p) …

The functions have the attributes `Compiler`, `Primitive`, `Inline` and `global_symbol`; what an engine knows as one
operator is a `relay.composite` in them. Operators of own code stay where they are, for `fuse-ops`.

Changes `main` only. Must run on the program that the plan was made for: `xrelay place --program` writes it.

Source: the rewriting at the end of TVM's `CollagePartition`.
"""

from dataclasses import dataclass
from pathlib import Path

from xdsl.dialects.builtin import ModuleOp

from xrelay.analysis.facts.ports import entry_function
from xrelay.analysis.facts.scopes import one_block
from xrelay.analysis.facts.suggestions import PassOptionError
from xrelay.analysis.relay_pass import RelayPass
from xrelay.placement.errors import PlacementError
from xrelay.placement.graph.dataflow import Graph
from xrelay.placement.graph.rewriting import rewrite
from xrelay.placement.plan_file import read_plan


@dataclass(frozen=True)
class ApplyPlacementPass(RelayPass):
    """
    Carries out a plan.

    One that is missing, malformed or for another program raises PassOptionError.
    """

    name = "apply-placement"

    file: str = ""
    """The plan, in JSON."""

    def rewrite(self, op: ModuleOp) -> None:
        if not self.file:
            raise PassOptionError("'file' is empty, expected the plan of `xrelay place`")
        function = entry_function(op)
        one_block(function)
        graph = Graph.of(function)
        try:
            plan = read_plan(Path(self.file), graph)
        except PlacementError as error:
            raise PassOptionError(str(error)) from error
        rewrite(op, graph, plan.parts, plan.binds)
