"""
The main job end to end, as `make demo` shows it: ResNet-50 from ONNX to running machine code.

The graph is the light model of the onnx package, with seeded random weights: with its own, which
are all 0.02, every output is the same number.
"""

import sys
import time
from math import prod
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.table import Table
from xdsl.dialects.builtin import ModuleOp

from xrelay.analysis.facts.walking import walk
from xrelay.analysis.fusion.plan import FusionGroup
from xrelay.compiler import CPU_FUSION, compile_code, preparation, read_model, run_passes
from xrelay.dialects.base import RelayOp
from xrelay.dialects.core.values import ConstantOp
from xrelay.dialects.shapes import leaf_types
from xrelay.interpreters.relay import interpret
from xrelay.lowering.emit.target import NATIVE, named_target
from xrelay.options import CompileOptions
from xrelay.runtime.model import Model
from xrelay.tools.errors import FAILED, failing_with, run_command
from xrelay.tools.explain.command import plans
from xrelay.tools.interruption import until_interrupted
from xrelay.tools.light_models import light_model
from xrelay.tools.progress import stage_progress
from xrelay.tools.run_model import complete_inputs
from xrelay.tools.verify import TOLERANCE, largest_difference

MODEL = "resnet50"
LARGEST = 10
OUTPUT = Path("build", "resnet50.ll")


def result_elements(group: FusionGroup) -> int:
    """How many elements a fused function computes."""
    return sum(prod(type_.get_shape()) for type_ in leaf_types(group.root.results[0].type))


def operator_count(module: ModuleOp) -> int:
    """How many operators a module has, constants not counted."""
    return sum(isinstance(op, RelayOp) and not isinstance(op, ConstantOp) for op in walk(module))


def demo() -> int:
    """Runs the demonstration. Returns 1 when the outputs are wrong."""
    console = Console(soft_wrap=True, highlight=False)
    target = named_target(NATIVE)
    console.print(f"{MODEL}, seeded random weights, for {target.cpu}")
    with stage_progress() as progress, failing_with(FAILED):
        progress("import the model")
        start = time.perf_counter()
        module, _ = read_model(light_model(MODEL, seed=0))
        import_seconds = time.perf_counter() - start
        imported = operator_count(module)
        original = module.clone()
        simplified = module.clone()
        run_passes(simplified, preparation(CompileOptions()))
        (plan,) = plans(simplified, CPU_FUSION)
        start = time.perf_counter()
        code = compile_code(module, MODEL, CompileOptions(), progress)
        progress("generate machine code")
        model = Model.from_code(code)
        compile_seconds = time.perf_counter() - start
        OUTPUT.parent.mkdir(exist_ok=True)
        model.save(OUTPUT)
        inputs = complete_inputs(model.signature, {}, seed=0)
        progress("run the interpreter")
        expected = interpret(original, [inputs[spec.name] for spec in model.signature.inputs])
        progress("run the model")
        outputs = model.run(inputs)
        times: list[float] = []
        for _ in range(5):
            start = time.perf_counter()
            model.run(inputs)
            times.append(time.perf_counter() - start)
    groups = [group for group in plan.groups if group.fused]
    console.print(f"imported in {import_seconds:.2f} s: {imported} operators")
    console.print(
        f"prepared: {operator_count(simplified)} operators, fused into {len(groups)} functions; "
        f"the {LARGEST} largest:"
    )
    table = Table("operators", "result", "of kinds")
    for group in sorted(groups, key=lambda g: (-len(g.members), -result_elements(g)))[:LARGEST]:
        names = [op.name.removeprefix("relay.") for op in group.members]
        kinds = [plan.nodes[op].kind.label for op in group.members]
        table.add_row(
            " ".join(names), str(group.root.results[0].type), " ".join(dict.fromkeys(kinds))
        )
    console.print(table)
    console.print(f"LLVM IR: {OUTPUT}, {OUTPUT.stat().st_size / 1e6:.1f} MB")
    console.print(f"compiled in {compile_seconds:.2f} s, runs in {1e3 * np.median(times):.1f} ms")
    worst = max(
        largest_difference(found, wanted)
        for found, wanted in zip(outputs.values(), expected, strict=True)
    )
    console.print(
        f"largest difference from the NumPy interpreter: {worst:.2g} of the largest value "
        f"(allowed {TOLERANCE:g})"
    )
    return FAILED if worst > TOLERANCE else 0


if __name__ == "__main__":
    sys.exit(until_interrupted(lambda: run_command("demo", demo)))
