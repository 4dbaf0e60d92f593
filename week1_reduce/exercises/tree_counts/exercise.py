"""Exercise week1/tree_counts: barriers, lanes and wavefronts of trees."""

from forgekit.lessons.exercise import Exercise
from forgekit.lessons.gates import answers

BARRIERS = "barriers of a block"
LANES = "interleaved, step 4: active lanes of a warp"
WARPS = "interleaved, step 4: warps with an active lane"
FEW = "sequential, half 64: warps with an active lane"
WAVES = "strided, step 4: wavefronts of a load"
LAST = "strided, step 16: wavefronts of a load"

MISCONCEPTIONS = {
    (BARRIERS, 8): "that is the number for 256 threads; twice as many have one round more.",
    (BARRIERS, 10): "a round begins with a barrier, and after the last round thread 0 reads what it "
    "has stored itself.",
    (BARRIERS, 512): "a barrier of a block is one, however many threads arrive.",
    (LANES, 8): "with step 4 threads 0, 8, 16, … add: the distance is 2 · step.",
    (LANES, 32): "the others are idle: the instruction is executed for the whole warp, and counts for "
    "those alone that the `if` lets through.",
    (WARPS, 2): "64 threads add, but they are spread: 4 in each warp.",
    (WARPS, 4): "64 threads add, and they are 8 apart. Which warps are these in?",
    (FEW, 16): "threads 0 to 63 add, and nobody else.",
    (FEW, 4): "the words that are read lie in 128 words; the threads that add are half as many.",
    (WAVES, 4): "neighbouring threads are 2 · step = 8 words apart, so they use 4 banks of 32. Each "
    "of the 32 lanes needs a word of its own.",
    (WAVES, 1): "neighbouring threads are 8 words apart: which banks are 0, 8, 16, 24, 32, …?",
    (LAST, 32): "all words are in one bank, but only 512 / 32 threads are left.",
    (LAST, 1): "32 words further is the same bank.",
    (LAST, 8): "that is the number for 256 threads.",
}  # fmt: skip

EXERCISE = Exercise(
    title="predict what trees cost",
    task="""
A block of **512** threads adds 512 words up, in the trees of this notebook: `interleaved` (threads
with `tidx % (2 * step) == 0` add what stands `step` further), `strided` (thread `tidx` works on word
`2 * step * tidx`), `sequential` (threads below `half`). Write down what is counted.
""",
    hints=(
        "Write down which threads add in that round, and in which word each of them works.",
        "A warp is 32 neighbouring threads; a word's bank is its number modulo 32.",
        "Wavefronts of a load are the largest number of different words that its active lanes want "
        "from one bank; count the active lanes first.",
    ),
    analysis="""
Interleaved threads keep every warp busy with a few lanes each. A strided index gathers the lanes in
few warps and the words in few banks. In the sequential tree neighbouring threads work on
neighbouring words, and both are right.
""",
    entry="counts",
    groups=(
        answers(
            {BARRIERS: 9, LANES: 4, WARPS: 16, FEW: 2, WAVES: 8, LAST: 16},
            MISCONCEPTIONS,
            name="Counts",
            look_at="Which threads add in this round?",
        ),
    ),
)
