"""Wrong answers to week1/which_is_deterministic."""

from forgekit.lessons.wrong import Wrong

WRONG = (
    Wrong(
        "atomic float",
        {
            '"float32, one atomic_add per block": "may differ"': '"float32, one atomic_add per block": "same bits"'
        },
        "a different order",
    ),
    Wrong(
        "atomic int",
        {
            '"int32, one atomic_add per block": "same bits"': '"int32, one atomic_add per block": "may differ"'
        },
        "additions do not round",
    ),
    Wrong(
        "a word of its own",
        {'"float32 maximum, atomic": "same bits"': '"float32 maximum, atomic": "yes"'},
        "is not one of",
    ),
)
