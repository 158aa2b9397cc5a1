"""
Random relay programs through one pass: with NaN, infinities and the extremes of integers, numbers and empty tensors, and
a second run.

A case is the text of a program whose first line names the pass, behind those that have to run before it. The programs are
those in which it finds something to do. What is special about a pass stands in `pass_rows.py`.
"""

from collections.abc import Iterable
from functools import cache
from pathlib import Path
from random import Random
from typing import ClassVar

import numpy as np
from attribute_programs import DTYPES, THEMES
from attribute_programs import random_program as attribute_program
from corner_programs import ALL_DTYPES, corner_program
from guards.passes import KINDS, values_of
from isomorphism import difference
from xdsl.dialects import tensor
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Use
from xdsl.passes import ModulePass

from tests.fuzz import themes
from tests.fuzz.fuzzer import Difference
from tests.fuzz.meaning import Meaning, same_program
from tests.fuzz.pass_pipelines import (
    FIRST_LINE,
    PassPipelineFuzzer,
    passes_of,
    random_program,
    random_spec,
    with_inline_weights,
)
from tests.fuzz.pass_rows import pass_names, row
from tests.fuzz.scopes import with_scope
from xrelay.analysis.facts.ports import entry_function
from xrelay.compiler import context, parse_program

SPECIAL = KINDS.index("special")
OWN = 0.7
"""The share of programs of the theme of a pass that has one, among those for it."""
ANY = 0.1
"""The share of programs of the themes of other passes, among the others."""
CORNERS = 0.4
"""The share of programs with numbers and empty tensors."""
ATTRIBUTES = 0.4
"""The share of programs that are about attributes of operators."""
SCOPES = (0, 0, 0, 1, 2)
"""How many scopes these two get."""


shared_context = cache(context)
"""What passes get, none of which changes it: to load all dialects takes longer than most passes."""


class SinglePassFuzzer(PassPipelineFuzzer):
    """Programs and the pass that they go through."""

    name: ClassVar[str] = "single-passes"
    quick: ClassVar[int] = 40

    def generate(self, random: Random) -> bytes:
        """A program with its pass."""
        spec = random_spec(random, self.passes or pass_names())
        known = row(spec.partition("{")[0])
        while True:
            module = small_program(random, known.theme)
            if module is not None:
                break
        passes = ",".join((*known.before, spec))
        return f"{FIRST_LINE}{passes}\n{with_inline_weights(module)!s}\n".encode()

    def check(self, payload: bytes, folder: Path) -> None:
        """Raises Difference when the last pass leaves another meaning, or something to do."""
        module = parse_program(payload, "program.mlir", context())
        module.verify()
        *others, step = passes_of(payload)
        meaning = Meaning(module, inputs_of(module))
        before = module.clone()
        for each in others:
            each.apply(shared_context(), before)
            before.verify()
        check_alone(step, meaning, before, before.clone(), kinds_of(step))


def small_program(random: Random, theme: str) -> ModuleOp | None:
    """A program of few operations, a copy, as operators that were refused still count as uses; None if there is none."""
    own = (theme,) if theme in themes.THEMES else tuple(themes.THEMES)
    if random.random() < (OWN if theme in themes.THEMES else ANY):
        chosen, dtype = random.choice(own), random.choice(ALL_DTYPES)
        return themes.THEMES[chosen](random.randrange(10**6), dtype, random.randint(1, 8)).clone()
    share, seed = random.random(), random.randrange(10**6)
    if share >= CORNERS + ATTRIBUTES:
        return random_program(random)
    if share < CORNERS:
        module = corner_program(seed, random.choice(ALL_DTYPES)).module().clone()
    else:
        chosen = theme if theme in THEMES and random.random() < OWN else random.choice(THEMES)
        size = random.randint(2, 8)
        module = attribute_program(seed, chosen, random.choice(DTYPES), size).module().clone()
    for _ in range(random.choice(SCOPES)):
        with_scope(module, random)
    return module


def inputs_of(module: ModuleOp, seed: int = 0) -> list[tuple[object, ...]]:
    """Inputs of each kind for the main function; what may count the rounds of a loop is small in all."""
    params, rng = entry_function(module).body.block.args, np.random.default_rng(seed)
    counts = {each for each in params if any(_is_extracted(use) for use in each.uses)}
    return [
        tuple(values_of(each.type, KINDS[0] if each in counts else kind, rng) for each in params)
        for kind in KINDS
    ]


def _is_extracted(use: Use) -> bool:
    return isinstance(use.operation, tensor.ExtractOp) and use.index == 0


def kinds_of(step: ModulePass) -> range:
    """The numbers of the kinds of inputs on which a pass keeps the results."""
    known = row(step.name)
    keeps_special = known.keeps_special and not any(
        getattr(step, each, False) for each in known.unsafe
    )
    return range(len(KINDS) if keeps_special else SPECIAL)


def check_alone(
    step: ModulePass,
    meaning: Meaning,
    before: ModuleOp,
    module: ModuleOp,
    wanted: Iterable[int],
) -> bool:
    """
    Whether a pass changes `module`, a copy of `before`, which has some meaning. Raises Difference when it does not
    mean the same afterwards, or a second run changes more.
    """
    step.apply(shared_context(), module)
    if same_program(before, module):
        return False
    meaning.require_same(step, module, wanted)
    known = row(step.name)
    if known.settles:
        once = module.clone()
        step.apply(shared_context(), module)
        reordered = not known.keeps_order and difference(once, module) is None
        if not (reordered or same_program(once, module)):
            raise Difference(f"{step.name}: a second run changes more")
    return True
