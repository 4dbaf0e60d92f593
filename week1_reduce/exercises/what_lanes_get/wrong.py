"""Wrong solutions to week1/what_lanes_get."""

from forgekit.lessons.wrong import Wrong

WRONG = (
    Wrong("down for up", {'lane 20": 28': 'lane 20": 12'}, "down moves values down"),
    Wrong("a lane 38", {'lane 30": 30': 'lane 30": 38'}, "there is no lane 38. "),
    Wrong(
        "in a circle", {'lane 30": 30': 'lane 30": 6'}, "do not wrap around, and there is no lane"
    ),
    Wrong("one more", {'lane 31": 496': 'lane 31": 497'}, "497 is not right"),
)
