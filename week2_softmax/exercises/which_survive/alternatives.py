"""Other correct solutions to week2/which_survive."""

from forgekit.lessons.wrong import Wrong

ALTERNATIVES = (
    Wrong("NaN as a number", {'"the mean: [-inf, 0]": "NaN"': '"the mean: [-inf, 0]": float("nan")'}),
)  # fmt: skip
