"""Wrong answers of week0/read_the_report."""

from tests.lessons.bank import Wrong

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
    Wrong("upside down", {"529 / 141": "141 / 529"}, "the old time over the new"),
)  # fmt: skip
