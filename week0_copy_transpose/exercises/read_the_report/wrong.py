"""Wrong answers of week0/read_the_report."""

from forgekit.lessons.wrong import Wrong

WRONG = (
    Wrong("one sector is few", {'"D": "lanes"': '"D": "sectors"'}, "eight lanes ask for 32 bytes"),
    Wrong("noise is conflicts", {'"E": "nothing"': '"E": "conflicts"'}, "a shared load of E takes"),
    Wrong("B looks fine", {'"B": "occupancy"': '"B": "nothing"'}, "B takes 529 µs for what"),
    Wrong("no shared memory", {'"C": "sectors"': '"C": "conflicts"'}, "does not use shared memory"),
    Wrong("achieved for theoretical", {'"C": "sectors"': '"C": "occupancy"'},
          "may hold 100 % of its warps with C"),
    Wrong("lanes of A", {'"A": "conflicts"': '"A": "lanes"'}, "in an instruction of A 32 lanes"),
    Wrong("sectors of A", {'"A": "conflicts"': '"A": "sectors"'}, "A moves 4 sectors a load"),
    Wrong("worst counter first", {'"begin with": "B"': '"begin with": "C"'}, "32 sectors where 4"),
    Wrong("warps for time", {"529 / 141": "8"}, "eight times the warps do not make it"),
    Wrong("upside down", {"529 / 141": "141 / 529"}, "the old time / the new one"),
    Wrong("the increase", {"529 / 141": "2.75"}, "that is the *increase*"),
    Wrong("one decimal", {"529 / 141": "3.8"}, "asked are two decimals"),
    Wrong("a text", {"529 / 141": '"3.75"'}, "is no number: write it without quotes"),
    Wrong("in percent", {"529 / 141": "375"}, "that is in percent"),
    Wrong("another word", {'"A": "conflicts"': '"A": "conflict"'},
          "'conflict' is not one of: \"sectors\", \"conflicts\""),
    Wrong("no such kernel", {'"begin with": "B"': '"begin with": "turn"'},
          "'turn' is not one of: \"A\""),
    Wrong("two at once", {'"A": "conflicts"': '"A": "lanes"', '"E": "nothing"': '"E": "conflicts"'},
          "2 of 5 are not right"),
)  # fmt: skip
