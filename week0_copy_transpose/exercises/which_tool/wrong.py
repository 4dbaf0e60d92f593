"""Wrong answers of week0/which_tool."""

from forgekit.lessons.wrong import Wrong

WRONG = (
    Wrong("ncu for gaps", {'"idle between": "nsys"': '"idle between": "ncu"'}, "*between* kernels"),
    Wrong("no clock", {'"DRAM percent": "ncu"': '"DRAM percent": "virtual GPU"'}, "not how fast"),
    Wrong("C++ here", {'C++ program": "compute-sanitizer"': 'C++ program": "virtual GPU"'},
          "runs what CuTe DSL compiles"),
    Wrong("racecheck", {'"global race": "virtual GPU"': '"global race": "compute-sanitizer"'},
          "watches shared memory alone"),
    Wrong("needs a GPU", {'"line without a GPU": "virtual GPU"': '"line without a GPU": "ncu"'},
          "the right to read its counters"),
    Wrong("one bar", {'"stalls": "ncu"': '"stalls": "nsys"'}, "sees a kernel as one bar"),
    Wrong("a copy is no kernel", {'"memcpy": "nsys"': '"memcpy": "ncu"'}, "looks at kernels"),
    Wrong("a function for a tool", {'"global race": "virtual GPU"': '"global race": "fk.sanitize"'},
          "'fk.sanitize' is not one of: \"virtual GPU\", \"ncu\""),
    Wrong("a long name", {'"stalls": "ncu"': '"stalls": "Nsight Systems"',
                          '"memcpy": "nsys"': '"memcpy": "Nsight Systems"'},
          "1 of 7 is not right. Why: nsys sees"),
    Wrong("two at once", {'"stalls": "ncu"': '"stalls": "nsys"',
                          '"memcpy": "nsys"': '"memcpy": "ncu"'},
          "2 of 7 are not right. Why: of the first of them: nsys sees"),
    Wrong("a checker for times", {'"idle between": "nsys"': '"idle between": "compute-sanitizer"'},
          "compute-sanitizer looks for mistakes"),
)  # fmt: skip
