"""Kernels for calibrating the time model: all kinds of kernels in the course, and more."""

from forgekit.profiling.predicting.calibration import arithmetic, memory, sharing
from forgekit.profiling.predicting.calibration.case import Case

CASES: tuple[Case, ...] = (*memory.CASES, *arithmetic.CASES, *sharing.CASES)
