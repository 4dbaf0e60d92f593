"""Wrong solutions to week0/count_wavefronts."""

from forgekit.lessons.wrong import Wrong

WRONG = (
    Wrong("strides do not conflict", {'[2 * i]": 2': '[2 * i]": 1'}, "words 0 and 32"),
    Wrong("the stride", {'[3 * i]": 1': '[3 * i]": 3'}, "visits all 32 banks"),
    Wrong("text", {'[16 * i]": 16': '[16 * i]": "16 banks"'}, "'16 banks' is text. Write a number"),
    Wrong("the banks", {'[16 * i]": 16': '[16 * i]": 2'}, "2 is the number of banks"),
    Wrong("same word conflicts", {'[i // 4]": 1': '[i // 4]": 4'}, "the same *word*"),
)
