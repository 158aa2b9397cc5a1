"""The kernel cases of all tensor operators."""

from dtype_cases import OPERANDS
from elementwise_cases import ELEMENTWISE
from indexing_cases import INDEXING
from kernel_cases import CaseTable
from sort_cases import SORT
from sum_cases import SUMS
from xdsl.ir import Operation

TABLES: tuple[CaseTable, ...] = (ELEMENTWISE, INDEXING, OPERANDS, SORT, SUMS)
COVERED: set[type[Operation]] = set().union(*(table.covered for table in TABLES))
