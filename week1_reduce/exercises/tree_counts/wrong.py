"""Wrong solutions of week1/tree_counts."""

from forgekit.lessons.wrong import Wrong

WRONG = (
    Wrong("one round too few", {'block": 9': 'block": 8'}, "twice as many have one round more"),
    Wrong("one barrier too many", {'block": 9': 'block": 10'}, "reads what it has stored itself"),
    Wrong("a barrier a thread", {'block": 9': 'block": 512'}, "however many threads arrive"),
    Wrong("step for distance", {'lanes of a warp": 4': 'lanes of a warp": 8'}, "is 2 · step"),
    Wrong("all lanes", {'lanes of a warp": 4': 'lanes of a warp": 32'}, "the others are idle"),
    Wrong("gathered", {'step 4: warps with an active lane": 16':
                       'step 4: warps with an active lane": 2'}, "but they are spread"),
    Wrong("all warps", {'half 64: warps with an active lane": 2':
                        'half 64: warps with an active lane": 16'}, "and nobody else"),
    Wrong("banks for wavefronts", {'load": 8': 'load": 4'}, "so they use 4 banks"),
    Wrong("all lanes in one bank", {'load": 16': 'load": 32'}, "only 512 / 32 threads"),
    Wrong("no conflict", {'load": 16': 'load": 1'}, "is the same bank"),
)  # fmt: skip
