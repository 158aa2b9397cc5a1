"""The kernel cases of all operators but those of `tensor`."""

import re

from xdsl.ir import Operation

from cases import (
    arithmetic,
    dyn,
    edges,
    image,
    moving,
    networks,
    nn,
    qnn,
    random,
    structure,
    vision,
)
from cases.kernel import Case

CASES: dict[str, Case] = {}
COVERED: set[type[Operation]] = set()
for module in (
    *(nn, arithmetic, moving, networks, structure),
    *(dyn, edges, image, qnn, random, vision),
):
    CASES.update(module.TABLE.cases)
    COVERED.update(module.TABLE.covered)

ONE_DTYPE = [name for name in CASES if not re.search(r"-(u?int|b?float16|float64|bool)", name)]
"""Cases of f32 and no dtype."""
