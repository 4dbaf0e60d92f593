"""Kernels that calibrate the model of time: every kind in the course, and other kinds."""

from forgekit.profiling.predicting.calibration import arithmetic, memory, sharing
from forgekit.profiling.predicting.calibration.case import Case

CASES: tuple[Case, ...] = (*memory.CASES, *arithmetic.CASES, *sharing.CASES)
