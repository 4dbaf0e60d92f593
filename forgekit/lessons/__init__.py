"""Ask, grade and explain the exercises of the notebooks: gates, hints, progress.

`exercise.py` finds the exercises, each in a folder of its week: texts and gates, a solution with
marked lines, wrong solutions. `puzzle.py` makes an exercise from a line of torch. `gates/` holds
the tests that a submission must pass, `grading.py` runs them, and `records.py` stores the progress.
"""
