"""
The operations that symbols name, in constant time for each.

xDSL's `SymbolTable.lookup_symbol` goes through the functions of a module from the first: programs of many
functions that call each other take quadratic time.
"""

from collections.abc import Generator
from contextlib import contextmanager
from types import SimpleNamespace

from xdsl.dialects.builtin import StringAttr
from xdsl.ir import Operation
from xdsl.traits import OpTrait, SymbolOpInterface, SymbolTable

from xrelay.analysis.facts.call_graph import symbols_in
from xrelay.analysis.facts.scopes import Within


class Symbols:
    """What the symbol tables of a program hold, for as long as nothing is renamed, added or removed."""

    def __init__(self):
        self.tables: dict[Operation, dict[str, Operation]] = {}
        # By blocks, not by the `parent_op` of operations: another thread may be in `known_to` with that.
        self.tables_within = Within(_is_table)

    def lookup(self, user: Operation, name: str) -> Operation | None:
        """The operation of a name in the symbol table around `user`, which may be that itself."""
        table = user if _is_table(user) else self.tables_within.around(user)
        if table is None:
            return None
        if table not in self.tables:
            self.tables[table] = _symbols_of(table)
        return self.tables[table].get(name)

    @contextmanager
    def known_to(self, user: Operation) -> Generator[None]:
        """
        Lets xDSL's look-ups for `user` see what that names in its properties, and not the rest of the
        symbol table.

        The operation itself says for the time being that it stands in such an excerpt, whatever is raised: xDSL's traits
        begin their look-ups at the operation and take no table, and as its verifier tells operations apart by identity,
        nothing else could be verified in its place.
        """
        names = dict.fromkeys(symbols_in(user.properties.values()))
        named = (self.lookup(user, name) for name in names)
        excerpt = _Excerpt([op for op in named if op is not None])
        vars(user)["parent_op"] = lambda: excerpt
        try:
            yield
        finally:
            vars(user).pop("parent_op", None)


class _Excerpt:
    """As much of a symbol table as a look-up asks for."""

    def __init__(self, ops: list[Operation]):
        self.regions = (SimpleNamespace(block=SimpleNamespace(ops=ops)),)

    def has_trait(self, trait: type[OpTrait]) -> bool:
        """Whether it is what the look-up searches for."""
        return trait is SymbolTable


def _is_table(op: Operation) -> bool:
    return op.has_trait(SymbolTable)


def _symbols_of(table: Operation) -> dict[str, Operation]:
    """
    The operations of a symbol table by name; of several with one name, the first. That a table has one block is
    verified after what is in it.
    """
    symbols: dict[str, Operation] = {}
    for block in table.regions[0].blocks:
        for op in block.ops:
            name = op.get_attr_or_prop("sym_name")
            if isinstance(name, StringAttr) and op.has_trait(SymbolOpInterface):
                symbols.setdefault(name.data, op)
    return symbols
