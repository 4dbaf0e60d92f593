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
    (BARRIERS, 8): "that is the number for 256 threads; twice as many threads need one more round.",
    (BARRIERS, 10): "each round begins with a barrier, and after the last round thread 0 reads only its "
    "own word.",
    (BARRIERS, 512): "all threads of a block meet at the same barrier, however many threads there are.",
    (LANES, 8): "with step 4, threads 0, 8, 16, … add, because they are 2 · step apart.",
    (LANES, 32): "the whole warp executes the instruction, but only the lanes for which the `if` "
    "is true are active.",
    (WARPS, 2): "64 threads add, but they are spread over all warps, 4 in each.",
    (WARPS, 4): "64 threads add, and they are 8 apart. Which warps do they belong to?",
    (FEW, 16): "only threads 0 to 63 add.",
    (FEW, 4): "the round reads 128 words, but only half as many threads add.",
    (WAVES, 4): "neighbouring threads are 2 · step = 8 words apart, so they use 4 of the 32 banks. "
    "Each of the 32 lanes needs its own word.",
    (WAVES, 1): "neighbouring threads are 8 words apart: which banks hold words 0, 8, 16, 24, 32, …?",
    (LAST, 32): "all words are in the same bank, but only 512 / 32 threads still add.",
    (LAST, 1): "a word 32 words further is in the same bank.",
    (LAST, 8): "that is the number for 256 threads.",
}  # fmt: skip

EXERCISE = Exercise(
    title="predict the cost of a tree",
    task="""
A block of **512** threads adds 512 words with the trees from this notebook: `interleaved`
(threads with `tidx % (2 * step) == 0` add the word `step` places further on), `strided` (thread
`tidx` works on word `2 * step * tidx`), and `sequential` (threads below `half` add). Predict
the counts.
""",
    hints=(
        "Write down which threads add in the given round and which word each of them works on.",
        "A warp is 32 neighbouring threads; a word's bank is its number modulo 32.",
        "Count the active lanes first. Then count how many different words they read from each "
        "bank: the largest count is the number of wavefronts.",
    ),
    analysis="""
The interleaved tree keeps every warp busy, but with only a few active lanes. The strided tree
packs the active lanes into few warps, but also packs their words into few banks. In the
sequential tree, neighbouring threads work on neighbouring words, which avoids both costs.
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
