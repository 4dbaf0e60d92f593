"""Wrong solutions to week1/stops_growing."""

from forgekit.lessons.wrong import Wrong

WRONG = (
    Wrong(
        "largest number", {'float16, ones": 2048': 'float16, ones": 65504'}, "the largest float16"
    ),
    Wrong(
        "a digit too few",
        {'"float16, ones": 2048': '"float16, ones": 1024'},
        "1,025 is a float16",
    ),
    Wrong(
        "a digit too many",
        {'"float16, ones": 2048': '"float16, ones": 4096'},
        "only even numbers exist",
    ),
    Wrong("one less", {'"float16, ones": 2048': '"float16, ones": 2047'}, "2047 is not right"),
)
