"""Wrong solutions of week1/stops_growing."""

from forgekit.lessons.wrong import Wrong

WRONG = (
    Wrong(
        "largest number", {'float16, ones": 2048': 'float16, ones": 65504'}, "the largest float16"
    ),
    Wrong(
        "a digit too few",
        {'"float16, ones": 2048': '"float16, ones": 1024'},
        "1,025 is one of them",
    ),
    Wrong(
        "a digit too many",
        {'"float16, ones": 2048': '"float16, ones": 4096'},
        "only even numbers exist",
    ),
    Wrong("seven digits", {": 256": ": 128"}, "the first of which is not stored"),
    Wrong("the other type", {": 256": ": 2048"}, "that is float16"),
    Wrong("fours as ones", {": 8192": ": 2048"}, "what is added is larger"),
    Wrong("fours divided", {": 8192": ": 512"}, "gets four times as far"),
    Wrong("23 digits", {"16_777_216": "8_388_608"}, "of which 23 are stored"),
    Wrong("integer", {"16_777_216": "4_294_967_296"}, "a 32-bit integer"),
)
