"""Wrong solutions to week1/any_block."""

from forgekit.lessons.wrong import Wrong

WRONG = (
    Wrong("as given", {"(left + 1) // 2": "left // 2", "if tidx < left - half:": "if tidx < half:"},
          "the third is missing from the sum"),
    Wrong("rounded up, all of them add", {"if tidx < left - half:": "if tidx < half:"},
          "adds a word that an earlier round"),
    Wrong("never the first", {"tidx < left - half": "tidx > 0 and tidx < left - half"},
          "only the sum of thread 0"),
    Wrong("the last word added in the same round", {"(left + 1) // 2": "left // 2", "if tidx < left - half:": "if tidx < half:",
          "sSum[tidx + half]\n": "sSum[tidx + half]\n        if tidx == half and left % 2 == 1:\n            sSum[0] += sSum[left - 1]\n"},
          "Looks like: when 3 words are left"),
    Wrong("one addition too few", {"tidx < left - half": "tidx < left - half - 1"}, "m = 2, n = 100, float32, the result"),
    Wrong("extra barrier", {"        left = half": "        cute.arch.sync_threads()\n        left = half"},
          "asks for at most 7 barriers"),
    Wrong("no barrier", {"        cute.arch.sync_threads()\n": ""}, "Race in shared memory"),
    Wrong("a warp per row", {"make_layout(96)": "make_layout(32)", "mX.shape[1], 96)": "mX.shape[1], 32)",
          "left = 96": "left = 32", "block=(96, 1, 1)": "block=(32, 1, 1)"}, "asks for 96 threads per block"),
    Wrong("64 of 96 threads", {
        "make_layout(96)": "make_layout(64)",
        "    total = Float32(0.0)\n    for n in range(tidx, mX.shape[1], 96):\n        total += mX[row, n].to(Float32)\n    sSum[tidx] = total\n    left = 96": "    if tidx < 64:\n        total = Float32(0.0)\n        for n in range(tidx, mX.shape[1], 64):\n            total += mX[row, n].to(Float32)\n        sSum[tidx] = total\n    left = 64",
    }, "Warps per block that share the loads: 2"),
    Wrong("words 8 bytes apart", {"make_layout(96), 16)": "make_layout(96, stride=2), 16)"}, "asks for no bank conflicts"),
)  # fmt: skip
