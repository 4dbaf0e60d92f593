"""Grade a class: each submission runs in a sandbox, and a separate process (the judge) grades it.

found.py     the submitted notebooks, by student
running.py   distributes the notebooks to judges, on this machine's cores or with Dask
judge.py     a judge: a process that has the exercises, their solutions and the seeds
remote.py    represents a function of the student's process in the judge
wire.py, values.py   messages between the two processes: JSON, never pickled
student.py   the student's process: runs the cells and answers the judge's requests
sandbox.py   limits the student's process to a few files and a maximum of memory
rows.py      verdicts, and one row of them per notebook, stored on disk as they arrive
marks.py     the instructor's files: a roster and reviews
results.py, pages.py, picture.py   the class's results as tables, files and a picture
nbgrader.py  writes the notebooks in nbgrader's format
"""
