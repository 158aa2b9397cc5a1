"""The names of searches and of ways to measure. Light: the command line lists them before it needs any."""

from typing import Literal

METHODS = ("exact", "integer-program", "operator-level", "shortest-path")
"""How plans are searched for."""
WITH_LIMIT = ("exact", "integer-program")
"""Those of them that keep to a memory limit."""

Inputs = Literal["warm", "rotating"]
WARM: Inputs = "warm"
"""The same inputs in each measured run, which caches have then."""
ROTATING: Inputs = "rotating"
"""Others for the inputs of the model in each run, from a pool larger than the last cache: they come from memory."""
