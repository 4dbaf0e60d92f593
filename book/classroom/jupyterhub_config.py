"""Configure JupyterHub for a class: each user gets a copy of the course in JupyterLab.

    COURSE=$PWD jupyterhub -f jupyterhub_config.py

COURSE is a checkout of the course that users may read but not write to.
"""

import os
import sys
from pathlib import Path

from forgekit.commands.lab import COURSE_OPTIONS
from forgekit.course import FIRST_NOTEBOOK

c = get_config()  # noqa: F821

# Everyone with an account on this machine may log in, unless you choose another authenticator.
c.Authenticator.allow_all = True

# The command that runs for each user, under the user's account. It copies missing files of the
# course to the user's home directory, and then starts JupyterLab.
start = Path(__file__).with_name("start_course.py")
c.Spawner.cmd = [sys.executable, str(start)]
c.Spawner.args = list(COURSE_OPTIONS)
c.Spawner.default_url = f"/lab/tree/course/{FIRST_NOTEBOOK}"
c.Spawner.start_timeout = 120

# The environment of all users. Because FORGEKIT_PROGRESS and FORGEKIT_CACHE_DIR are unset, progress
# and compiled kernels are stored in each user's home directory.
c.Spawner.environment = {
    "COURSE": os.environ["COURSE"],
    "FORGEKIT_DEVICE": "virtual",  # remove this line if each user has a GPU
    "OMP_NUM_THREADS": "1",  # one core per user
}
