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
_NCU = "ncu stops the program at each kernel and runs that one 40 times by itself: what happens "
_VIRTUAL = "the virtual GPU has no clock, no caches and no memory that could be busy: "
_WORDS = ("virtual GPU", "ncu", "nsys", "compute-sanitizer")
_NAMES = {"Nsight Compute": "ncu", "Nsight Systems": "nsys"}
_WATCHES = {  # what is said where nothing more special is known
    "virtual GPU": _VIRTUAL + "it knows what CuTe DSL compiles, and nothing else.",
    "ncu": "ncu counts and times what a kernel does; whether an access is right it does not ask.",
    "nsys": "nsys knows when each kernel and each copy began and ended, and nothing of what "
    "happens inside.",
    "compute-sanitizer": "compute-sanitizer looks for mistakes; of what a correct program does it "
    "says nothing.",
}
_SLIPS = {
    **{(question, tool): _WATCHES[tool]
       for question, right in _RIGHT.items() for tool in _WORDS if tool != right},
    ("idle between", "ncu"): _NCU + "*between* kernels is just what it does away with.",
    ("idle between", "virtual GPU"): _VIRTUAL + "between two kernels nothing happens at all.",
    ("DRAM percent", "nsys"): "nsys knows when a kernel began and ended, and not what it did; the "
    "counters of memory are ncu's.",
    ("DRAM percent", "virtual GPU"): _VIRTUAL + "it counts what is asked for, not how fast it "
    "comes.",
    ("crash of a C++ program", "virtual GPU"): "the virtual GPU runs what CuTe DSL compiles, and "
    "this is a program in C++.",
    ("crash of a C++ program", "ncu"): "a profiler believes that the program is right; it would "
    "crash under ncu as well.",
    ("global race", "compute-sanitizer"): "racecheck watches shared memory alone: see what it said "
    "of race_global.",
    ("line without a GPU", "ncu"): "ncu says it line by line, but it needs a GPU, and the right to "
    "read its counters.",
    ("stalls", "nsys"): "nsys sees a kernel as one bar; why its warps wait is a question for ncu.",
    ("stalls", "virtual GPU"): _VIRTUAL + "so nothing ever waits for it.",
    ("memcpy", "ncu"): "ncu looks at kernels; a copy that PyTorch orders is none.",
    ("memcpy", "virtual GPU"): _VIRTUAL + "copies between host and GPU do not exist on it.",
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
