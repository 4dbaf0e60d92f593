"""Grade a class: each submission runs in a sandbox and is judged from outside the sandbox.

found.py     the submitted notebooks, by student
running.py   distributes the notebooks to judges, on this machine's cores or with Dask
judge.py     a judge: a process that holds the exercises, their references and seeds
remote.py    the judge's proxy for a function that the student's process compiles
wire.py, values.py   messages between judge and student: plain data, never pickled
student.py   the student's process: runs the cells, answers the judge's requests
sandbox.py   limits the student's process to a few files, and limits its memory
rows.py      verdicts and rows, each written to disk as it arrives
marks.py     the instructor's additions: a roster and reviews
results.py, pages.py, picture.py   the results of the class: data and tables, files, a picture
nbgrader.py  the notebooks in nbgrader's format
"""
