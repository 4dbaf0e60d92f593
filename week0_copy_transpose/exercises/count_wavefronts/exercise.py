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
The 32 lanes `i` of a warp read float32 elements of `s`, a row in shared memory that begins in
bank 0. How many wavefronts does each read take?
""",
    hints=(
        "Word number w is in bank w % 32. Write down the banks of lanes 0, 1, 2, … until a bank "
        "repeats.",
        "Find the bank from which the lanes need the most different words, and count those words.",
        "With a stride of 16 all lanes read from two banks, so half of the lanes share one bank. "
        "Lanes that read the same word count once.",
    ),
    analysis="""
A stride of 2 uses 16 banks, each for two words; a stride of 16 uses two banks, each for 16
words. An odd stride uses all 32 banks, which is why a pitch of 33 helps. Lanes that read the
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
