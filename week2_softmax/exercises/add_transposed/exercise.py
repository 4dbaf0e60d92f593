"""Puzzle week2/add_transposed: a kernel with arrays, rewritten with a layout."""

from forgekit.lessons.gates import Group, found, looks_like
from forgekit.lessons.puzzle import puzzle


def _largest(make):
    """The launches with the largest modes are not refused."""

    def run(submission):
        for size in ((2_000_000, 1), (1, 2_000_000)):
            submission.sampled(submission.case(make, size, "float32"), 8)
        return "2,000,000 rows or columns"

    return Group("Largest launches", run)


EXERCISE = puzzle(
    title="rewrite a kernel with a layout",
    task="""
This array kernel computes `y = x + zᵀ` for float32 matrices x (M, N) and z (N, M) with 1 to 2,000,000 rows and columns:

    tile = cutlass.Array(Float32, (32, 33), space=cutlass.AddressSpace.smem)
    for k in cutlass.range_constexpr(0, 32, 8):
        row, col = bx * 32 + ty + k, by * 32 + tx
        if row < N and col < M:
            tile[ty + k, tx] = z[row, col]
    prims.barrier_cta_sync(0)
    for k in cutlass.range_constexpr(0, 32, 8):
        row, col = by * 32 + ty + k, bx * 32 + tx
        if row < M and col < N:
            y[row, col] = x[row, col] + tile[tx, ty + k]

Its padded tile takes 4,224 bytes. Rewrite the kernel for `cute.Tensor`, including its launch, and swizzle the tile instead of padding it. Signature: `add_transposed(mX, mZ, mY)`.
""",
    hints=(
        "Only the line that allocates the tile changes significantly. Which layout maps both the elements of a row and the elements of a column to 32 different banks?",
        "Offset 32 · row + column has the column in bits 0 to 4 and the row in bits 5 to 9. A swizzle "
        "combines the two groups of bits by XOR.",
        "In the line that replaces `cutlass.Array`, pass `cute.make_composed_layout(swizzle, 0, layout)` to `allocate_tensor`. The loops keep their indices.",
    ),
    analysis="""
The swizzle takes one line, because it is part of the layout: `sZ[ty + k, tx]` and `sZ[tx, ty + k]` do not change. With an array you would write the XOR into both index expressions. Use CuTe where the
mapping from coordinates to addresses is the difficult part.
""",
    asked={"block": 256, "barriers": 1, "shared_bytes": 4096, "bank_conflicts": 0},
    entry="add_transposed",
    inputs=lambda draw, m, n: (draw(m, n), draw(n, m)),
    result=lambda x, z: x + z.T,
    legal=lambda m, n: (min(m, 2_000_000), min(n, 2_000_000)),
    sizes=[(3, 5), (1, 1), (2, 40), (33, 31), (64, 40), (70, 1), (40, 70)],
    count=[(32, 32), (160, 128)],
    exact=True,
    misconceptions=[
        looks_like(lambda x, z, y: z.T, "y is the transpose of z: x is missing."),
        looks_like(lambda x, z, y: x, "y is x: z is missing."),
        looks_like(lambda x, z, y: x - z.T, "z is subtracted."),
        found("shared-race", "two threads use the same element of the tile, at least one of them stores it, and no "
              "barrier separates the two accesses."),
        found("uninitialised-shared", "a thread reads an element of the tile that no thread has stored: "
              "check the order of its two indices, and the predicate of the store."),
    ],
    more=lambda make: (_largest(make),),
    praise="Rows and columns of one tile, both without a bank conflict.",
)  # fmt: skip
