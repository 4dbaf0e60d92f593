"""Solution to week2/which_survive."""

survives = {  # each: "right" or "NaN"
    # [fill]
    #| "the mean: [1000, 1001]": None,
    #| "the mean: [0, 0, 0, 0, 500]": None,
    #| "the mean: [-inf, 0]": None,
    #| "the first element: [500, 0, 0]": None,
    #| "the first element: [-inf, 0, 0]": None,
    #| "the smallest: [-1000, -1001]": None,
    #| "the largest, or 0 if that is larger: [-1000, -1001]": None,
    #| "the largest, or 0 if that is larger: [-inf, 0]": None,
    #| "the largest minus 50: [1000, 1001]": None,
    #| "the largest of the whole matrix: row [0, 1], below it [1000, 1001]": None,
    "the mean: [1000, 1001]": "right",
    "the mean: [0, 0, 0, 0, 500]": "NaN",
    "the mean: [-inf, 0]": "NaN",
    "the first element: [500, 0, 0]": "right",
    "the first element: [-inf, 0, 0]": "NaN",
    "the smallest: [-1000, -1001]": "right",
    "the largest, or 0 if that is larger: [-1000, -1001]": "NaN",
    "the largest, or 0 if that is larger: [-inf, 0]": "right",
    "the largest minus 50: [1000, 1001]": "right",
    "the largest of the whole matrix: row [0, 1], below it [1000, 1001]": "NaN",
    # [/fill]
}
