"""Exercise week2/what_fits: the rows that a multiprocessor holds, and the bytes that a kernel
moves."""

from forgekit.lessons.exercise import Exercise
from forgekit.lessons.gates import answers

KB, VECTORS, BLOCKS, STAGED, STREAMED, CLUSTER, EXPECTED = (
    "kB of a row in shared memory",
    "vectors in flight per thread",
    "blocks that an SM has room for",
    "MB that staged moves",
    "MB that streaming moves",
    "blocks of a cluster for rows of 524,288 bfloat16",
    "bytes that an mbarrier expects, 8 blocks of 8 warps",
)
RIGHT = {KB: 96, VECTORS: 24, BLOCKS: 2, STAGED: 805.3, STREAMED: 1208.0, CLUSTER: 8, EXPECTED: 512}
MISCONCEPTIONS = {
    (KB, 24): "24,576 is the number of elements; each takes 4 bytes.",
    (
        KB,
        192,
    ): "only x is in shared memory. The result goes directly from registers to global memory.",
    (VECTORS, 96): "96 is the number of elements; a vector has four.",
    (VECTORS, 6144): "that is the number for all threads of a block together.",
    (VECTORS, 1): "a thread starts all copies before it waits for the first.",
    (BLOCKS, 8): "the threads would allow 8 blocks, but shared memory does not: 8 rows are 768 kB.",
    (BLOCKS, 3): "three rows are 288 kB; an SM has 228.",
    (BLOCKS, 1): "two blocks take 2 × 97 = 194 kB of 228.",
    (STAGED, 402.7): "that is only the read. The kernel also writes the result.",
    (
        STAGED,
        1208.0,
    ): "the second pass reads shared memory: x is read only once from global memory.",
    (STREAMED, 805.3): "streaming reads x a second time.",
    (STREAMED, 1611.0): "it reads x twice and writes y once: three times the matrix's bytes.",
    (CLUSTER, 4): "1,024 kB in four blocks is 256 kB per block, but a block may use 227 kB.",
    (CLUSTER, 5): "five blocks would suffice, but here a cluster has 1, 2, 4 or 8 blocks.",
    (CLUSTER, 16): "1,024 kB in eight blocks is 128 kB per block, which fits.",
    (EXPECTED, 256): "a pair is two float32, m and s: 8 bytes.",
    (EXPECTED, 64): "all 64 warps of the cluster send a pair of 8 bytes to each block.",
    (
        EXPECTED,
        4096,
    ): "each block's mbarrier counts only the bytes that arrive at this block: 64 pairs.",
}

EXERCISE = Exercise(
    title="count what fits",
    task="""
`staged` processes 4,096 rows of 24,576 float32 with blocks of 256 threads. An SM has 228 kB of shared memory (1 kB
is 1,024 bytes). A block may use 227 kB, and the system reserves another 1 kB per block. The last two questions are
about `cluster`: give the fewest blocks (1, 2, 4 or 8) whose shared memory holds such a row, and the bytes that
each block's mbarrier expects. 1 MB is 10⁶ bytes. Assume that L2 holds nothing.
""",
    hints=(
        "A row has 24,576 × 4 bytes, and a vector has 16.",
        "The scarcest of threads, registers and shared memory limits how many blocks fit on an "
        "SM. Here it is shared memory.",
        "The matrix is 402.7 MB. For the lines in MB, ask how many times each kernel moves it. For the last line, remember that every warp of the cluster sends one pair to each block.",
    ),
    analysis="""
96 kB are 6,144 vectors, 24 for each of 256 threads. Two blocks of 97 kB fit into 228 kB, but three do not.
`staged` moves the matrix twice, 805 MB. `streaming` moves it three times, 1,208 MB, which is half as much again,
unless L2 still holds a row at its second read. A row of 1,024 kB needs 8 blocks of 128 kB. And 64 warps send
8 bytes each to every block.
""",
    entry="fits",
    groups=(
        answers(
            RIGHT,
            MISCONCEPTIONS,
            name="What fits",
            look_at="Write each quantity with its unit, and divide the amount available by the amount that one needs.",
        ),
    ),
)
