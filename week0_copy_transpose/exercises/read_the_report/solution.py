"""Solution to week0/read_the_report."""

diagnosis = {  # each: "sectors", "conflicts", "lanes", "occupancy" or "nothing"
    # [fill]
    #| "A": None,
    #| "B": None,
    #| "C": None,
    #| "D": None,
    #| "E": None,
    #| "begin with": None,  # a letter
    #| "gain of B": None,  # a number
    "A": "conflicts",
    "B": "occupancy",
    "C": "sectors",
    "D": "lanes",
    "E": "nothing",
    "begin with": "B",
    "gain of B": 529 / 141,
    # [/fill]
}
