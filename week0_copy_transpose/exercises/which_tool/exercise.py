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
_NCU = "ncu stops the program at each kernel and runs the kernel 40 times alone. "
_VIRTUAL = "the virtual GPU has no clock, no caches and no busy memory: "
_WORDS = ("virtual GPU", "ncu", "nsys", "compute-sanitizer")
_NAMES = {"Nsight Compute": "ncu", "Nsight Systems": "nsys"}
_WATCHES = {  # the answer where no special one is known
    "virtual GPU": _VIRTUAL + "it runs only kernels that CuTe DSL compiles.",
    "ncu": "ncu counts and times a kernel; it does not check its accesses.",
    "nsys": "nsys knows when each kernel and each copy begins and ends, and nothing inside them.",
    "compute-sanitizer": "compute-sanitizer looks for mistakes; about a correct program it "
    "reports nothing.",
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
    ("crash of a C++ program", "ncu"): "a profiler expects a correct program, which would crash "
                                       "under ncu as well.",
    ("global race", "compute-sanitizer"): "racecheck watches shared memory only: see its report "
                                          "on race_global.",
    ("line without a GPU", "ncu"): "ncu reports it line by line, but it needs a GPU and "
                                   "permission to read its counters.",
    ("stalls", "nsys"): "nsys shows a kernel as one bar; ncu shows why its warps wait.",
    ("stalls", "virtual GPU"): _VIRTUAL + "so no warp waits for memory there.",
    ("memcpy", "ncu"): "ncu watches kernels, and a copy that PyTorch orders is not a kernel.",
    ("memcpy", "virtual GPU"): _VIRTUAL + "it has no copies between host and GPU.",
}  # fmt: skip

EXERCISE = Exercise(
    title="which tool answers it?",
    task="""
Write the tool that answers each question: `"virtual GPU"` (`fk.profile`, `fk.sanitize`), `"ncu"`,
`"nsys"` or `"compute-sanitizer"`. Each question has one right answer.

| key | question |
|---|---|
| `idle between` | A training step takes 40 ms, its kernels 10 ms together. Where is the rest? |
| `DRAM percent` | How close is this kernel to the bandwidth of this GPU's memory? |
| `crash of a C++ program` | A program in C++ ends with "an illegal memory access". Where? |
| `global race` | Does a block of my kernel read what another may not have written yet? |
| `line without a GPU` | Which line of my kernel has bank conflicts? I have a laptop. |
| `stalls` | All counters are ideal and the kernel is slow. What do its warps wait for? |
| `memcpy` | Does the program copy a tensor to the host in every step? |
""",
    hints=(
        "Ask what each tool watches: a kernel's instructions (on the virtual GPU or on a real "
        "one), a kernel's time, a program's time, or a program's mistakes.",
        "Two questions concern events *outside* of kernels, and only one tool looks there.",
        "nsys, ncu and the virtual GPU each answer two questions. compute-sanitizer answers one: "
        "the question about a mistake in a program that is not written in CuTe DSL.",
    ),
    analysis="""
nsys shows the whole program and names the parts worth a look. ncu takes one kernel apart.
compute-sanitizer finds wrong accesses of any program. The virtual GPU counts and checks CuTe DSL
kernels line by line, exactly, without a GPU; it does not measure time.
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
