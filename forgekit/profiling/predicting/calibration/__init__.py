"""Kernels that calibrate the time model: every kind used in the course, and others."""

from forgekit.profiling.predicting.calibration import arithmetic, memory, sharing
from forgekit.profiling.predicting.calibration.case import Case

CASES: tuple[Case, ...] = (*memory.CASES, *arithmetic.CASES, *sharing.CASES)
