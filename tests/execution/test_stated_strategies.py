"""
Programs that state what computes their operators are compiled so, and compute the same.

A program is written with the choices of `select-strategies`, which are edited as people would: to other
numbers, and to another implementation. It is then read and compiled like any other model.
"""

from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from cases.dots import TypedConvolution, Types, bound
from cases.strategies.case import Case
from cases.strategies.draws import draws
from cases.strategies.windows import Window
from graphs import LEGALIZATION, Graph
from vector_functions import targets_here
from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp
from xdsl.utils.exceptions import DiagnosticException

from xrelay.analysis.facts.ports import entry_function
from xrelay.compiler import build, compile_code, lower, read_model, run_passes
from xrelay.dialects.core.values import FusedOp
from xrelay.interpreters.arrays import Array
from xrelay.lowering.emit.parameters import ParameterError
from xrelay.lowering.emit.target import TARGETS
from xrelay.lowering.program.options import KernelOptions
from xrelay.lowering.program.selection import Choice, select_strategies, write_strategies
from xrelay.options import CompileOptions
from xrelay.runtime.model import Model
from xrelay.tools.module_file import write_module
from xrelay.tools.verify import largest_difference
from xrelay.transforms.fuse_ops import FuseOpsPass

IMPLEMENTATIONS = (
    *("direct", "blocked", "depthwise", "winograd-2", "winograd-4"),
    *("panels", "dot-products", "row-updates", "blocks of rows"),
)
"""Those with parameters."""
THREADS = 2
AMX = "x86-64-v4-amx"

Edit = Callable[[Choice], Choice]


def smallest(choice: Choice) -> Choice:
    """All numbers are 1."""
    return restated(choice, dict.fromkeys(choice.numbers, 1))


def larger(choice: Choice) -> Choice:
    """Each number twice as large, or one larger, where it can be."""
    for name in choice.numbers:
        value = choice.numbers[name]
        for other in (2 * value, value + 1):
            try:
                choice = restated(choice, {**choice.numbers, name: other})
            except ParameterError:
                continue
            break
    return choice


def smaller(choice: Choice) -> Choice:
    """Each number one smaller, where it can be: tiles may have as many positions and vectors as there are registers for."""
    return restated(choice, {name: max(1, value - 1) for name, value in choice.numbers.items()})


def another(choice: Choice) -> Choice:
    """The second best implementation, where there is one."""
    *_, other = choice.selection.candidates[:2]
    return choice.by(other.implementation.name)


def restated(choice: Choice, numbers: dict[str, int]) -> Choice:
    return Choice.of(choice.site, choice.implementation, numbers, is_anchor=choice.is_anchor)


def compiled(
    function: func.FuncOp, edited: dict[FusedOp, list[Choice]], path: Path, target: str
) -> Model:
    """The model that a file with edited choices becomes, which it is compiled with."""
    for op, choices in edited.items():
        write_strategies(op, choices)
    module = function.parent_op()
    assert isinstance(module, ModuleOp)
    write_module(module, path)
    (module, name), options = read_model(path), CompileOptions(THREADS, target)
    program = lower(module, options)
    used = [each.key for step in program.steps for each in step.choices]
    assert used == [each.key for choices in edited.values() for each in choices]
    return Model.from_code(build(program, name, options))


EDITS: Sequence[Edit] = (smallest, smaller, larger, another)


def cases_in_tiles() -> list[Case]:
    """Convolutions of images with several rows of tiles."""
    types: Types = ("bfloat16", "bfloat16", "float32")
    found: list[Case] = []
    for channels, lanes in ((32, 16), (3, None)):
        window = Window((9, 11), (3, 3), pads=(1, 1, 1, 1))
        conv = TypedConvolution(types, window, channels, 80, 1, lanes, 16, "parameter")
        found.append(Case("gathered-tiles", str(conv), bound(types, 288), conv.build))
    return found


def cases_in_vectors() -> list[Case]:
    """One of each implementation that every target has."""
    lanes = TARGETS[targets_here()[-1]].lanes(4)
    return [next(draws(name, 1, lanes)) for name in IMPLEMENTATIONS]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("target", "drawn"),
    [(targets_here()[-1], cases_in_vectors), (AMX, cases_in_tiles)],
    indirect=["target"],
)
def test_edited_choices(target: str, drawn: Callable[[], list[Case]], tmp_path: Path) -> None:
    graph, cases = Graph(0), drawn()
    for case in cases:
        graph.returns(case.build(graph))
    expected: list[Array] = [array for _, array in graph.expected()]
    module = graph.module().clone()
    run_passes(module, [*LEGALIZATION, FuseOpsPass(rules="cpu")])
    main = entry_function(module)
    original = select_strategies(main, KernelOptions.of(target, THREADS))
    changed = 0
    for edit in EDITS:
        edited = {
            op: [edit(each) for each in choices]
            for op, choices in original.items()
            if isinstance(op, FusedOp)
        }
        model = compiled(main, edited, tmp_path / "edited.mlir", target)
        changed += sum(
            each.key != before.key
            for op, choices in edited.items()
            for each, before in zip(choices, original[op], strict=True)
        )
        inputs = dict(
            zip((each.name for each in model.signature.inputs), graph.inputs, strict=True)
        )
        found = list(model.run(inputs).values())
        for case, one, other in zip(cases, found, expected, strict=True):
            error = largest_difference(one, other)
            assert error <= max(case.bound, 1e-5), f"{edit.__name__}, {case}: {error:.2g}"
    assert changed > 2 * len(cases)


def test_a_file_that_states_a_choice_wrongly(tmp_path: Path) -> None:
    path = tmp_path / "stated.mlir"

    def refused(stated: str) -> str:
        path.write_text(PROGRAM.format(f"#relay.strategy<{stated}>"))
        with pytest.raises(DiagnosticException) as caught:
            compile_code(*read_model(path), CompileOptions(1, "x86-64"))
        return str(caught.value)

    assert f"{path}:2:" in refused('0 "relay.nn.dense" by "panels"')
    assert "the body has 1 operators" in (
        message := refused('anchor 1 "relay.nn.dense" by "panels"')
    )
    assert f"{path}:2:" in message
    assert refused('anchor 0 "relay.nn.dense" by "row-updates", rows = 1') == (
        "function 'main': relay.fused %y: 'row-updates' cannot compute relay.nn.dense: "
        "right operand stored by columns"
    )


PROGRAM = """func.func @main(%x: tensor<4x8xf32>, %w: tensor<16x8xf32>) -> tensor<4x16xf32> {{
  %y = relay.fused %x, %w attributes {{strategies = [{}]}} : (tensor<4x8xf32>, tensor<16x8xf32>) -> tensor<4x16xf32> {{
  ^bb0(%a: tensor<4x8xf32>, %b: tensor<16x8xf32>):
    %0 = relay.nn.dense %a, %b : (tensor<4x8xf32>, tensor<16x8xf32>) -> tensor<4x16xf32>
    relay.yield %0 : tensor<4x16xf32>
  }}
  func.return %y : tensor<4x16xf32>
}}
"""
