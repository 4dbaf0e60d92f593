"""Exercise week0/four_loads: the sectors of four loads, predicted from their indexes."""

from forgekit.lessons.exercise import Exercise
from forgekit.lessons.gates import answers

RIGHT = {"mX[2 * i]": 8, "mX[i + 1]": 5, "mX[255 - i]": 4, "mX[i // 4]": 1}
MISCONCEPTIONS = {
    ("mX[2 * i]", 4): "four sectors hold 32 adjacent words, but this load skips every second word.",
    (
        "mX[2 * i]",
        16,
    ): "a load of every *fourth* word would need 16 sectors, but this load reads every second word.",
    (
        "mX[2 * i]",
        32,
    ): "that would be one sector per thread, but several threads read from the same sector. How many?",
    ("mX[2 * i]", 64): "all eight warps together fetch 64 sectors. The question is about one warp.",
    ("mX[2 * i]", 256): "256 is the number of bytes in these sectors, not the number of sectors.",
    ("mX[i + 1]", 4): "four sectors would hold the bytes if they began on a sector boundary.",
    (
        "mX[i + 1]",
        8,
    ): "the shift does not double the number of sectors. 128 bytes that begin 4 bytes after a sector boundary reach into only one more sector.",
    (
        "mX[255 - i]",
        32,
    ): "the order of the lanes does not matter. A sector that several lanes access counts once.",
    (
        "mX[255 - i]",
        5,
    ): "the elements of one warp begin and end on a sector boundary, because 255 - 31 is 224, a multiple of 8.",
    (
        "mX[i // 4]",
        4,
    ): "32 different words would need four sectors, but here four threads read the same word.",
    ("mX[i // 4]", 8): "8 is the number of different words. How many sectors hold them?",
    ("mX[i // 4]", 32): "the hardware serves lanes that read the same word together.",
}

EXERCISE = Exercise(
    title="predict what four loads cost",
    task="""
Threads `i = 0 … 255` load float32 elements of `x`, whose address is a multiple of 256 bytes. How
many sectors does the first warp (threads 0 to 31) fetch with each load? A cell after the grading
cell draws them.
""",
    hints=(
        "Which elements do threads 0 to 31 read? Write down the first and the last.",
        "Each sector holds eight elements: 0 to 7, 8 to 15, and so on. A sector counts once, "
        "however many threads access it.",
        "Divide the indices of the first and the last element by 8 and round down to get the "
        "numbers of the first and the last sector. The warp accesses every sector between them, "
        "unless its stride skips some.",
    ),
    analysis="""
The cost depends on the number of sectors, not on the number of lanes or words. A load with a stride
of 2 fetches every byte in its range and uses half of them. A load that does not start on a sector
boundary fetches five sectors instead of four. The order of the lanes makes no difference, and lanes
that read the same word share its sector.
""",
    entry="sectors",
    groups=(
        answers(
            RIGHT,
            MISCONCEPTIONS,
            name="Sectors per request",
            look_at="Draw the sectors as boxes of eight elements, and mark the elements that the warp reads.",
        ),
    ),
)
