"""Solution to week2/one_launch_or_bytes."""

diagnosis = {
    # [fill]
    #| "A": None,  # "device memory", "the launch itself" or "special functions"
    #| "B": None,
    #| "C": None,
    #| "change of A": None,  # "one launch" or "bfloat16"
    #| "change of B": None,
    #| "change of C": None,
    "A": "device memory",
    "B": "the launch itself",
    "C": "device memory",
    "change of A": "one launch",
    "change of B": "one launch",
    "change of C": "bfloat16",
    # [/fill]
}
