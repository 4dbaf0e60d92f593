"""Wrong solutions of week1/lanes."""

from forgekit.lessons.wrong import Wrong

WRONG = (
    Wrong("down for up", {'lane 20": 28': 'lane 20": 12'}, "down brings values down"),
    Wrong("a lane 38", {'lane 30": 30': 'lane 30": 38'}, "no lane 38. "),
    Wrong("in a circle", {'lane 30": 30': 'lane 30": 6'}, "not counted in a circle: there"),
    Wrong("zero from outside", {'lane 30": 30': 'lane 30": 0'}, "nothing is put in"),
    Wrong("butterfly adds", {'lane 13": 5': 'lane 13": 21'}, "one bit turned over"),
    Wrong("up for down", {'lane 1": 1': 'lane 1": 3'}, "up brings values up"),
    Wrong("the sum everywhere", {"31 * 2**5": "496"}, "Which lanes does lane 31 get"),
    Wrong("own value", {"31 * 2**5": "31"}, "and that is added"),
    Wrong("down's top lane", {'lane 31": 496': 'lane 31": 992'}, "a partner in each step"),
    Wrong("a number of lanes", {"2**6 - 1": "6"}, "not a number of lanes"),
    Wrong("a bit too few", {"2**6 - 1": "2**5 - 1"}, "are six lanes"),
    Wrong("one bit", {"2**6 - 1": "2**6"}, "of lane 6 alone"),
)
