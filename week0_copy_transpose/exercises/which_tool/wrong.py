"""Wrong answers to week0/which_tool."""

from forgekit.lessons.wrong import Wrong

WRONG = (
    Wrong("a function for a tool", {'"global race": "virtual GPU"': '"global race": "fk.sanitize"'},
          "'fk.sanitize' is not one of: \"virtual GPU\", \"ncu\""),
    Wrong("a long name", {'"stalls": "ncu"': '"stalls": "Nsight Systems"',
                          '"memcpy": "nsys"': '"memcpy": "Nsight Systems"'},
          "1 of 7 answers is not right. Why: nsys shows"),
    Wrong("two at once", {'"stalls": "ncu"': '"stalls": "nsys"',
                          '"memcpy": "nsys"': '"memcpy": "ncu"'},
          "2 of 7 answers are not right. Why: the first wrong answer: nsys shows"),
)  # fmt: skip
