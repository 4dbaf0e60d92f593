"""What the notebooks ask, grade and explain: exercises, hints, progress.

`exercise.py` lists the exercises; each is a module of its week with texts and gates, and a solution
with marked lines under `solutions/`. Here belongs what a lesson says to its student; what draws,
computes with layouts or runs kernels belongs elsewhere, and no other package but `commands` imports
this one.
"""
