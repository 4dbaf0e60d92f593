"""Copy the course's files that a user lacks, and then start the user's server.

JupyterHub's spawner runs this script as the user. It does not change existing files, so the user's
work is preserved.
"""

import os
import shutil
import sys
from pathlib import Path

from forgekit.course import WEEKS


def copy_missing(course: Path, target: Path) -> None:
    """Copy those files of the weeks that the target folder lacks."""
    for source in (f for week in WEEKS for f in (course / week).rglob("*")):
        place = source.relative_to(course)
        hidden = any(name.startswith((".", "__")) for name in place.parts)
        copy = target / place
        if source.is_file() and not hidden and not copy.exists():
            copy.parent.mkdir(parents=True, exist_ok=True)
            partial = copy.with_name(f".{copy.name}.partial")
            shutil.copyfile(source, partial)
            os.replace(partial, copy)  # so that no partial copy is visible


if __name__ == "__main__":
    copy_missing(Path(os.environ["COURSE"]), Path.home() / "course")
    server = [sys.executable, "-m", "jupyterhub.singleuser"]
    os.execv(sys.executable, [*server, *sys.argv[1:]])
