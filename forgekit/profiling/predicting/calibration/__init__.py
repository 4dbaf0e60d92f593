"""The kernels that the model of time is calibrated with, of every kind that the course contains and
of kinds that it does not."""

from forgekit.profiling.predicting.calibration import arithmetic, memory, sharing
from forgekit.profiling.predicting.calibration.case import Case

CASES: tuple[Case, ...] = (*memory.CASES, *arithmetic.CASES, *sharing.CASES)
