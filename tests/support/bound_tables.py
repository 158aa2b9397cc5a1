"""What all operators take, by operator (see `operator_bounds`)."""

from collections import defaultdict

from core_bounds import CORE_SUBJECTS
from image_bounds import IMAGE_SUBJECTS
from network_bounds import NETWORK_SUBJECTS
from operator_bounds import Subject
from quantized_bounds import QUANTIZED_SUBJECTS
from selection_bounds import SELECTION_SUBJECTS
from tensor_bounds import TENSOR_SUBJECTS
from window_bounds import WINDOW_SUBJECTS

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
