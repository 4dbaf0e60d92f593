"""Solution to week2/choose_softmax."""


def choose_softmax(n, dtype, arch):
    # [fill]
    #| return "registers", 1
    held, asked = 64 * 1024, 96 * 1024  # bytes of a row in registers; of a block in shared memory
    row, number = n * dtype.itemsize, int(arch.strip("sm_af"))
    if 4 * n <= held:
        return "registers", 1
    if row % 16 == 0 and number >= 80:
        if row <= asked:
            return "staged", 1
        if number >= 90:
            for blocks in (2, 4, 8):
                if row <= blocks * asked:
                    return "cluster", blocks
    return "streaming", 1
    # [/fill]
