"""Exercise week0/count_wavefronts: the wavefronts of four reads, predicted from their indices."""

from forgekit.lessons.exercise import Exercise
from forgekit.lessons.gates import answers

RIGHT = {"s[2 * i]": 2, "s[3 * i]": 1, "s[16 * i]": 16, "s[i // 4]": 1}
MISCONCEPTIONS = {
    ("s[2 * i]", 1): "lanes 0 and 16 read words 0 and 32, which are in the same bank.",
    ("s[2 * i]", 16): "16 is the number of banks that serve the read. How many words does each "
    "bank serve?",
    ("s[2 * i]", 32): "only words whose distance is a multiple of 32 share a bank.",
    ("s[3 * i]", 3): "an odd stride visits all 32 banks before it returns to the first.",
    ("s[3 * i]", 32): "only words whose distance is a multiple of 32 share a bank.",
    ("s[16 * i]", 2): "2 is the number of banks that serve the read. How many words does each "
    "bank serve?",
    ("s[16 * i]", 32): "word 0 is in bank 0, and word 16 is in bank 16. They do not conflict.",
    ("s[i // 4]", 4): "four lanes read the same *word*, which their bank serves once.",
    ("s[i // 4]", 8): "8 is the number of different words. How many of them share a bank?",
}

EXERCISE = Exercise(
    title="predict what four reads cost",
    task="""
Lanes `i = 0 … 31` of a warp read float32 elements of `s`, an array in shared memory that begins in
bank 0. How many wavefronts does each read take?
""",
    hints=(
        "Word number w is in bank w % 32. Write down the banks from which lanes 0, 1, 2, … read, "
        "until a bank repeats.",
        "Find the bank that has to serve the most different words, and count those words.",
        "With a stride of 16, the lanes read from only two banks, so each bank serves half of the "
        "lanes. Lanes that read the same word count once.",
    ),
    analysis="""
With a stride of 2, each of 16 banks serves two words; with a stride of 16, each of two banks serves
16 words. An odd stride uses all 32 banks, which is why a pitch of 33 helps. Lanes that read the
same word share one wavefront.
""",
    entry="wavefronts",
    groups=(
        answers(
            RIGHT,
            MISCONCEPTIONS,
            name="Wavefronts per read",
            look_at="Draw 32 boxes for the banks and write the word of each lane into its box.",
        ),
    ),
)
