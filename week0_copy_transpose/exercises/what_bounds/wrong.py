"""Wrong answers to week0/what_bounds."""

from forgekit.lessons.wrong import Wrong

WRONG = (
    Wrong("the largest number", {'"A": "start of blocks"': '"A": "issue slots"'},
          "issue slots would take 8 µs for A"),
    Wrong("all of memory", {'"C": "L2 cache"': '"C": "device memory"'},
          "device memory would take 13 µs for C"),
    Wrong("another word", {'"B": "shared memory"': '"B": "banks"'}, "'banks' is not one of"),
    Wrong("two at once", {'"A": "start of blocks"': '"A": "device memory"',
                          '"B": "shared memory"': '"B": "issue slots"'},
          "2 of 4 answers are not right"),
)  # fmt: skip
