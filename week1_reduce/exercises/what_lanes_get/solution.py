"""Solution to week1/what_lanes_get."""

gets = {
    # [fill]
    #| "down by 8, lane 20": None,
    #| "down by 8, lane 30": None,
    #| "butterfly by 8, lane 13": None,
    #| "up by 2, lane 1": None,
    #| "sum by down 16, 8, 4, 2, 1: lane 31": None,
    #| "sum by butterfly 16, 8, 4, 2, 1: lane 31": None,
    #| "member mask of lanes 0 to 5": None,
    "down by 8, lane 20": 28,
    "down by 8, lane 30": 30,
    "butterfly by 8, lane 13": 5,
    "up by 2, lane 1": 1,
    "sum by down 16, 8, 4, 2, 1: lane 31": 31 * 2**5,
    "sum by butterfly 16, 8, 4, 2, 1: lane 31": 496,
    "member mask of lanes 0 to 5": 2**6 - 1,
    # [/fill]
}
