"""Exercise week1/bad_choice: name the fault of a kernel for a shape."""

from forgekit.lessons.exercise import Exercise
from forgekit.lessons.gates import choices

WORDS = ("idle lanes", "too few blocks", "needless parts", "nothing")

LANES_FOR_256 = "a row of 128 float32 elements has 32 vectors. How many of 256 threads have one?"
LANES_FOR_32 = "a row of 32 float16 elements has 4 vectors. How many of 32 lanes have one?"
EIGHT_ROWS = "a block has eight rows, one per warp. How many blocks are there, and for how many "
EIGHT_ROWS += "multiprocessors?"
FULL = "every lane has several vectors, and there are 8,192 blocks."
GRID = "every thread has eight vectors, and there are 4,096 blocks."

RIGHT = {
    "a block per row, 262,144 × 128 float32": "idle lanes",
    "a warp per row, 64 × 524,288 float32": "too few blocks",
    "a warp per row, 65,536 × 512 float32": "nothing",
    "parts, 4,096 × 8,192 float16": "needless parts",
    "a warp per row, 1,048,576 × 32 float16": "idle lanes",
    "a block per row, 16 × 2,097,152 float32": "too few blocks",
    "a block per row, 4,096 × 8,192 float32": "nothing",
    "8 lanes per row, 256 × 131,072 float32": "too few blocks",
}
FIRST, SECOND, THIRD, FOURTH, FIFTH, SIXTH, SEVENTH, EIGHTH = RIGHT

EXERCISE = Exercise(
    title="find the fault in a choice",
    task=f"""
Here are eight kernels from this notebook, each with a shape. What is wrong with each choice on a
GPU with 132 multiprocessors? Answer with one of {", ".join(f'`"{word}"`' for word in WORDS)}. Answer
`"nothing"` for a kernel that the table shows within 5 % of the best kernel for its shape. A block of 256
threads handles `256 // threads` rows. A row that is split has at least four parts. A thread reads
16 bytes at a time.
""",
    hints=(
        "Two divisions give the answer: divide the vectors per row by the threads per row, and the rows "
        "by the rows per block.",
        "Lanes are idle if a row has fewer vectors than threads. 132 multiprocessors need at "
        "least 264 blocks, two for each.",
        "Parts are for matrices with too few rows to give every multiprocessor a block. For the "
        "line with parts, count the blocks that there would be without them.",
    ),
    analysis="""
A few lines of Python can perform both divisions at each call, before a kernel runs. You write
them in the next exercise. For shapes between the extremes, the choice hardly matters: from 512
to 8,192 columns of float32, one warp per row is within 4 % of the best kernel.
""",
    entry="whats_bad",
    groups=(
        choices(
            RIGHT,
            WORDS,
            {
                (FIRST, "nothing"): LANES_FOR_256,
                (FIRST, "too few blocks"): "there is one block for each of the 262,144 rows.",
                (FIRST, "needless parts"): "no row is split here.",
                (SECOND, "nothing"): EIGHT_ROWS,
                (SECOND, "idle lanes"): "a row has 131,072 vectors, so no lane is idle.",
                (SECOND, "needless parts"): "the rows are not split here, although they should be.",
                (THIRD, "idle lanes"): FULL,
                (THIRD, "too few blocks"): FULL,
                (THIRD, "needless parts"): FULL,
                (FOURTH, "nothing"): "without parts, 4,096 rows already give 4,096 blocks.",
                (FOURTH, "idle lanes"): "a part has 256 vectors, one for each thread.",
                (FOURTH, "too few blocks"): "4,096 rows of four parts give 16,384 blocks.",
                (FIFTH, "nothing"): LANES_FOR_32,
                (FIFTH, "too few blocks"): "a million rows give 131,072 blocks.",
                (FIFTH, "needless parts"): "no row is split here.",
                (SIXTH, "nothing"): "16 rows give only 16 blocks for 132 multiprocessors.",
                (SIXTH, "idle lanes"): "a row has 524,288 vectors, so no thread is idle.",
                (SIXTH, "needless parts"): "the rows are not split here, although they should be.",
                (SEVENTH, "idle lanes"): GRID,
                (SEVENTH, "too few blocks"): GRID,
                (SEVENTH, "needless parts"): GRID,
                (EIGHTH, "nothing"): "32 rows share a block, so 256 rows give only 8 blocks.",
                (EIGHTH, "idle lanes"): "a row has 32,768 vectors, so no lane is idle.",
                (EIGHTH, "needless parts"): "no row is split here.",
            },
            name="Eight choices",
            look_at="Count the vectors per row and the blocks by hand.",
        ),
    ),
    praise="Two divisions gave every answer.",
)
