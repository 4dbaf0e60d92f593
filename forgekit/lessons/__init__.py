"""What the notebooks ask, compare and explain: predictions, exercises, and what is said of answers.

A module for each notebook that needs one, under the notebook's name. Here belongs what a lesson
says to its student; what draws, computes with layouts or runs kernels belongs elsewhere, and no
other package imports this one.
"""
