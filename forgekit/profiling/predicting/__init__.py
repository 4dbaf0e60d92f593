"""Predict the time of a launch on a GPU from the virtual GPU's counts.

facts.py        the counts of a launch, the model's input
model.py        the model: the bounds of a launch, and its time
constants.py    a GPU's constants for the model, from a file in gpus/ or a data sheet
predicted.py    a predicted time with its interval, and its text
fitting.py      fits constants to measured times of the kernels in calibration/
"""
