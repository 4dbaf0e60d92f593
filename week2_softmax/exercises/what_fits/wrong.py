"""Wrong answers to week2/what_fits."""

from forgekit.lessons.wrong import Wrong

KB = '"kB of a row in shared memory": '
VECTORS = '"vectors in flight per thread": '

WRONG = (
    Wrong("elements", {KB + "96": KB + "24"}, "each takes 4 bytes"),
    Wrong("both matrices", {KB + "96": KB + "192"}, "only x is in shared memory"),
    Wrong("elements for vectors", {VECTORS + "24": VECTORS + "96"}, "a vector has four"),
)  # fmt: skip
