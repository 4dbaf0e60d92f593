"""A class graded: each submission runs in a sandbox, and is judged from outside of it.

found.py     the notebooks that were handed in, by student
running.py   hands them to judges, on the cores of this machine or with Dask
judge.py     a judge: a process that has the exercises, their references and seeds
remote.py    what the judge holds of a student's function: compiled there, run and counted here
wire.py, values.py   what goes between judge and student: plain data, never pickled
student.py   the student's process: runs the cells, answers what the judge asks
sandbox.py   what the student's process can reach
rows.py      verdicts and rows, each on the disk as it comes in
marks.py     what an instructor adds: a roster and reviews
results.py, pages.py, picture.py   the class: data and tables, files and pages, its picture
nbgrader.py  the notebooks as nbgrader wants them
"""
