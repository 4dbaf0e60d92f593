"""Puzzle week2/row_distances: a kernel with tensors and layouts, rewritten with arrays."""

import ast
import inspect
import linecache

import torch

from forgekit.lessons.gates import GateError, Group, found, looks_like
from forgekit.lessons.gates.submission import Elsewhere
from forgekit.lessons.puzzle import puzzle
from forgekit.text import plural


def _inputs(draw, m, n):
    """Return exact numbers; in every second row, x and z are large and close together, so that
    x² - 2xz + z² has no correct digits."""
    x, z = draw.fractions(m, n), draw.fractions(m, n)
    x[1::2] += 2048
    z[1::2] += 2048
    return x, z


def _of_lanes(lanes):
    """Return a function that sums the vectors of the first `lanes` lanes."""

    def result(x, z, y):
        mine = torch.arange(x.shape[1]) % 128 < 4 * lanes
        return (x.double() - z.double())[:, mine].square().sum(1)

    return result


def _annotations(function):
    """Map each kernel in the function's cell or file to the types of its parameters."""
    if isinstance(function, Elsewhere):
        text = function.text
    else:
        text = "".join(linecache.getlines(inspect.getsourcefile(inspect.unwrap(function)) or ""))
    tree = ast.parse(text)
    aliases = {
        node.targets[0].id: _last(node.value) for node in ast.walk(tree)
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name)
    }  # fmt: skip
    found, tensors = {}, set()
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef) and "kernel" in map(_last, node.decorator_list):
            every = (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs)
            types = [_last(a.annotation) for a in every]
            found[node.name] = [aliases.get(name, name) for name in types]
        elif isinstance(node, ast.FunctionDef):
            tensors |= {a.arg for a in node.args.args if _last(a.annotation) == "Tensor"}
    for call in ast.walk(tree):
        types = found.get(_last(call.func), []) if isinstance(call, ast.Call) else []
        for k, of in enumerate(types):  # a parameter that is not annotated may receive a tensor
            given = call.args[k] if k < len(call.args) else None
            if of != "Array" and isinstance(given, ast.Name) and given.id in tensors:
                types[k] = "Tensor"
    return found


def _last(node):
    """Return Array of `cutlass.Array`, kernel of `cute.kernel()`."""
    node = node.func if isinstance(node, ast.Call) else node
    return ast.unparse(node).rpartition(".")[2].strip("'") if node else ""


def _arrays(make):
    """Return a group that reads the parameters in the text, because kernels with arrays and with
    tensors look alike in PTX."""

    def run(submission):
        try:
            kernels = _annotations(submission.value)
        except (SyntaxError, TypeError):  # no text: it could be anything
            return "cutlass.Array"
        ptx = submission.compiled(submission.case(make, (2, 4), "float32")).ptx
        launched = [types for name, types in kernels.items() if f"kernel_cutlass_{name}_" in ptx]
        most = max((types.count("Array") for types in launched), default=0)
        if kernels and most < 3:
            happened = "No kernel that is launched takes arrays."
            if most:
                happened = f"The kernel takes {plural(most, 'array')}, needed 3: x, z and y."
            raise GateError(
                happened,
                "annotate the kernel's parameters as `cutlass.Array`; the host passes its tensors.",
            )
        if any("Tensor" in types for types in launched):
            raise GateError(
                "A launched kernel takes tensors; the task asks for arrays as parameters."
            )
        return "cutlass.Array"

    return Group("Arrays", run)


EXERCISE = puzzle(
    title="rewrite a kernel with arrays",
    task="""
This CuTe kernel computes `y[m] = Σ (x[m, n] − z[m, n])²` for float32 rows of whole 16-byte vectors:

    gX, gZ = (cute.zipped_divide(mT[row, None], (4,)) for mT in (mX, mZ))  # ((4),(N/4))
    total = Float32(0.0)
    for i in range(lane, cute.size(gX, mode=[1]), 32):
        d = gX[None, i].load() - gZ[None, i].load()
        total += (d * d).reduce(cute.ReductionOp.ADD, 0.0, 0)
    total = cute.arch.warp_reduction(total, operator.add)

Rewrite it, including its launch, as a kernel whose parameters are `cutlass.Array`. You may merge the lanes in either vocabulary. Signature: `row_distances(mX, mZ, mY)`.
""",
    hints=(
        "Vector i of the CuTe kernel begins at column 4 · i. Which columns does lane 5 load, and how "
        "far apart are they?",
        "`x.load((row, i), 4)` is a vector of 4 elements. Vectors are subtracted and multiplied "
        "element by element, and `.reduce(\"add\")` returns the sum of a vector's elements.",
        "`prims.shfl_sync(0xFFFFFFFF, total, offset, 0x1F, prims.Shfl.BFLY)` belongs in a loop over the offsets 16, 8, 4, 2, 1. After the loop, one lane stores the result.",
    ),
    analysis="""
The loop now counts elements instead of vectors: column 4 · lane, then every 128th. The CuTe kernel states this once, in the layout `((4),(N/4))`, whereas the array kernel states it in every load.
To change the vector width, you change one tile in the CuTe kernel, but every address in the array kernel.
""",
    asked={"work": "one warp per row", "load_bytes": 16},
    entry="row_distances",
    inputs=_inputs,
    result=lambda x, z: (x - z).square().sum(1),
    sizes=[(2, 4), (3, 8), (1, 512), (5, 132), (7, 1000), (33, 136), (4, 260)],
    count=[(5, 64), (64, 1000)],
    legal=lambda m, n: (m, max(4, n // 4 * 4)),
    promise={0: {1: 4}, 1: {1: 4}},
    misconceptions=[
        found("misaligned", "a vector begins at an address that is not a multiple of 16 bytes. "
              "`x.load((row, i), 4)` begins at column i of the row; check i, and that both indices are "
              "in one tuple."),
        looks_like(_of_lanes(1), "the result is the sum of lane 0: the sums of the other lanes are missing."),
        looks_like(_of_lanes(16), "the result is the sum of half of the lanes: the offset 16 is missing."),
        looks_like(lambda x, z, y: (x.double() - z.double()).sum(1), "the differences are added, not "
                   "their squares."),
        looks_like(lambda x, z, y: (x.double() + z.double()).square().sum(1), "z is added to x instead of "
                   "being subtracted."),
        looks_like(lambda x, z, y: (x.double() - z.double()).square().sum(1).sqrt(), "the result is the root of "
                   "the sum."),
        looks_like(lambda x, z, y: (x.double() - z.double())[:, :128].square().sum(1), "in this call, "
                   "columns from 128 on are missing, as if each lane loaded one vector."),
    ],
    more=lambda make: (_arrays(make),),
    praise="You have written the same loads without a layout.",
)  # fmt: skip
