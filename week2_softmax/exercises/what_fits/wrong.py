"""Wrong answers to week2/what_fits."""

from forgekit.lessons.wrong import Wrong

KB = '"kB of a row in shared memory": '
EXPECTED = '"bytes that an mbarrier expects, 8 blocks of 8 warps": '
VECTORS = '"vectors in flight per thread": '

WRONG = (
    Wrong("elements", {KB + "96": KB + "24"}, "each takes 4 bytes"),
    Wrong("both matrices", {KB + "96": KB + "192"}, "only x is in shared memory"),
    Wrong("one byte per warp", {EXPECTED + "512": EXPECTED + "64"}, "all 64 warps of the cluster send a pair of 8 bytes"),
    Wrong("elements for vectors", {VECTORS + "24": VECTORS + "96"}, "a vector has four"),
)  # fmt: skip
