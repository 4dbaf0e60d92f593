"""Wrong solutions of week1/bad_choice."""

from forgekit.lessons.wrong import Wrong

WRONG = (
    Wrong("256 threads for 32 vectors", {'262,144 × 128 float32": "idle lanes"':
                                         '262,144 × 128 float32": "nothing"'},
          "how many of 256 threads"),
    Wrong("8 blocks", {'524,288 float32": "too few blocks"': '524,288 float32": "nothing"'},
          "eight rows of a warp each"),
    Wrong("a good choice doubted", {'65,536 × 512 float32": "nothing"':
                                    '65,536 × 512 float32": "idle lanes"'}, "8,192 blocks"),
    Wrong("parts for many rows", {'"needless parts"': '"nothing"'}, "4,096 blocks without any"),
    Wrong("parts for idle lanes", {'"needless parts"': '"idle lanes"'}, "a part is 256 vectors"),
    Wrong("4 vectors", {'1,048,576 × 32 float16": "idle lanes"':
                        '1,048,576 × 32 float16": "too few blocks"'}, "131,072 blocks"),
    Wrong("16 blocks", {'2,097,152 float32": "too few blocks"': '2,097,152 float32": "nothing"'},
          "16 rows are 16 blocks"),
    Wrong("threads enough", {'131,072 float32": "too few blocks"': '131,072 float32": "idle lanes"'},
          "32,768 vectors"),
    Wrong("another word", {'"needless parts"': '"too many"'}, "is not one of"),
    Wrong("all the same", {'128 float32": "idle lanes"': '128 float32": "too few blocks"',
                           '"needless parts"': '"too few blocks"'}, "a block for each of 262,144"),
)  # fmt: skip
