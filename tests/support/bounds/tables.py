"""What all operators take, by operator (see `operator_bounds`)."""

from collections import defaultdict

from bounds.core import CORE_SUBJECTS
from bounds.image import IMAGE_SUBJECTS
from bounds.network import NETWORK_SUBJECTS
from bounds.operator import Subject
from bounds.quantized import QUANTIZED_SUBJECTS
from bounds.selection import SELECTION_SUBJECTS
from bounds.tensor import TENSOR_SUBJECTS
from bounds.window import WINDOW_SUBJECTS

SUBJECTS: dict[str, list[Subject]] = defaultdict(list)
for row in (
    *CORE_SUBJECTS,
    *TENSOR_SUBJECTS,
    *SELECTION_SUBJECTS,
    *WINDOW_SUBJECTS,
    *NETWORK_SUBJECTS,
    *IMAGE_SUBJECTS,
    *QUANTIZED_SUBJECTS,
):
    SUBJECTS[row.operator].append(row)
