"""Present, grade and explain the exercises in the notebooks.

`exercise.py` finds the exercises. Each exercise is a folder inside its week's folder that contains
the texts and gates, a solution with marked lines, and wrong solutions. `puzzle.py` makes an
exercise from a line of torch. `gates/` contains the tests ("gates") that a submission must pass,
`grading.py` runs them, and `records.py` stores progress.
"""
