"""Wrong answers to week1/what_helps."""

from forgekit.lessons.wrong import Wrong

WRONG = (
    Wrong("bytes for time", {'"A": "start of blocks"': '"A": "device memory"'},
          "its bytes take 53 µs"),
    Wrong("too few blocks", {'"B": "latency"': '"B": "start of blocks"'}, "it has 16 blocks"),
    Wrong("a small call waits", {'"D": "the launch itself"': '"D": "latency"'},
          "a warp waits once or twice"),
    Wrong("in flight for all", {'"C helped by": "fewer bytes"':
                                '"C helped by": "more bytes in flight"'},
          "would shorten waiting, which does not bound C"),
)  # fmt: skip
