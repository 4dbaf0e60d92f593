"""Exercise week1/stops_growing: where sums in narrow types stop growing."""

from forgekit.lessons.exercise import Exercise
from forgekit.lessons.gates import answers

RIGHT = {
    "float16, ones": 2048,
    "bfloat16, ones": 256,
    "float16, fours": 8192,
    "float32, ones": 2**24,
}
MISCONCEPTIONS = {
    (
        "float16, ones",
        65504,
    ): "65,504 is the largest float16. The sum stops much earlier, where 1 is only half the distance "
    "to the next float16.",
    (
        "float16, ones",
        1024,
    ): "at 1,024 the distance between neighbouring float16 numbers is 1, so 1,025 is a float16.",
    ("float16, ones", 4096): "11 digits reach up to 2¹¹; above that only even numbers exist.",
    (
        "bfloat16, ones",
        128,
    ): "bfloat16 has 8 digits, of which it stores 7, so it represents every whole number up to 2⁸.",
    (
        "bfloat16, ones",
        2048,
    ): "that is the answer for float16. bfloat16 has the range of float32, but only 8 digits.",
    (
        "float16, fours",
        2048,
    ): "each addend is four times as large as well, and all numbers involved are multiples of 4.",
    (
        "float16, fours",
        512,
    ): "all numbers are four times as large, so the sum grows four times as far.",
    ("float32, ones", 2**23): "float32 has 24 digits, of which it stores 23.",
    (
        "float32, ones",
        2**32,
    ): "that is the limit for a 32-bit integer. float32 uses eight of its bits for the exponent.",
}

EXERCISE = Exercise(
    title="predict where sums stop",
    task="""
A loop adds equal numbers one by one to a sum that starts at 0, and rounds each result to the
given type. At which value does the sum stop growing? With `"ones"`, each number is 1; with
`"fours"`, each number is 4.
""",
    hints=(
        "A type with p binary digits represents every whole number up to 2ᵖ, but not 2ᵖ + 1.",
        "float16 has 11 digits, bfloat16 has 8 and float32 has 24, including the leading digit.",
        "2ᵖ + 1 lies halfway between two representable numbers, and a tie rounds to the even "
        "one, 2ᵖ. With fours, every number is four times as large.",
    ),
    analysis="""
A result rounds to the nearest representable number, and a tie rounds to the even one: 2,048 + 1
= 2,049 lies halfway between 2,048 and 2,050, so it rounds to 2,048. In float32 the same happens
at 16,777,216.
""",
    entry="stops_at",
    groups=(
        answers(
            RIGHT,
            MISCONCEPTIONS,
            name="Where sums stop",
            look_at="What is the first whole number that the type cannot represent, and which sum comes before it?",
        ),
    ),
)
