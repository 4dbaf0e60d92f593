"""Test the wheel without the course: build it, install it into an empty environment, and use it in
a new notebook."""

import importlib.metadata
import os
import shutil
import subprocess
import sys
import textwrap
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
UV = os.environ.get("UV") or shutil.which("uv")  # `uv run` stores its own path in UV
NOTEBOOK_TOOLS = ["ipykernel", "nbclient"]

# The empty environment's Python runs this code, in a folder without the course.
SCRATCH = '''
import nbformat
from nbclient import NotebookClient

CELLS = [
    """
import cutlass.cute as cute
import torch

import forgekit as fk
""",
    """
@cute.kernel
def double_kernel(mX: cute.Tensor, mY: cute.Tensor):
    tidx, _, _ = cute.arch.thread_idx()
    mY[tidx] = mX[tidx] * 2.0

@cute.jit
def double(mX: cute.Tensor, mY: cute.Tensor):
    double_kernel(mX, mY).launch(grid=(1, 1, 1), block=(8, 1, 1))
""",
    """
x = fk.arange(8, dtype=torch.float32)
y = fk.zeros(8)
run = fk.compile(double, x, y)
run(x, y)
fk.check(y, 2 * x)
print(y.tolist())
print(fk.__file__)
""",
]
notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(text) for text in CELLS])
NotebookClient(notebook, timeout=120, kernel_name="python3").execute()
print("".join(out.text for out in notebook.cells[-1].outputs if out.get("name") == "stdout"))
'''


def environment() -> dict[str, str]:
    """Return this process's environment, without variables that point to its Python environment or
    to the course."""
    hidden = ("PYTEST", "PYTHON", "VIRTUAL_ENV", "UV_PROJECT", "JUPYTER", "IPYTHON", "FORGEKIT")
    kept = {key: value for key, value in os.environ.items() if not key.startswith(hidden)}
    links = kept.get("UV_FIND_LINKS") or kept.get("PIP_FIND_LINKS", "")
    return {**kept, "UV_FIND_LINKS": links, "FORGEKIT_DEVICE": "virtual"}


def run(*command: object, cwd: Path) -> str:
    """Return the command's stdout; fail the test if the command fails, or skip it if no package
    registry is reachable."""
    words = [str(word) for word in command]
    done = subprocess.run(words, cwd=cwd, env=environment(), capture_output=True, text=True)
    if done.returncode:
        unreachable = ("Failed to fetch", "error sending request", "client error (Connect)")
        if words[0] == UV and any(text in done.stderr for text in unreachable):
            pytest.skip(f"the package registry cannot be reached: {done.stderr.splitlines()[0]}")
        pytest.fail(f"{' '.join(words[:4])}\n{done.stdout}\n{done.stderr}")
    return done.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory) -> Path:
    """Return the wheel that FORGEKIT_WHEEL names, as for a release, or build one."""
    if given := os.environ.get("FORGEKIT_WHEEL"):
        return Path(given).resolve(strict=True)
    if UV is None:
        pytest.skip("uv is not installed")
    folder = tmp_path_factory.mktemp("dist")
    run(UV, "build", "--wheel", "--out-dir", folder, cwd=ROOT)
    [wheel] = folder.glob("forgekit-*.whl")
    return wheel


def test_the_wheel_holds_the_library_alone(wheel):
    names = zipfile.ZipFile(wheel).namelist()
    tops = {name.split("/")[0] for name in names}
    assert {top for top in tops if not top.endswith(".dist-info")} == {"forgekit"}
    assert "forgekit/py.typed" in names
    files = [
        p for kind in ("*.py", "*.toml", "*.js", "*.css") for p in (ROOT / "forgekit").rglob(kind)
    ]
    assert {str(path.relative_to(ROOT)) for path in files} <= set(names)


def same_versions(folder: Path) -> Path:
    """Write a constraints file with this environment's versions, which are already in uv's
    cache."""
    lines = {
        f"{dist.name}=={dist.version}"
        for dist in importlib.metadata.distributions()
        if dist.name != "forgekit"
    }
    path = folder / "constraints.txt"
    path.write_text("\n".join(sorted(lines)))
    return path


def test_a_scratch_notebook_runs_with_the_wheel_alone(wheel, tmp_path):
    torch_build = importlib.metadata.version("torch").partition("+")[2]
    if torch_build and not environment()["UV_FIND_LINKS"]:
        pytest.skip(
            f"torch's {torch_build} build is in no registry: name its folder, UV_FIND_LINKS"
        )
    run(UV, "venv", "--python", sys.executable, tmp_path / "empty", cwd=tmp_path)
    python = tmp_path / "empty" / "bin" / "python"
    constraints = same_versions(tmp_path)
    install = (UV, "pip", "install", "--python", python, "--constraint", constraints)
    run(*install, wheel, *NOTEBOOK_TOOLS, cwd=tmp_path)

    scratch = tmp_path / "anywhere"
    scratch.mkdir()
    (scratch / "scratch.py").write_text(textwrap.dedent(SCRATCH))
    values, origin = run(python, "scratch.py", cwd=scratch).splitlines()[-3:-1]
    assert values == "[0.0, 2.0, 4.0, 6.0, 8.0, 10.0, 12.0, 14.0]"
    assert Path(origin).is_relative_to(tmp_path / "empty")
