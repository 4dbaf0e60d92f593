"""Exercise week1/bytes_in_flight: Little's law, in five questions."""

from forgekit.lessons.exercise import Exercise
from forgekit.lessons.gates import answers

RIGHT = {
    "MB in flight for 4.8 TB/s": 1.92,
    "kB in flight, each multiprocessor": 14.5,
    "GB/s of one warp, one load of 16 bytes a lane": 1.28,
    "GB/s of one warp, four such loads": 5.12,
    "warps that one multiprocessor needs, one such load each": 29,
}
MISCONCEPTIONS = {
    ("MB in flight for 4.8 TB/s", 0.96): "a sum reads all of its bytes and writes next to nothing: "
    "the rate is 4.8 TB/s, not half of it as in a copy.",
    (
        "MB in flight for 4.8 TB/s",
        12000.0,
    ): "a rate *times* a time is a number of bytes; divided by it, it is none.",
    ("MB in flight for 4.8 TB/s", 1920.0): "that is in kB.",
    ("kB in flight, each multiprocessor", 14545): "that is in bytes.",
    ("kB in flight, each multiprocessor", 1.92): "all 132 multiprocessors share what is in flight.",
    ("GB/s of one warp, one load of 16 bytes a lane", 0.04): "that is one lane. A warp has 32 of "
    "them, and all of their bytes are in flight together.",
    ("GB/s of one warp, one load of 16 bytes a lane", 0.32): "a lane asks for 16 bytes, not for 4.",
    ("GB/s of one warp, four such loads", 1.28): "four loads that do not wait for each other are "
    "answered in the time of one: four times the bytes.",
    ("GB/s of one warp, four such loads", 0.32): "the loads are in flight together. They do not "
    "take turns.",
    (
        "warps that one multiprocessor needs, one such load each",
        28,
    ): "28 warps have 14,336 bytes in flight; that is a little too few.",
    ("warps that one multiprocessor needs, one such load each", 64): "64 is how many it has room "
    "for. Fewer will do.",
    ("warps that one multiprocessor needs, one such load each", 909): "that is in threads.",
}

EXERCISE = Exercise(
    title="count bytes in flight",
    task="""
Suppose that an answer takes 400 ns, and memory delivers 4.8 TB/s, to 132 multiprocessors. How
much has to be in flight? How fast can a warp be that asks, waits for the answer, and asks again?
(The last answer is a whole number, rounded up.)
""",
    hints=(
        "Little's law: bytes in flight = bytes a second × seconds for an answer.",
        "A warp that has B bytes in flight gets B bytes every 400 ns.",
        "A load of 16 bytes a lane has 512 bytes in flight for its warp; that number divides what "
        "one multiprocessor needs, in the last line.",
    ),
    analysis="""
4.8e12 × 400e-9 = 1.92 MB; by 132, 14.5 kB. A warp with 512 bytes in flight gets 512 / 400 ns =
1.28 GB/s, and four loads that do not wait for each other make it 5.12. 14,545 / 512 = 28.4, so 29
warps of the 64 that a multiprocessor has room for.
""",
    entry="in_flight",
    groups=(
        answers(
            RIGHT,
            MISCONCEPTIONS,
            name="Bytes in flight",
            look_at="Write each quantity with its unit: bytes, seconds, bytes a second.",
        ),
    ),
)
