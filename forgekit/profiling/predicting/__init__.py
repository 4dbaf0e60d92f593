"""Predict how long a launch would take on a GPU, from the virtual GPU's counts.

facts.py        the counts of a launch, as plain numbers
model.py        the model: bounds of a launch, and its time
constants.py    the model's constants of a GPU, from a file or a data sheet; gpus/: those files
predicted.py    a predicted time with its interval, and its text
fitting.py      fits constants; calibration/: the kernels used for the fit
"""
