"""Solution to week1/choose_reduction."""


def choose_reduction(m, n, dtype):
    # [fill]
    #| return 256, 1
    vectors = n * dtype.itemsize // 16
    threads = next((t for t in (8, 32) if vectors <= 16 * t), 256)
    blocks = -(-m // (256 // threads))
    if blocks < 264 and vectors >= 256:
        threads = 256
    parts = min(264 // m, vectors // 1024) // 4 * 4
    return threads, max(parts, 1)
    # [/fill]
