"""Measuring: on a GPU in time, on the virtual GPU in counts.

timing.py, measuring.py                 what all of them measure with
notebook/      fk.bench and fk.sweep: variants of a kernel side by side
suites/        `forgekit bench`: the operators beside their peers, and the suites' data
recorded.py, steps.py                   times of a notebook's steps, for those without a GPU
"""
