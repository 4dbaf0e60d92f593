"""Predicted times: how long a launch would take on a GPU, from what the virtual one counted.

facts.py        what is counted of a launch, as plain numbers
model.py        the model: bounds of a launch, and its time
constants.py    what the model knows of a GPU, from a file or a data sheet; gpus/: those files
predicted.py    a predicted time with its interval, as it is shown
fitting.py      choose constants; calibration/: the kernels that they are fitted to
"""
