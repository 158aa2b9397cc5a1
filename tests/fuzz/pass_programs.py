"""The random programs that each pass gets in tests."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from itertools import product
from random import Random

import numpy as np
from attribute_programs import DTYPES, THEMES, random_program
from corner_programs import ALL_DTYPES, corner_program
from xdsl.dialects.builtin import ModuleOp

from tests.fuzz import themes
from tests.fuzz.meaning import Meaning
from tests.fuzz.pass_pipelines import parsed
from tests.fuzz.pass_rows import pass_names, row, specs
from tests.fuzz.scopes import with_scope
from tests.fuzz.single_passes import inputs_of, shared_context

PROGRAMS = 200
"""The programs of a pass; `make fuzz` tries more."""
LARGE = 15
"""The large ones among them, at least, which are run on all kinds of inputs; the others are run on one kind."""
THEMED_SIZE = 6
"""The operators of large programs of themes that only some passes are about."""
THEMED = 60
"""The small ones that each of these passes gets."""
SCOPED, SHARE = 96, 6
"""Programs with scopes, of which each pass gets every sixth, another one than its neighbours."""

STOCK = [each for dtype in DTYPES[1:] for each in (DTYPES[0], dtype)]
"""Every second program is of f32, for which most rewrites are."""


@dataclass(frozen=True, eq=False)
class Program:
    """A program and what it is about."""

    theme: str
    label: str
    meaning: Meaning


def program(theme: str, label: str, module: ModuleOp, seed: int) -> Program:
    """A program with its inputs."""
    return Program(theme, label, Meaning(module, inputs_of(module, seed)))


@cache
def large_programs() -> tuple[Program, ...]:
    """Of all themes and dtypes; neighbours differ in both."""
    return tuple(
        program(theme, f"{theme} {dtype} {seed}", random_program(seed, theme, dtype).module(), seed)
        for seed, (dtype, theme) in enumerate(product(STOCK, THEMES))
    )


@cache
def small_programs() -> tuple[Program, ...]:
    """Of all themes and dtypes, and of numbers, single elements and empty tensors."""
    found: list[Program] = []
    for seed in range(PROGRAMS - LARGE):
        dtype = ALL_DTYPES[seed // 2 % len(ALL_DTYPES)]
        theme = THEMES[seed // 2 % len(THEMES)]
        if seed % 2 or dtype not in DTYPES:
            graph = corner_program(seed, dtype)
        else:
            graph = random_program(seed, theme, dtype, 4)
        found.append(program(theme, f"small {theme} {dtype} {seed}", graph.module(), seed))
    return tuple(found)


@cache
def scoped_programs() -> tuple[Program, ...]:
    """Of all themes, with branches, loops, function values, functions, tuples and names."""
    found: list[Program] = []
    for seed in range(SCOPED):
        theme, random = THEMES[seed % len(THEMES)], Random(seed)
        module = random_program(seed, theme, DTYPES[seed % 4], 8).module().clone()
        for _ in range(1 + seed % 3):
            with_scope(module, random)
        found.append(program(theme, f"scoped {theme} {seed}", module, seed))
    return tuple(found)


@cache
def themed_programs(theme: str, size: int, count: int) -> tuple[Program, ...]:
    """Of a theme that only some passes are about, and of all dtypes."""
    make, seeds = themes.THEMES[theme], range(count)
    dtypes = [ALL_DTYPES[seed % len(ALL_DTYPES)] for seed in seeds]
    return tuple(
        program(theme, f"{theme} {dtype} {seed}", make(seed, dtype, size), seed)
        for seed, dtype in zip(seeds, dtypes, strict=True)
    )


def programs_for(name: str) -> Iterator[Program]:
    """Large programs of all themes and dtypes, without end; two of three are of the theme of a pass that has one."""
    theme = row(name).theme
    own = [each for each in large_programs() if each.theme == theme]
    if theme in themes.THEMES:
        own = [*themed_programs(theme, THEMED_SIZE, len(STOCK))]
    others = [each for each in large_programs() if each.theme != theme]
    rng = np.random.default_rng(11)
    orders = [[stock[i] for i in rng.permutation(len(stock))] for stock in (own or others, others)]
    number = 0
    while True:
        order = orders[number % 3 // 2]
        yield order[number % len(order)]
        number += 1


@cache
def prepared(program: Program, passes: tuple[str, ...]) -> ModuleOp:
    """What passes make of a program, which is kept for other passes that begin there; theirs are other cases here."""
    if not passes:
        return program.meaning.module
    module = prepared(program, passes[:-1]).clone()
    for step in parsed(passes[-1]):
        step.apply(shared_context(), module)
    return module


def large_count(name: str) -> int:
    """How many large programs a pass gets: three of each variant."""
    return max(LARGE, 3 * len(list(specs(name))))


def scoped_programs_for(name: str) -> tuple[Program, ...]:
    """The programs with scopes that a pass gets."""
    return scoped_programs()[pass_names().index(name) % SHARE :: SHARE]
