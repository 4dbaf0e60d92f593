"""Wrong answers of week1/bytes_in_flight."""

from forgekit.lessons.wrong import Wrong

NEEDED = '"MB in flight for 4.8 TB/s": '
EACH = '"kB in flight, each multiprocessor": '
ONE = '"GB/s of one warp, one load of 16 bytes a lane": '
FOUR = '"GB/s of one warp, four such loads": '
WARPS = '"warps that one multiprocessor needs, one such load each": '

WRONG = (
    Wrong("half of the rate", {NEEDED + "1.92": NEEDED + "0.96"}, "not half of it as in a copy"),
    Wrong("divided", {NEEDED + "1.92": NEEDED + "12000.0"}, "a rate *times* a time"),
    Wrong("in kB", {NEEDED + "1.92": NEEDED + "1920.0"}, "that is in kB"),
    Wrong("in bytes", {EACH + "14.5": EACH + "14545"}, "that is in bytes"),
    Wrong("not shared", {EACH + "14.5": EACH + "1.92"}, "all 132 multiprocessors share"),
    Wrong("one lane", {ONE + "1.28": ONE + "0.04"}, "that is one lane"),
    Wrong("four bytes", {ONE + "1.28": ONE + "0.32"}, "16 bytes, not for 4"),
    Wrong("loads take turns", {FOUR + "5.12": FOUR + "0.32"}, "do not take turns"),
    Wrong("loads count once", {FOUR + "5.12": FOUR + "1.28"}, "in the time of one"),
    Wrong("rounded down", {WARPS + "29": WARPS + "28"}, "a little too few"),
    Wrong("all that fit", {WARPS + "29": WARPS + "64"}, "Fewer will do"),
    Wrong("threads", {WARPS + "29": WARPS + "909"}, "that is in threads"),
)
