"""Exercise week1/stops_growing: where sums in narrow types stop."""

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
    ): "65,504 is the largest float16. The sum stops long before: where 1 is "
    "less than half of the distance to the next number.",
    (
        "float16, ones",
        1024,
    ): "at 1,024 the distance from number to number is 1: 1,025 is one of them.",
    ("float16, ones", 4096): "11 digits reach up to 2¹¹; above it only even numbers exist.",
    (
        "bfloat16, ones",
        128,
    ): "bfloat16 has 8 digits, the first of which is not stored: up to 2⁸ every "
    "whole number exists.",
    ("bfloat16, ones", 2048): "that is float16. bfloat16 has the range of float32, and 8 digits.",
    (
        "float16, fours",
        2048,
    ): "what is added is larger, too: all numbers involved are multiples of 4.",
    (
        "float16, fours",
        512,
    ): "all numbers are four times as large, so the sum gets four times as far.",
    ("float32, ones", 2**23): "float32 has 24 digits, of which 23 are stored.",
    (
        "float32, ones",
        2**32,
    ): "that is where a 32-bit integer ends. Eight of float32's bits are for the exponent.",
}

EXERCISE = Exercise(
    title="predict where sums stop",
    task="""
Numbers are added one by one to a sum that begins at 0, each result rounded to the type. At which
value does the sum stop growing, however many more are added? `"fours"` means that each number is 4.
""",
    hints=(
        "A type with p binary digits has every whole number up to 2ᵖ, and the next one is missing.",
        "float16 has 11 digits, bfloat16 8, float32 24, the leading one counted.",
        "2ᵖ + 1 lies halfway between two numbers, and a tie is rounded to the even one, which is 2ᵖ "
        "again. With fours, everything is four times as large.",
    ),
    analysis="""
Rounding to nearest, ties to even: 2,048 + 1 = 2,049 lies between 2,048 and 2,050, and goes to 2,048.
In float32 the same happens at 16,777,216, which a row of ones of that length would show.
""",
    entry="stops_at",
    groups=(
        answers(
            RIGHT,
            MISCONCEPTIONS,
            name="Where sums stop",
            look_at="Which is the first whole number that the type does not have?",
        ),
    ),
)
