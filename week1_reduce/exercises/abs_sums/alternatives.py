"""Other correct solutions to week1/abs_sums."""

from forgekit.lessons.wrong import Wrong

ALTERNATIVES = (
    Wrong("lane 0 adds what is left over", {"    j = n // vec * vec + lane\n    if j < n and j // 1024 == piece:\n"
          "        value = mX[j].to(Float32)\n        total += cute.arch.fmax(value, -value)\n":
          "    if lane == 0 and n // 1024 == piece:\n        for j in range(n // vec * vec, n):\n"
          "            value = mX[j].to(Float32)\n            total += cute.arch.fmax(value, -value)\n"}),
    Wrong("eight pieces per block", {
        "bidx * 4 + tidx // 32": "bidx * 8 + tidx // 32",
        "mY.shape[0], 4)": "mY.shape[0], 8)",
        "(128, 1, 1)": "(256, 1, 1)",
    }),
)  # fmt: skip
