"""Wrong solutions to week0/tiles_to_rows."""

from forgekit.lessons.wrong import Wrong

PLACE = "gX[((k // 4, k % 4), t)]"
WRONG = (
    Wrong("fractions lost", {PLACE: PLACE + ".to(cutlass.Int32).to(mY.element_type)",
          "@cute.kernel\n": "import cutlass\n\n\n@cute.kernel\n"}, "got 0, expected -0.5"),
    Wrong("no predicate", {"i < cute.size(mY)": "i >= 0"}, "Out of bounds"),
    Wrong("down the columns", {PLACE: "gX[((k % 2, k // 2), t)]"}, "the elements are counted down"),
    Wrong("along the rows of tiles",
          {PLACE: "gX[((k // 4, k % 4), (t // gX.shape[1][1], t % gX.shape[1][1]))]"},
          "tile 1 is beside tile 0"),
    Wrong("turned tile", {"(2, 4)": "(1, 8)", PLACE: "gX[((0, k), t)]"}, "WRONG mY:"),
    Wrong("one block per tile", {"grid=(blocks": "grid=(mY.shape[0]"}, "asks for one thread per element"),
    Wrong("one thread per tile",
          {"if i < cute.size(mY):\n        t, k = i // 8, i % 8\n        mY[t, k] = " + PLACE:
           "if i < mY.shape[0]:\n        for k in range(8):\n            mY[i, k] = "
           "gX[((k // 4, k % 4), i)]"},
          "4,096 shares, but the kernel loads it with 512 threads, in"),
    Wrong("tiles by arithmetic",
          {"    gX = cute.zipped_divide(mX, (2, 4))  # ((2,4),(RestM,RestN))\n": "",
           "tiles_to_rows_kernel(gX, mY).launch": "tiles_to_rows_kernel(mX, mY).launch",
           PLACE: "gX[t % (gX.shape[0] // 2) * 2 + k // 4, t // (gX.shape[0] // 2) * 4 + k % 4]"},
          "No kernel receives a tensor that is divided"),
    Wrong("tiles that the kernel does not use",
          {"(gX: cute.Tensor, mY": "(gX: cute.Tensor, mX: cute.Tensor, mY", "kernel(gX, mY)": "kernel(gX, mX, mY)",
           PLACE: "mX[t % (mX.shape[0] // 2) * 2 + k // 4, t // (mX.shape[0] // 2) * 4 + k % 4]"},
          "receives 3 tensors; needed 2"),
    Wrong("one thread too many in the number of blocks",
          {"bidx * 128 + tidx": "bidx * 256 + tidx", "(128, 1, 1)": "(256, 1, 1)", "cute.size(mY), 128": "cute.size(mY), 257"},
          "no thread stores 8 of the 2,056 elements"),
    Wrong("half of the threads, two elements each",
          {"    i = bidx * 128 + tidx\n    if i < cute.size(mY):\n": "    for i in range(bidx * 128 + tidx, cutlass.min(bidx * 128 + 128, cute.size(mY)), 64):\n      if tidx < 64:\n",
           "@cute.kernel\n": "import cutlass\n\n\n@cute.kernel\n"},
          "4,096 shares, but the kernel loads it with 2,048 threads, in"),
)  # fmt: skip
