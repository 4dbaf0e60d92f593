"""Wrong answers to week0/read_the_report."""

from forgekit.lessons.wrong import Wrong

WRONG = (
    Wrong("worst counter first", {'"begin with": "B"': '"begin with": "C"'}, "32 sectors where 4"),
    Wrong("warps for time", {"529 / 141": "8"}, "eight times as many warps do not make a kernel"),
    Wrong("upside down", {"529 / 141": "141 / 529"}, "Divide the old time by the new one"),
    Wrong("the increase", {"529 / 141": "2.75"}, "that is the *increase*"),
    Wrong("one decimal", {"529 / 141": "3.8"}, "give two decimals"),
    Wrong("a text", {"529 / 141": '"3.75"'}, "is not a number. Write it without quotes"),
    Wrong("in percent", {"529 / 141": "375"}, "that is a percentage"),
    Wrong("another word", {'"A": "conflicts"': '"A": "conflict"'},
          "'conflict' is not one of: \"sectors\", \"conflicts\""),
    Wrong("no such kernel", {'"begin with": "B"': '"begin with": "turn"'},
          "'turn' is not one of: \"A\""),
    Wrong("two at once", {'"A": "conflicts"': '"A": "lanes"', '"E": "nothing"': '"E": "conflicts"'},
          "2 of 5 answers are not right"),
    Wrong("rounded up", {
        "529 / 141": "3.76",
    }, "3.76 is not right"),
)  # fmt: skip
