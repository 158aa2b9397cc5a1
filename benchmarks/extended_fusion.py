"""
Whether rules of fusion beyond Relay's pay: small programs, fused by each set of rules.

    python -m benchmarks.extended_fusion [--sizes 64x256,512x1024,…] [--seconds S]

Prints medians of runs on one thread, interleaved in one process, and how many times as fast the
program is as by Relay's rules. Programs for each rule beyond those (docs/fusion.md).
"""

import argparse
import statistics
import time
from collections.abc import Callable
from typing import Any

import numpy as np

Build = Callable[[Any, Any], list[Any]]


def programs() -> dict[str, tuple[str, Build]]:
    """The rule that a program is about, the dtype of its two operands, and its operators."""
    from xdsl.dialects.builtin import f32

    from xrelay.dialects.core.values import TupleOp
    from xrelay.dialects.nn.norm import SoftmaxOp
    from xrelay.dialects.tensor.binary import AddOp, DivideOp, MultiplyOp, SubtractOp
    from xrelay.dialects.tensor.reduce import MaxOp, MeanOp, SumOp
    from xrelay.dialects.tensor.transform import ConcatenateOp, TransposeOp
    from xrelay.dialects.tensor.unary import CastOp, ExpOp, ReluOp, RsqrtOp, TanhOp

    def softmax(x: Any, y: Any) -> list[Any]:
        largest = MaxOp(x, [1], keepdims=True)
        powers = ExpOp(difference := SubtractOp(x, largest))
        total = SumOp(powers, [1], keepdims=True)
        return [largest, difference, powers, total, DivideOp(powers, total)]

    def normalisation(x: Any, y: Any) -> list[Any]:
        mean = MeanOp(x, [1], keepdims=True)
        centred = SubtractOp(x, mean)
        square = MultiplyOp(centred, centred)
        variance = MeanOp(square, [1], keepdims=True)
        scale = RsqrtOp(variance)
        return [mean, centred, square, variance, scale, MultiplyOp(centred, scale)]

    def into_softmax(x: Any, y: Any) -> list[Any]:
        return [inner := TanhOp(x), SoftmaxOp(inner)]

    def transposed_sum(x: Any, y: Any) -> list[Any]:
        return [inner := TransposeOp(x), SumOp(inner, [1])]

    def two_results(x: Any, y: Any) -> list[Any]:
        return [inner := ReluOp(x), MultiplyOp(inner, x)]

    def joined_results(x: Any, y: Any) -> list[Any]:
        pair = TupleOp([x, y])
        return [pair, joined := ConcatenateOp(pair, axis=1), ReluOp(joined)]

    def copied_cast(x: Any, y: Any) -> list[Any]:
        return [inner := CastOp(x, f32), MaxOp(inner, [1]), SumOp(inner, [1])]

    def siblings(x: Any, y: Any) -> list[Any]:
        return [AddOp(x, y), MultiplyOp(x, y)]

    return {
        "38: tanh before softmax": ("f4", into_softmax),
        "38: sum of a transpose": ("f4", transposed_sum),
        "39: softmax written out": ("f4", softmax),
        "39: normalisation written out": ("f4", normalisation),
        "40: relu and a product": ("f4", two_results),
        "40: concatenation and relu": ("f4", joined_results),
        "41: max and sum of a cast": ("i1", copied_cast),
        "42: sum and product": ("f4", siblings),
    }


def module_of(build: Build, dtype: str, shape: tuple[int, int]) -> Any:
    """The program; it returns what it does not use."""
    from xdsl.dialects import func
    from xdsl.dialects.builtin import ModuleOp, TensorType, f32, i8
    from xdsl.ir import Block, Region

    from xrelay.dialects.core.values import TupleOp

    type_ = TensorType({"f4": f32, "i1": i8}[dtype], shape)
    block = Block(arg_types=[type_, type_])
    ops = build(*block.args)
    block.add_ops(ops)
    # Values of rule 40 are results although they are used.
    unused = [
        op.results[0]
        for op in ops
        if not op.results[0].uses
        or (build.__name__.endswith("results") and not isinstance(op, TupleOp))
    ]
    block.add_op(func.ReturnOp(*unused))
    types = [value.type for value in unused]
    return ModuleOp([func.FuncOp("main", ([type_, type_], types), Region(block))])


def measure(build: Build, dtype: str, shape: tuple[int, int], seconds: float) -> list[float]:
    """The median of a run in seconds, with each set of rules."""
    from xdsl.context import Context

    import xrelay
    from xrelay.analysis.fusion.groups import RULE_SETS
    from xrelay.transforms.fuse_ops import FuseOpsPass

    models: list[Any] = []
    for rules in RULE_SETS:
        module = module_of(build, dtype, shape)
        FuseOpsPass(rules=rules).apply(Context(), module)
        models.append(xrelay.compile(module, threads=1, cache=False))
    data = np.random.default_rng(0).integers(-99, 99, (2, *shape)).astype(dtype)
    names = [each.name for each in models[0].signature.inputs]
    inputs = dict(zip(names, data, strict=True))
    times: list[list[float]] = [[] for _ in models]
    end = time.perf_counter() + seconds
    while time.perf_counter() < end or len(times[0]) < 5:
        for own, model in zip(times, models, strict=True):
            start = time.perf_counter()
            model.run(inputs)
            own.append(time.perf_counter() - start)
    return [statistics.median(own) for own in times]


def main() -> None:
    """Prints a line for each program and size."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--sizes", default="64x256,512x1024,4096x1024")
    parser.add_argument("--seconds", type=float, default=1.0, help="for each program and size")
    args = parser.parse_args()
    from xrelay.analysis.fusion.groups import RULE_SETS

    others = "".join(f" | {name:>8}" for name in RULE_SETS if name != "relay")
    print(f"rule: program                  | size      | relay µs{others} times as fast")
    for name, (dtype, build) in programs().items():
        for size in args.sizes.split(","):
            rows, columns = map(int, size.split("x"))
            relay, *others = measure(build, dtype, (rows, columns), args.seconds)
            ratios = "".join(f" | {relay / each:8.2f}" for each in others)
            print(f"{name:<31}| {size:<10}| {relay * 1e6:8.0f}{ratios}", flush=True)


if __name__ == "__main__":
    main()
