"""Wrong answers of week0/every_other."""

from forgekit.lessons.wrong import Wrong

RIGHT = "guess_sectors = 8"
WRONG = (
    Wrong("no gaps", {RIGHT: "guess_sectors = 4"}, "Every second word is skipped"),
    Wrong("a sector a thread", {RIGHT: "guess_sectors = 32"}, "that would be one sector a thread"),
    Wrong("of the block", {RIGHT: "guess_sectors = 64"}, "all eight warps of the block"),
    Wrong(
        "bytes spanned", {RIGHT: "guess_sectors = 256"}, "that is bytes, from thread 0's element"
    ),
    Wrong("bytes used", {RIGHT: "guess_sectors = 128"}, "that is the bytes that the warp uses"),
    Wrong("two strides", {RIGHT: "guess_sectors = 16"}, "16 sectors would be every *fourth* word"),
    Wrong("guessed", {RIGHT: "guess_sectors = 7.5"}, "how long is the piece that one warp reads?"),
    Wrong(
        "a word", {RIGHT: 'guess_sectors = "8"'}, "write one number, of sectors. Stuck?"
    ),  # no "Next"
)
