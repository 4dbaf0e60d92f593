"""Exercise week0/which_tool: from the question to the tool that can answer it."""

from __future__ import annotations

from forgekit.lessons.exercise import Exercise
from forgekit.lessons.gates import choices

__all__ = ["EXERCISE"]

_RIGHT = {
    "idle between": "nsys",
    "DRAM percent": "ncu",
    "crash of a C++ program": "compute-sanitizer",
    "global race": "virtual GPU",
    "line without a GPU": "virtual GPU",
    "stalls": "ncu",
    "memcpy": "nsys",
}
_NCU = "ncu stops the program at each kernel and runs the kernel 40 times by itself. "
_VIRTUAL = "the virtual GPU has no clock, no caches and no memory traffic: "
_WORDS = ("virtual GPU", "ncu", "nsys", "compute-sanitizer")
_NAMES = {"Nsight Compute": "ncu", "Nsight Systems": "nsys"}
_WATCHES = {  # the reply if there is no special one
    "virtual GPU": _VIRTUAL + "it runs only kernels that CuTe DSL compiles.",
    "ncu": "ncu counts and times a kernel; it does not check its accesses.",
    "nsys": "nsys knows when each kernel and each copy begins and ends, but nothing about what happens inside.",
    "compute-sanitizer": "compute-sanitizer looks for mistakes, so it reports nothing about a correct program.",
}
_SLIPS = {
    **{(question, tool): _WATCHES[tool]
       for question, right in _RIGHT.items() for tool in _WORDS if tool != right},
    ("idle between", "ncu"): _NCU + "That removes the time *between* kernels.",
    ("idle between", "virtual GPU"): _VIRTUAL + "it shows nothing between two kernels.",
    ("DRAM percent", "nsys"): "nsys knows when a kernel begins and ends; only ncu reads the "
                              "memory counters.",
    ("DRAM percent", "virtual GPU"): _VIRTUAL + "it counts accesses, not their speed.",
    ("crash of a C++ program", "virtual GPU"): "the virtual GPU runs the kernels that CuTe DSL "
                                               "compiles, and this program is in C++.",
    ("crash of a C++ program", "ncu"): "a profiler expects a correct program, but this one would "
                                       "crash under ncu as well.",
    ("global race", "compute-sanitizer"): "racecheck checks only shared memory. See its report on race_global.",
    ("line without a GPU", "ncu"): "ncu reports it line by line, but it needs a GPU and "
                                   "permission to read its counters.",
    ("stalls", "nsys"): "nsys shows a kernel as one bar. Only ncu shows why its warps wait.",
    ("stalls", "virtual GPU"): _VIRTUAL + "so no warp waits for memory there.",
    ("memcpy", "ncu"): "ncu watches kernels, but a copy that PyTorch requests is not a kernel.",
    ("memcpy", "virtual GPU"): _VIRTUAL + "it has no copies between host and GPU.",
}  # fmt: skip

EXERCISE = Exercise(
    title="choose the right tool",
    task="""
For each question, write the tool that answers it: `"virtual GPU"` (`fk.profile`, `fk.sanitize`),
`"ncu"`, `"nsys"` or `"compute-sanitizer"`. Each question has one correct answer.

| key | question |
|---|---|
| `idle between` | A training step takes 40 ms, its kernels only 10 ms. Where is the rest? |
| `DRAM percent` | How close is this kernel to the bandwidth of this GPU's memory? |
| `crash of a C++ program` | A C++ program ends with "an illegal memory access". Where is it? |
| `global race` | Does a block of my kernel read data that another may not have written yet? |
| `line without a GPU` | Which line of my kernel has bank conflicts? I have only a laptop. |
| `stalls` | All counters are ideal, but the kernel is slow. What do its warps wait for? |
| `memcpy` | Does the program copy a tensor to the host in every step? |
""",
    hints=(
        "Decide what each tool watches: a kernel's instructions (on the virtual GPU or on a real "
        "one), a kernel's time, a program's time, or a program's mistakes.",
        "Two questions are about events *outside* kernels, and only one tool observes those.",
        "nsys, ncu and the virtual GPU each answer two questions. compute-sanitizer answers only "
        "the question about a mistake in a program that is not written in CuTe DSL.",
    ),
    analysis="""
nsys shows the whole program and the parts that are worth a closer look. ncu analyses a single
kernel in detail. compute-sanitizer finds invalid accesses in any program. The virtual GPU counts
and checks CuTe DSL kernels exactly, line by line, and without a GPU, but it does not measure time.
""",
    entry="tools",
    groups=(
        choices(
            _RIGHT,
            _WORDS,
            _SLIPS,
            names=_NAMES,
            name="Tools",
            look_at="What did each tool show in this notebook?",
        ),
    ),
)
