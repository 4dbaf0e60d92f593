"""Exercise week2/which_arch: what the compiler emits for which GPU."""

from forgekit.lessons.exercise import Exercise
from forgekit.lessons.gates import choices

WORDS = ("sm_80", "sm_90a", "sm_100a")

RIGHT = {
    "lanes exchange maxima without shared memory": "sm_80",
    "a row of 20,480 float32 is copied past the registers": "sm_80",
    "a row of 65,536 float32 is read once": "sm_90a",
    "a barrier counts bytes": "sm_90a",
    "a block writes to another block's shared memory": "sm_90a",
    "8 registers have their maximum in 4 instructions": "sm_100a",
    "a lane subtracts from 8 elements in 4 instructions": "sm_100a",
    "exp2 is one instruction": "sm_80",
}
LANES, STAGED, ONCE, BYTES, OTHERS, MAXIMUM, SUBTRACT, EXP2 = RIGHT
SHUFFLES = "`shfl.sync.bfly` stands in all three columns of the first table."
COPIES = "`cp.async` has a number in the rows of 20,480, from the first architecture on."
STREAMS = "the kernel for sm_80 loads 2 sectors where 1 would do: it reads the row twice."
LATER = "it stands in two of the three columns."
THREE = "there are 7 `max.NaN.f32` for sm_80 and for sm_90a."
TWO = "there are 8 `sub.f32` for sm_80 and for sm_90a."
ONE = "`ex2.approx` stands in all three columns, once an element."

EXERCISE = Exercise(
    title="say what needs which GPU",
    task="""
Eight things that a softmax may do. For which of the three architectures, `"sm_80"`, `"sm_90a"`,
`"sm_100a"`, does the compiler do each of them first, in the order of time? The tables above have it
all.
""",
    hints=(
        "For each, find the instruction that does it, then the first column in which it stands.",
        "`mbarrier.arrive.expect_tx` tells a barrier of bytes, `st.async` and `mapa` are about another "
        "block's shared memory, `x2` is about two numbers at once.",
        "For the row that is read once, the last table has the bytes; for the maximum of 8 registers, "
        "count `max.NaN.f32` in the table of the short kernel, where a lane has 8.",
    ),
    analysis="""
Three kinds of difference. sm_90 added *ways* that a kernel has to ask for: clusters, barriers that
count bytes. A kernel that asks for none of them compiles to the same PTX for sm_80 and sm_90a.
sm_100 added *instructions* that the compiler takes by itself, in the same source: two float32
operations at once, the maximum of three. And which way is taken is a decision of the host, made
before anything is compiled.
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
                (ONCE, "sm_100a"): LATER,
                (BYTES, "sm_80"): "`cp.async` there is waited for by its groups; no barrier knows of it.",
                (BYTES, "sm_100a"): LATER,
                (OTHERS, "sm_80"): "sm_80 has no clusters: a block sees its own shared memory only.",
                (OTHERS, "sm_100a"): LATER,
                (MAXIMUM, "sm_80"): THREE,
                (MAXIMUM, "sm_90a"): THREE,
                (SUBTRACT, "sm_80"): TWO,
                (SUBTRACT, "sm_90a"): TWO,
                (EXP2, "sm_90a"): ONE,
                (EXP2, "sm_100a"): ONE,
            },
            name="Eight things",
            look_at="The tables of this section, column by column.",
        ),
    ),
    praise="Ways to ask for, and instructions that come by themselves.",
)  # fmt: skip
