"""Every pass, with every value of its options, keeps the meaning of programs: the interpreter is the oracle."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from itertools import product
from typing import Any

import numpy as np
import pytest
from attribute_programs import DTYPES, THEMES, random_program
from graphs import difference
from guards.passes import KINDS, GuardGraph, results_of, values_of
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import PassPipeline

from tests.fuzz.pass_pipelines import OPTIONS, option_text, pass_names, register_compilers
from tests.fuzz.roundings import noisy_results, unexplained
from xrelay.dialects.tensor.binary import AddOp, DivideOp, MultiplyOp, PowerOp, SubtractOp
from xrelay.interpreters.arrays import Array
from xrelay.tools.semantics import leaves
from xrelay.tools.universe import XRELAY_UNIVERSE
from xrelay.transforms.simplify_expr import SimplifyExprPass

PROGRAMS_OF_A_PASS = 21

STOCK = [each for dtype in DTYPES[1:] for each in (DTYPES[0], dtype)]
"""Every second program is of f32, for which most rewrites are."""

ANNOTATE = ("to-graph-normal-form", 'annotate-target{targets="first","second"}')
REGIONS = (*ANNOTATE, "merge-compiler-regions")
PARTITIONS = (*REGIONS, "partition-graph")
BEFORE = {
    "merge-compiler-regions": ANNOTATE,
    "partition-graph": REGIONS,
    "outline-default-regions": PARTITIONS,
    "inline-compiler-functions": PARTITIONS,
    "inline": PARTITIONS,
    "outline-compiler-functions": (*PARTITIONS, "inline"),
    "remove-standalone-reshapes": ("fuse-ops",),
    "remove-unused-functions": PARTITIONS,
    "defuse-ops": ("fuse-ops",),
    "manifest-alloc": ("fuse-ops",),
    "manifest-lifetimes": ("to-a-normal-form",),
    "layout-rewrite": ("fuse-ops",),
    "recognize-bias-add": ("canonicalize-ops",),
    "select-strategies": ("cpu-pipeline", "fuse-ops"),
    "fuse-composites": ("recognize-operators{composites=true attention=true}",),
}
"""What makes programs in which a pass finds something to do."""

IMAGES = {
    "alter-op-layout",
    "combine-parallel-conv2d",
    "convert-layout",
    "fold-explicit-padding",
    "fold-scale-axis",
    "legalize",
    "legalize-convolutions",
    "legalize-layouts",
    "simplify-inference",
}
MATRICES = {"canonicalize-matmul", "combine-parallel-batch-matmul", "combine-parallel-dense"}
MATRICES |= {"fuse-composites", "recognize-operators", "sink-reshape"}
"""The passes on what a theme has: most of their programs are of it."""
UNCHANGED = {
    "annotate-memory-scope",
    "check-exhaustiveness",
    "defunctionalization",
    "dynamic-to-static",
    "eta-expand",
    "flatten-atrous-conv",
    "infer-type",
    "lambda-lift",
    "legalize-quantized-products",
    "relay-to-tir",
    "remove-unused-functions",
    "split-args",
    "to-basic-block-normal-form",
    "un-cps",
}
"""The passes that find nothing to do in these programs."""
NEEDED = {"combine-parallel-dense": {"min-num-branches": 2}}
"""The options that passes are tried with, so that they find something to do in these programs."""
AGAIN = {"cpu-pipeline", "fuse-composites", "outline-default-regions", "to-a-normal-form"}
"""The passes that may find something to do in what they leave."""
FINITE = {
    "cpu-pipeline",
    "fold-scale-axis",
    "lazy-gradient-init",
    "recognize-operators",
    "simplify-expr",
    "simplify-inference",
}
"""The passes that move factors over sums and the like, where NaN and infinities come out elsewhere."""


@dataclass(frozen=True, eq=False)
class Program:
    """A program with what it gives."""

    theme: str
    label: str
    module: ModuleOp
    inputs: Sequence[tuple[Any, ...]]
    """For each of KINDS."""
    results: Sequence[Sequence[Array]]


@cache
def programs() -> tuple[Program, ...]:
    """Of all themes and dtypes; neighbours differ in both."""
    found: list[Program] = []
    for dtype, theme in product(STOCK, THEMES):
        graph = random_program(len(found), theme, dtype)
        module, types = graph.module(), graph.block.arg_types
        inputs: list[tuple[Any, ...]] = []
        for kind in KINDS:
            rng = np.random.default_rng(len(found))
            inputs.append(tuple(values_of(type_, kind, rng) for type_ in types))
        results = [results_of(module, values) for values in inputs]
        found.append(Program(theme, f"{theme} {dtype} {len(found)}", module, inputs, results))
    return tuple(found)


def programs_for(name: str, count: int) -> list[Program]:
    """Programs of all themes and dtypes; two of three are of the theme of a pass that has one."""
    theme = "images" if name in IMAGES else "matrices" if name in MATRICES else None
    own = [each for each in programs() if each.theme == theme]
    others = [each for each in programs() if each.theme != theme]
    rng = np.random.default_rng(11)
    orders = [[stock[i] for i in rng.permutation(len(stock))] for stock in (own or others, others)]
    return [
        orders[number % 3 // 2][number % len(orders[number % 3 // 2])] for number in range(count)
    ]


def specs(name: str) -> Iterator[str]:
    """A pass as it comes, and with each value of each option."""
    options = OPTIONS.get(name, {})
    needed = {"targets": options["targets"][-1]} if "targets" in options else {}
    needed |= NEEDED.get(name, {})
    yield spec_of(name, needed)
    for option, values in options.items():
        for value in values:
            yield spec_of(name, needed | {option: value})


def spec_of(name: str, options: Mapping[str, Any]) -> str:
    """A pass with some options, as on a command line."""
    stated = " ".join(f"{option}={option_text(value)}" for option, value in options.items())
    return f"{name}{{{stated}}}"


@cache
def prepared(program: Program, passes: tuple[str, ...]) -> ModuleOp:
    """What passes make of a program, which is kept for other passes that begin there."""
    if not passes:
        return program.module
    module = prepared(program, passes[:-1]).clone()
    step(passes[-1], module)
    return module


def step(spec: str, module: ModuleOp) -> None:
    for each in PassPipeline.parse_spec(dict(XRELAY_UNIVERSE.all_passes), spec).passes:
        each.apply(Context(), module)
        module.verify()


def require_same(program: Program, spec: str, module: ModuleOp, kinds: int) -> None:
    """Equal, but for what roundings explain."""
    for kind, inputs, expected in list(zip(KINDS, program.inputs, program.results, strict=True))[
        :kinds
    ]:
        found = results_of(module, inputs)
        for number, mask in unexplained(found, expected, partial(_noisy, program.module, inputs)):
            place = tuple(np.argwhere(mask)[0])
            raise AssertionError(
                f"{spec} on {program.label}: result {number} on {kind}, {mask.sum()} of {mask.size} "
                f"elements, at {place}: {found[number][place]} instead of {expected[number][place]}\n"
                f"{program.module}\n{module}"
            )


def _noisy(module: ModuleOp, inputs: tuple[Any, ...], noise: Any) -> list[Array]:
    with np.errstate(all="ignore"):
        return [array for value in noisy_results(module, inputs, noise) for array in leaves(value)]


@pytest.mark.parametrize("name", pass_names())
def test_results_stay(name: str):
    register_compilers()
    changes, variants = 0, list(specs(name))
    for number, program in enumerate(
        programs_for(name, max(PROGRAMS_OF_A_PASS, 3 * len(variants)))
    ):
        spec = variants[number // 3 % len(variants)]  # The themes follow each other.
        before = prepared(program, BEFORE.get(name, ()))
        module = before.clone()
        step(spec, module)
        if before.is_structurally_equivalent(module):
            continue
        changes += 1
        require_same(program, spec, module, 2 if name in FINITE else 3)
        if name not in AGAIN:
            once = module.clone()
            step(spec, module)
            assert once.is_structurally_equivalent(module), f"{spec} again\n{once}\n{module}"
    assert bool(changes) == (name not in UNCHANGED)


def test_exact_rules_keep_special_values():
    special = np.array([np.nan, np.inf, -np.inf, 0.0, -0.0, 1e-45, 3e38, -3e38, 1.5], np.float32)
    for seed in range(40):
        g = GuardGraph(seed)
        rng, x = g.rng, g.input(special)
        for _ in range(4):
            number = g.c(rng.choice([0, -0.0, 1, 2, 4, 0.5, np.inf, np.nan, -2]))
            match rng.integers(5):
                case 0:
                    x = g.op(AddOp(*(x, number)[:: rng.choice([1, -1])]))
                case 1:
                    x = g.op(MultiplyOp(*(x, number)[:: rng.choice([1, -1])]))
                case 2:
                    x = g.op(DivideOp(x, number))
                case 3:
                    x = g.op(SubtractOp(x, number))
                case _:
                    x = g.op(PowerOp(x, g.c(rng.choice([1, 2]))))
        g.returns(x)
        module = g.module()
        (expected,) = results_of(module, [special])
        SimplifyExprPass(rules="cpu").apply(Context(), module)
        (found,) = results_of(module, [special])
        assert difference(found, expected, 0) is None
        numbers = ~np.isnan(expected)
        np.testing.assert_array_equal(np.signbit(found[numbers]), np.signbit(expected[numbers]))
