"""Exercise week1/bytes_in_flight: Little's law, in five questions."""

from forgekit.lessons.exercise import Exercise
from forgekit.lessons.gates import answers

RIGHT = {
    "MB in flight for 4.8 TB/s": 1.92,
    "kB in flight per multiprocessor": 14.5,
    "GB/s of one warp, one load of 16 bytes per lane": 1.28,
    "GB/s of one warp, four such loads": 5.12,
    "warps per multiprocessor, one such load each": 29,
}
MISCONCEPTIONS = {
    ("MB in flight for 4.8 TB/s", 0.96): "a sum writes almost nothing, so it reads at the full "
    "4.8 TB/s, not at half of that rate as a copy does.",
    (
        "MB in flight for 4.8 TB/s",
        12000.0,
    ): "a rate *times* a time gives bytes; a rate divided by a time does not.",
    ("MB in flight for 4.8 TB/s", 1920.0): "that is the number of kB.",
    ("kB in flight per multiprocessor", 14545): "that is the number of bytes.",
    ("kB in flight per multiprocessor", 1.92): "all 132 multiprocessors share the bytes in flight.",
    (
        "GB/s of one warp, one load of 16 bytes per lane",
        0.04,
    ): "that is the rate of one lane. A warp has 32 lanes, and all of their bytes are in flight together.",
    ("GB/s of one warp, one load of 16 bytes per lane", 0.32): "a lane requests 16 bytes, not 4.",
    ("GB/s of one warp, four such loads", 1.28): "four loads that do not wait for each other "
    "take the time of one, and deliver four times the bytes.",
    ("GB/s of one warp, four such loads", 0.32): "the loads are in flight together; they do not "
    "wait for each other.",
    (
        "warps per multiprocessor, one such load each",
        28,
    ): "28 warps have 14,336 bytes in flight, which is slightly too few.",
    ("warps per multiprocessor, one such load each", 28.4): "the task asks for a whole number, "
    "rounded up.",
    ("warps per multiprocessor, one such load each", 64): "a multiprocessor has room for 64 "
    "warps, but fewer suffice.",
    ("warps per multiprocessor, one such load each", 909): "that is the number of threads.",
}

EXERCISE = Exercise(
    title="count bytes in flight",
    task="""
Suppose that a load takes 400 ns, and that memory delivers 4.8 TB/s to 132 multiprocessors. How
many bytes have to be in flight? What rate does a warp reach if it loads, waits for the data, and
loads again? (Round the last answer up to a whole number. 1 kB is 1,000 bytes.)
""",
    hints=(
        "Little's law: bytes in flight = bytes per second × seconds per load.",
        "A warp that has B bytes in flight receives B bytes every 400 ns.",
        "A load of 16 bytes per lane puts 512 bytes in flight. For the last line, divide the bytes that "
        "one multiprocessor needs by 512.",
    ),
    analysis="""
4.8 TB/s × 400 ns = 1.92 MB, which is 14.5 kB for each of the 132 multiprocessors. A warp with
512 bytes in flight reaches 512 bytes / 400 ns = 1.28 GB/s. With four loads that do not wait for
each other, it reaches 5.12 GB/s. 14,545 / 512 = 28.4, so a multiprocessor needs 29 of the 64
warps that it has room for.
""",
    entry="in_flight",
    groups=(
        answers(
            RIGHT,
            MISCONCEPTIONS,
            name="Bytes in flight",
            look_at="Write each quantity with its unit: bytes, seconds, bytes per second.",
        ),
    ),
)
