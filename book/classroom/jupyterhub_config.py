"""JupyterHub for a class: each user gets a copy of the course, in JupyterLab.

    COURSE=$PWD jupyterhub -f jupyterhub_config.py

COURSE is a checkout of the course that users may read and not write.
"""

import os
import sys
from pathlib import Path

from forgekit.commands.lab import COURSE_OPTIONS
from forgekit.course import FIRST_NOTEBOOK

c = get_config()  # noqa: F821

# Who may come in: unless you choose another authenticator, whoever has
# an account on this machine.
c.Authenticator.allow_all = True

# What is started for a user, as that user: it copies what is missing of
# the course into the user's home, then becomes JupyterLab.
start = Path(__file__).with_name("start_course.py")
c.Spawner.cmd = [sys.executable, str(start)]
c.Spawner.args = list(COURSE_OPTIONS)
c.Spawner.default_url = f"/lab/tree/course/{FIRST_NOTEBOOK}"
c.Spawner.start_timeout = 120

# The same for all. Without FORGEKIT_PROGRESS and FORGEKIT_CACHE_DIR,
# progress and compiled kernels lie in each user's home.
c.Spawner.environment = {
    "COURSE": os.environ["COURSE"],
    "FORGEKIT_DEVICE": "virtual",  # leave out if each user has a GPU
    "OMP_NUM_THREADS": "1",  # for each user one core, not all of them
}
