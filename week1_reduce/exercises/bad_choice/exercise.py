"""Exercise week1/bad_choice: what is wrong with a kernel for a shape, if anything is."""

from forgekit.lessons.exercise import Exercise
from forgekit.lessons.gates import choices

WORDS = ("idle lanes", "too few blocks", "needless parts", "nothing")

LANES_FOR_256 = "a row of 128 float32 is 32 vectors: how many of 256 threads get one?"
LANES_FOR_32 = "a row of 32 float16 is 4 vectors: how many of 32 lanes get one?"
EIGHT_ROWS = "a block has eight rows of a warp each: how many blocks are there, and for how many "
EIGHT_ROWS += "multiprocessors?"
FULL = "every lane has several vectors, and there are 8,192 blocks."
GRID = "every thread has eight vectors, and there are 4,096 blocks."

RIGHT = {
    "a block a row, 262,144 × 128 float32": "idle lanes",
    "a warp a row, 64 × 524,288 float32": "too few blocks",
    "a warp a row, 65,536 × 512 float32": "nothing",
    "parts, 4,096 × 8,192 float16": "needless parts",
    "a warp a row, 1,048,576 × 32 float16": "idle lanes",
    "a block a row, 16 × 2,097,152 float32": "too few blocks",
    "a block a row, 4,096 × 8,192 float32": "nothing",
    "8 lanes a row, 256 × 131,072 float32": "too few blocks",
}
FIRST, SECOND, THIRD, FOURTH, FIFTH, SIXTH, SEVENTH, EIGHTH = RIGHT

EXERCISE = Exercise(
    title="say what is wrong with the choice",
    task=f"""
Eight kernels of this notebook, each with a shape. What is bad about each on a GPU with 132
multiprocessors? One of {", ".join(f'`"{word}"`' for word in WORDS)}; a kernel that the table has within
5 % of the best for its shape has nothing wrong. In a block of 256 threads, `256 // threads` rows;
in parts, at least four a row; a thread reads 16 bytes at a time.
""",
    hints=(
        "Two divisions decide: vectors of a row by threads that share it, and rows by rows of a "
        "block.",
        "A lane is idle where a row has fewer vectors than threads. 132 multiprocessors want 264 "
        "blocks at least, two for each.",
        "Parts are for rows that are too few to give every multiprocessor a block: in the line "
        "with 4,096 rows, count the blocks that there were without them.",
    ),
    analysis="""
Both divisions are made before anything runs, so a few lines of Python can make them at each call:
that is the next exercise. The shapes in between are forgiving: from 512 to 8,192 float32 a warp a
row and the best kernel are within 4 % of each other.
""",
    entry="whats_bad",
    groups=(
        choices(
            RIGHT,
            WORDS,
            {
                (FIRST, "nothing"): LANES_FOR_256,
                (FIRST, "too few blocks"): "there is a block for each of 262,144 rows.",
                (FIRST, "needless parts"): "no row is in parts here.",
                (SECOND, "nothing"): EIGHT_ROWS,
                (SECOND, "idle lanes"): "a row is 131,072 vectors; no lane is idle.",
                (SECOND, "needless parts"): "no row is in parts here; it should be.",
                (THIRD, "idle lanes"): FULL,
                (THIRD, "too few blocks"): FULL,
                (THIRD, "needless parts"): FULL,
                (FOURTH, "nothing"): "4,096 rows would be 4,096 blocks without any parts.",
                (FOURTH, "idle lanes"): "a part is 256 vectors, one for each thread.",
                (FOURTH, "too few blocks"): "four parts of 4,096 rows are 16,384 blocks.",
                (FIFTH, "nothing"): LANES_FOR_32,
                (FIFTH, "too few blocks"): "a million rows are 131,072 blocks.",
                (FIFTH, "needless parts"): "no row is in parts here.",
                (SIXTH, "nothing"): "16 rows are 16 blocks, for 132 multiprocessors.",
                (SIXTH, "idle lanes"): "a row is 524,288 vectors; no thread is idle.",
                (SIXTH, "needless parts"): "no row is in parts here; it should be.",
                (SEVENTH, "idle lanes"): GRID,
                (SEVENTH, "too few blocks"): GRID,
                (SEVENTH, "needless parts"): GRID,
                (EIGHTH, "nothing"): "32 rows share a block: 256 of them are 8 blocks.",
                (EIGHTH, "idle lanes"): "a row is 32,768 vectors; no lane is idle.",
                (EIGHTH, "needless parts"): "no row is in parts here.",
            },
            name="Eight choices",
            look_at="Count the vectors of a row and the blocks, by hand.",
        ),
    ),
    praise="Two divisions.",
)
