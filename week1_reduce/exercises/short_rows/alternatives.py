"""Other right solutions of week1/short_rows."""

from forgekit.lessons.wrong import Wrong

ALTERNATIVES = (
    Wrong("shuffles by hand", {"    total = cute.arch.warp_reduction(total, operator.add, threads_in_group=8)\n":
          "    for k in range(3):\n        total += cute.arch.shuffle_sync_bfly(total, offset=4 >> k)\n"}),
)  # fmt: skip
