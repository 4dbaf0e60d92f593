"""Exercise week2/overflows: where exponentials and their sums overflow."""

from forgekit.lessons.exercise import Exercise
from forgekit.lessons.gates import answers

NINES = "float16: fewest 9s whose exponentials add up to inf"
BIG = "float32: fewest 88s whose exponentials add up to inf"
THOUSAND = "float16: largest integer x for which 1,000 exponentials exp(x) have a finite sum"
BOTH = "float32: the weights of [-200, -200]"
LEFT = "float32: the weight of the 0 in [0, 100]"
RIGHT_ONE = "float32: the weight of the 100 in [0, 100]"
LOW = "float32: the weight of the -200 in [0, -200]"

MISCONCEPTIONS = {
    (NINES, 8): "8 · 8,103 = 64,824 is still below 65,504.",
    (NINES, 10): "9 · 8,103 already exceeds 65,504.",
    (NINES, 3): "that is the answer for elements of 10, whose exponentials are e times as large.",
    (BIG, 2): "e⁸⁸ is 1.65 · 10³⁸: twice that is below 3.40 · 10³⁸.",
    (BIG, 1): "88 is the last whole number whose exponential is finite.",
    (
        THOUSAND,
        11,
    ): "that is the answer for one element. Here each may contribute a thousandth of 65,504.",
    (THOUSAND, 5): "e⁵ is 148, and a thousand of them exceed 65,504.",
    (THOUSAND, 3): "e⁴ is 54.6: a thousand of them are 54,600.",
    (BOTH, 0.5): "that is correct in exact arithmetic. What is exp(-200) in float32?",
    (BOTH, 0): "both exponentials are 0, and so is their sum: what is 0/0?",
    (LEFT, "nan"): "its own exponential is 1, which is finite: what is 1/inf?",
    (LEFT, 1): "the sum is not 1, because it contains exp(100).",
    (RIGHT_ONE, 1): "the exact weight rounds to 1, but in float32 it is inf/inf.",
    (RIGHT_ONE, "inf"): "the numerator is inf, but so is the sum: what is inf/inf?",
    (LOW, "nan"): "nothing overflows, and the sum is 1: 0/1 is a number.",
}

EXERCISE = Exercise(
    title="predict where softmax overflows",
    task="""
This softmax subtracts nothing: a weight is `exp(x)` divided by the sum of all `exp(x)`, and every
intermediate result is rounded to the type in question. Answer each line with a number or with `"nan"`.
(e⁴ is 54.6, e⁹ is 8,103, and e⁸⁸ is 1.65 · 10³⁸. The largest float16 is 65,504, and the largest float32 is
3.40 · 10³⁸.)
""",
    hints=(
        "A sum overflows when it exceeds the largest number of its type. Divide that number by one term.",
        "inf behaves like a number: 1/inf is 0. Only inf/inf, 0/0 and inf - inf are NaN.",
        "For the last four lines, first write down both exponentials in float32 and their sum; below -104 an exponential is 0. Then divide.",
    ),
    analysis="""
The trap is the row `[0, 100]`: the weight of the 0, exactly 3.7 · 10⁻⁴⁴, is correct up to rounding, but the
weight of the 100 is NaN. The last line shows that an element far *below* the others is harmless: 0 is its
correct weight, up to rounding.
""",
    entry="ends",
    groups=(
        answers(
            {NINES: 9, BIG: 3, THOUSAND: 4, BOTH: "nan", LEFT: 0, RIGHT_ONE: "nan", LOW: 0},
            MISCONCEPTIONS,
            name="Overflow",
            look_at="Which exponential is inf or 0, and what is their sum?",
        ),
    ),
    praise="You know where exponentials overflow.",
)
