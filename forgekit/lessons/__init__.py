"""Present, grade and explain the exercises in the notebooks.

`exercise.py` finds the exercises. Each exercise is a folder in its week's folder, with texts and
gates, a solution with marked lines, and wrong solutions. `puzzle.py` makes an exercise from one
line of torch. `gates/` holds the tests that a submission must pass, `grading.py` runs them, and
`records.py` stores progress.
"""
