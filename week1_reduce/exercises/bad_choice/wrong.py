"""Wrong solutions to week1/bad_choice."""

from forgekit.lessons.wrong import Wrong

WRONG = (
    Wrong("256 threads for 32 vectors", {'262,144 × 128 float32": "idle lanes"':
                                         '262,144 × 128 float32": "nothing"'},
          "How many of 256 threads"),
    Wrong("another word", {'"needless parts"': '"too many"'}, "is not one of"),
    Wrong("all the same", {'128 float32": "idle lanes"': '128 float32": "too few blocks"',
                           '"needless parts"': '"too few blocks"'}, "one block for each of the 262,144"),
)  # fmt: skip
