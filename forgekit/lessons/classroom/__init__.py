"""Grade a class: each submission runs in a sandbox and is judged from outside it.

found.py     the submitted notebooks, by student
running.py   distributes them to judges, on the cores of this machine or with Dask
judge.py     a judge: a process that holds the exercises, their references and seeds
remote.py    the judge's proxy for a student's function: compiled there, run and counted here
wire.py, values.py   messages between judge and student: plain data, never pickled
student.py   the student's process: runs the cells, answers the judge's requests
sandbox.py   limits what the student's process can reach
rows.py      verdicts and rows, each written to disk as it arrives
marks.py     the instructor's additions: a roster and reviews
results.py, pages.py, picture.py   the class: data and tables, files and pages, its picture
nbgrader.py  the notebooks in nbgrader's format
"""
