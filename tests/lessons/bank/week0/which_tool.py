"""Wrong answers of week0/which_tool."""

from tests.lessons.bank import Wrong

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
)  # fmt: skip
