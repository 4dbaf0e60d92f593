"""Exercise week2/which_arch: the code that the compiler emits for each GPU."""

from forgekit.lessons.exercise import Exercise
from forgekit.lessons.gates import choices

WORDS = ("sm_80", "sm_90a", "sm_100a")

RIGHT = {
    "lanes exchange maxima without shared memory": "sm_80",
    "a row of 20,480 float32 is copied without passing through registers": "sm_80",
    "a row of 65,536 float32 is read once": "sm_90a",
    "a barrier counts bytes": "sm_90a",
    "a block writes to another block's shared memory": "sm_90a",
    "the maximum of 8 registers takes 4 instructions": "sm_100a",
    "a lane subtracts from 8 elements in 4 instructions": "sm_100a",
    "exp2 is one instruction": "sm_80",
}
LANES, STAGED, ONCE, BYTES, OTHERS, MAXIMUM, SUBTRACT, EXP2 = RIGHT
SHUFFLES = "`shfl.sync.bfly` is in all three columns of the first table."
COPIES = "for 20,480 elements, the count of `cp.async` on sm_80 is not 0."
STREAMS = "the kernel for sm_80 loads every sector of x twice: it reads the row twice."
HOPPER = "for 65,536 elements, the count of `{}` on sm_90a is not 0."
THREE = "the count of `max.NaN.f32` is 7 for both sm_80 and sm_90a."
TWO = "the count of `sub.f32` is 8 for both sm_80 and sm_90a."
ONE = "`ex2.approx` is in all three columns once per element."

EXERCISE = Exercise(
    title="find the oldest GPU for each feature",
    task="""
Each line describes something that a softmax may do. For each, name the oldest of the three architectures
`"sm_80"`, `"sm_90a"` and `"sm_100a"` whose code does this. The tables above contain every answer.
""",
    hints=(
        "For each line, find its instruction, then the oldest architecture for which a table contains it.",
        "`mbarrier.arrive.expect_tx` announces bytes to a barrier, `st.async` and `mapa` "
        "access another block's shared memory, and `x2` means two numbers per instruction.",
        "For the row that is read once, use the column `× read` of the last table. For the maximum of 8 registers, look at the count of `max.NaN.f32` in the short kernel, whose lanes have 8 elements each.",
    ),
    analysis="""
The differences are of two kinds. sm_90 added *features* that a kernel has to request: clusters, and barriers that
count bytes. A kernel that requests neither of them compiles to the same instructions for sm_80 and sm_90a. sm_100
added *instructions* that the compiler uses for the same source: two float32 operations per instruction, and the
maximum of three numbers. The host chooses the way before it compiles anything.
""",
    entry="oldest",
    groups=(
        choices(
            RIGHT,
            WORDS,
            {
                (LANES, "sm_90a"): SHUFFLES,
                (LANES, "sm_100a"): SHUFFLES,
                (STAGED, "sm_90a"): COPIES,
                (STAGED, "sm_100a"): COPIES,
                (ONCE, "sm_80"): STREAMS,
                (ONCE, "sm_100a"): "for 65,536 elements, `× read` is also 1.00 for sm_90a.",
                (BYTES, "sm_80"): "on sm_80 a thread waits for groups of `cp.async`; barriers there do not count bytes.",
                (BYTES, "sm_100a"): HOPPER.format("expect_tx"),
                (OTHERS, "sm_80"): "sm_80 has no clusters: a block can access only its own shared memory.",
                (OTHERS, "sm_100a"): HOPPER.format("st.async"),
                (MAXIMUM, "sm_80"): THREE,
                (MAXIMUM, "sm_90a"): THREE,
                (SUBTRACT, "sm_80"): TWO,
                (SUBTRACT, "sm_90a"): TWO,
                (EXP2, "sm_90a"): ONE,
                (EXP2, "sm_100a"): ONE,
            },
            name="Eight things",
            look_at="Read this section's tables column by column.",
        ),
    ),
    praise="You know which features a kernel must request.",
)  # fmt: skip
