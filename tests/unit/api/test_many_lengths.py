"""Programs for many lengths, and what becomes of lengths whose number somebody asks for."""

from typing import Any, cast

import pytest

from xrelay.dialects.length_scope import Pinned, Scope
from xrelay.dialects.lengths import symbol
from xrelay.many_lengths import open_lengths


def test_no_program_comes_of_a_compilation_that_went_on_without_a_number() -> None:
    """Else the cache would hold it, and another process take it from there, where nothing was asked for."""
    scope = Scope()
    n = symbol(scope, "n", 8)
    with pytest.raises(Pinned):
        int(n)
    with pytest.raises(Pinned, match="n"):
        open_lengths(cast(Any, None), scope)
