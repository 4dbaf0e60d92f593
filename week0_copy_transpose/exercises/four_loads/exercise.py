"""Exercise week0/four_loads: the sectors of four loads, predicted from their indexes."""

from forgekit.lessons.exercise import Exercise
from forgekit.lessons.gates import answers

RIGHT = {"mX[2 * i]": 8, "mX[i + 1]": 5, "mX[255 - i]": 4, "mX[i // 4]": 1}
MISCONCEPTIONS = {
    ("mX[2 * i]", 4): "that would do without gaps, for 32 neighbours of 4 bytes. Here every second "
    "word is skipped.",
    ("mX[2 * i]", 16): "16 sectors would be every *fourth* word; here it is every second.",
    ("mX[2 * i]", 32): "that would be a sector for each thread. How many of the threads' elements "
    "lie in one sector?",
    ("mX[2 * i]", 64): "that is what all eight warps fetch together. The question is of one warp.",
    ("mX[2 * i]", 256): "that is bytes, from thread 0's element to thread 31's.",
    ("mX[i + 1]", 4): "the bytes would fit in four sectors, if they began where a sector begins.",
    ("mX[i + 1]", 8): "shifting doubles nothing: 128 bytes that begin 4 bytes late reach into one "
    "sector more.",
    (
        "mX[255 - i]",
        32,
    ): "the order of the lanes does not matter: a sector that several lanes touch counts once.",
    ("mX[255 - i]", 5): "the piece of one warp begins and ends at an edge of a sector: 255 - 31 is "
    "224, a multiple of 8.",
    ("mX[i // 4]", 4): "that is for 32 different words. Four threads read the same word here.",
    ("mX[i // 4]", 8): "8 is the number of different words. How many sectors do they lie in?",
    ("mX[i // 4]", 32): "lanes that read the same word are served together.",
}

EXERCISE = Exercise(
    title="predict what four loads cost",
    task="""
Threads `i = 0 … 255`, float32, `x` begins at a multiple of 256 bytes. How many sectors does the load
of the first warp, threads 0 to 31, fetch in each case? The cell after the grade lets you draw them.
""",
    hints=(
        "Which elements do threads 0 to 31 read? Write down the first and the last.",
        "A sector holds eight elements: 0 to 7, 8 to 15, and so on. It counts once, however many "
        "threads touch it.",
        "Divide the number of the first and of the last element by 8, rounded down: all sectors "
        "from the one to the other are touched, unless a step jumps over one.",
    ),
    analysis="""
Sectors are counted, not lanes and not words. A stride of 2 fetches everything and uses half; a start
off the edge costs one sector more, five for four; the order of lanes costs nothing; and what lanes
share is fetched once.
""",
    entry="sectors",
    groups=(
        answers(
            RIGHT,
            MISCONCEPTIONS,
            name="Sectors a request",
            look_at="Draw the sectors as boxes of eight elements, and mark what is read.",
        ),
    ),
)
