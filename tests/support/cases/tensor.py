"""The kernel cases of all tensor operators."""

from xdsl.ir import Operation

from cases.dtype import OPERANDS
from cases.elementwise import ELEMENTWISE
from cases.indexing import INDEXING
from cases.kernel import CaseTable
from cases.sort import SORT
from cases.sum import SUMS

TABLES: tuple[CaseTable, ...] = (ELEMENTWISE, INDEXING, OPERANDS, SORT, SUMS)
COVERED: set[type[Operation]] = set().union(*(table.covered for table in TABLES))
