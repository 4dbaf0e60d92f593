"""Wrong answers to week1/bytes_in_flight."""

from forgekit.lessons.wrong import Wrong

NEEDED = '"MB in flight for 4.8 TB/s": '

WRONG = (
    Wrong(
        "half of the rate",
        {NEEDED + "1.92": NEEDED + "0.96"},
        "not at half of that rate as a copy does",
    ),
    Wrong("divided", {NEEDED + "1.92": NEEDED + "12000.0"}, "a rate *times* a time"),
    Wrong("in kB", {NEEDED + "1.92": NEEDED + "1920.0"}, "the number of kB"),
)
