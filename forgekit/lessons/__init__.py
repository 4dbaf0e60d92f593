"""Present, grade and explain the notebooks' exercises: gates, hints, progress.

`exercise.py` finds the exercises, each in a folder of its week, with texts and gates, a solution
with marked lines, and wrong solutions. `puzzle.py` makes an exercise from one line of torch.
`gates/` holds the tests that a submission must pass, `grading.py` runs them, and `records.py`
stores progress.
"""
