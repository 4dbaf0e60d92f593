"""Measure times on a GPU, or counts on the virtual GPU.

timing.py, measuring.py                 the measurements
notebook/      fk.bench and fk.sweep: variants of a kernel side by side
suites/        `forgekit bench`: the operators and their peers over suites of sizes
recorded.py, steps.py                   times of a notebook's steps, for readers without a GPU
"""
