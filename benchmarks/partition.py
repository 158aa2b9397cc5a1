"""
How long partitioning takes: annotation, merging and outlining of graphs of many operators.

    python -m benchmarks.partition [--operators N] [--runs R]

Prints a line for each form of graph: the seconds of each pass for N operators and for half as many, the
best of R runs, and how much longer the larger one takes. Linear is 2.

The forms: a *chain* for one compiler and none in turn; a *trunk* for one compiler with a side branch for
nobody at each operator, all of which meet at the end; *residual* blocks, in which a branch for nobody joins
one for a compiler; *pairs*, a tree of sums; and a *wide* tuple of values for the compiler, a *mixed* one of
values for it and for nobody in turn.
"""

import argparse
from collections.abc import Callable, Sequence
from time import perf_counter

from xdsl.dialects import func
from xdsl.dialects.builtin import FunctionType, ModuleOp, TensorType, f32
from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.passes import ModulePass

from xrelay.compiler import context
from xrelay.dialects.core.values import TupleOp
from xrelay.dialects.tensor.binary import AddOp
from xrelay.dialects.tensor.unary import AbsOp, TanhOp
from xrelay.transforms.annotate_target import AnnotateTargetPass
from xrelay.transforms.merge_compiler_regions import MergeCompilerRegionsPass
from xrelay.transforms.partition_graph import PartitionGraphPass

VECTOR = TensorType(f32, [4])
STEPS: tuple[ModulePass, ...] = (
    AnnotateTargetPass(("a",), operators=("a:abs", "a:add")),
    MergeCompilerRegionsPass(),
    PartitionGraphPass(),
)
Emit = Callable[[Operation], SSAValue]


def chain(emit: Emit, value: SSAValue, count: int) -> SSAValue:
    """Three operators for the compiler, one for nobody, and so on."""
    for index in range(count):
        value = emit(TanhOp(value) if index % 4 == 3 else AbsOp(value))
    return value


def trunk(emit: Emit, value: SSAValue, count: int) -> SSAValue:
    """A chain for the compiler with a branch for nobody at each operator."""
    branches: list[SSAValue] = []
    for _ in range(count // 2):
        value = emit(AbsOp(value))
        branches.append(emit(TanhOp(value)))
    return emit(TupleOp([value, *branches]))


def residual(emit: Emit, value: SSAValue, count: int) -> SSAValue:
    """Blocks of four operators: a branch for nobody around one for the compiler, and their sum."""
    for _ in range(count // 4):
        value = emit(AddOp(emit(AbsOp(emit(AbsOp(value)))), emit(TanhOp(value))))
    return value


def pairs(emit: Emit, value: SSAValue, count: int) -> SSAValue:
    """A tree of sums of values that each come from one operator."""
    values = [emit(AbsOp(value) if i % 2 else TanhOp(value)) for i in range(count // 2)]
    while len(values) > 1:
        rest = values[-1:] if len(values) % 2 else []
        values = [emit(AddOp(*values[i : i + 2])) for i in range(0, len(values) - 1, 2)] + rest
    return values[0]


def wide(emit: Emit, value: SSAValue, count: int) -> SSAValue:
    """A tuple with a field for each operator, all for the compiler."""
    return emit(TupleOp([emit(AbsOp(value)) for _ in range(count)]))


def mixed(emit: Emit, value: SSAValue, count: int) -> SSAValue:
    """A tuple with a field for each operator, every other one for the compiler."""
    return emit(TupleOp([emit(AbsOp(value) if i % 2 else TanhOp(value)) for i in range(count)]))


GRAPHS: dict[str, Callable[[Emit, SSAValue, int], SSAValue]] = {
    "chain": chain,
    "trunk": trunk,
    "residual": residual,
    "pairs": pairs,
    "wide": wide,
    "mixed": mixed,
}


def graph(name: str, count: int) -> ModuleOp:
    """A program of one of the forms, of about `count` operators."""
    block = Block(arg_types=[VECTOR])

    def emit(op: Operation) -> SSAValue:
        block.add_op(op)
        return op.results[0]

    result = GRAPHS[name](emit, block.args[0], count)
    block.add_op(func.ReturnOp(result))
    type_ = FunctionType.from_lists([VECTOR], [result.type])
    return ModuleOp([func.FuncOp("main", type_, Region(block))])


def measure(name: str, count: int, runs: int) -> list[float]:
    """The seconds of each pass, of the best run."""
    best = [float("inf")] * len(STEPS)
    for _ in range(runs):
        module = graph(name, count)
        for index, step in enumerate(STEPS):
            start = perf_counter()
            step.apply(context(), module)
            best[index] = min(best[index], perf_counter() - start)
    return best


def main(arguments: Sequence[str] | None = None) -> None:
    """Measures all forms."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").strip().partition("\n")[0])
    parser.add_argument("--operators", type=int, default=10_000)
    parser.add_argument("--runs", type=int, default=3)
    options = parser.parse_args(arguments)
    print(f"{'graph':10}" + "".join(f"{step.name:>26}" for step in STEPS))
    for name in GRAPHS:
        half = measure(name, options.operators // 2, options.runs)
        whole = measure(name, options.operators, options.runs)
        cells = [
            f"{two:.2f} s, {two / one:.1f} times" for one, two in zip(half, whole, strict=True)
        ]
        print(f"{name:10}" + "".join(f"{cell:>26}" for cell in cells), flush=True)


if __name__ == "__main__":
    main()
