"""
Programs of what only some passes look for, by themes beside those of `attribute_programs`: of all dtypes, with lengths of 0
and 1, numbers, and constants that algebra gets wrong.
"""

from collections.abc import Callable, Mapping
from random import Random

from attribute_programs import THEMES as ATTRIBUTE_THEMES
from attribute_programs import random_program
from corner_programs import DTYPES, corner_program
from xdsl.dialects.builtin import ModuleOp

from tests.fuzz.scopes import WITHOUT_LOOPS, with_scope
from tests.fuzz.themes.dynamic import DynamicProgram, with_open_types
from tests.fuzz.themes.networks import AtrousProgram, JoinProgram, TextureProgram
from tests.fuzz.themes.program import ThemeProgram
from tests.fuzz.themes.quantized import QuantizedProgram

Make = Callable[[int, str, int], ModuleOp]
"""Makes a program by a seed, of a dtype, with so many operators or somewhat more."""


def grown(kind: Callable[[int, str], ThemeProgram]) -> Make:
    """Programs of a kind."""

    def make(seed: int, dtype: str, size: int) -> ModuleOp:
        p = kind(seed, dtype)
        p.start()
        p.grow(p.steps(), size)
        p.finish()
        return p.module()

    return make


def plain(seed: int, dtype: str, size: int) -> ModuleOp:
    """A program of a theme for all, or of few elements."""
    theme = ATTRIBUTE_THEMES[seed % 3]
    if seed % 2 or dtype not in DTYPES:
        return corner_program(seed, dtype, size).module()
    return random_program(seed, theme, dtype, size).module()


def changed_by(change: Callable[[ModuleOp, Random], None], times: int) -> Make:
    """Programs of other themes, changed up to so many times."""

    def make(seed: int, dtype: str, size: int) -> ModuleOp:
        module, random = plain(seed, dtype, size).clone(), Random(seed)
        for _ in range(random.randint(1, times)):
            change(module, random)
        return module

    return make


def with_call(module: ModuleOp, random: Random) -> None:
    """Adds a scope that is no loop."""
    with_scope(module, random, WITHOUT_LOOPS)


def with_less_said(module: ModuleOp, random: Random) -> None:
    """Leaves out types, sometimes also of values that go through scopes."""
    if random.random() < 0.5:
        with_scope(module, random)
    with_open_types(module, random)


THEMES: Mapping[str, Make] = {
    "atrous": grown(AtrousProgram),
    "calls": changed_by(with_call, 4),
    "dynamic": grown(DynamicProgram),
    "functions": changed_by(with_scope, 4),
    "joins": grown(JoinProgram),
    "open types": changed_by(with_less_said, 1),
    "quantized": grown(QuantizedProgram),
    "textures": grown(TextureProgram),
}
"""By name."""
