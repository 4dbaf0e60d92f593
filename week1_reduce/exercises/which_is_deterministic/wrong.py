"""Wrong answers of week1/which_is_deterministic."""

from forgekit.lessons.wrong import Wrong

WRONG = (
    Wrong(
        "atomic float",
        {
            '"float32, one atomic_add of a block": "may differ"': '"float32, one atomic_add of a block": "same bits"'
        },
        "decided again",
    ),
    Wrong(
        "atomic int",
        {
            '"int32, one atomic_add of a block": "same bits"': '"int32, one atomic_add of a block": "may differ"'
        },
        "without rounding",
    ),
    Wrong(
        "atomic maximum",
        {'"float32 maximum, atomic": "same bits"': '"float32 maximum, atomic": "may differ"'},
        "it is one of the numbers",
    ),
    Wrong(
        "second launch",
        {
            '"parts in memory, added by a second launch": "same bits"': '"parts in memory, added by a second launch": "may differ"'
        },
        "in an order of its own",
    ),
    Wrong(
        "last block",
        {
            '"parts in memory, added by the last block": "same bits"': '"parts in memory, added by the last block": "may differ"'
        },
        "whoever it is",
    ),
    Wrong(
        "order of counting",
        {
            '"the last block adds the parts in the order in which they were counted": "may differ"': '"the last block adds the parts in the order in which they were counted": "same bits"'
        },
        "in which blocks have ended",
    ),
    Wrong(
        "a million",
        {
            '"float32 sum of whole numbers below 1,000, atomic, a million of them": "may differ"': '"float32 sum of whole numbers below 1,000, atomic, a million of them": "same bits"'
        },
        "How far do whole numbers go",
    ),
    Wrong(
        "cluster",
        {
            '"cluster, parts in an array by rank": "same bits"': '"cluster, parts in an array by rank": "may differ"'
        },
        "after the barrier",
    ),
    Wrong(
        "a word of its own",
        {'"float32 maximum, atomic": "same bits"': '"float32 maximum, atomic": "yes"'},
        "is not one of",
    ),
)
