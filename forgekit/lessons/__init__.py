"""What the notebooks ask, grade and explain: exercises, hints, progress.

`exercise.py` finds the exercises, each a folder of its week: texts and gates, a solution with
marked lines, wrong solutions. `puzzle.py` makes one of a line of torch. `gates/` is what a
submission has to pass, `grading.py` takes it through, `records.py` keeps what was passed.
"""
