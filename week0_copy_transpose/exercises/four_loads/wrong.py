"""Wrong solutions of week0/four_loads."""

from forgekit.lessons.wrong import Wrong

WRONG = (
    Wrong("gaps forgotten", {'[2 * i]": 8': '[2 * i]": 4'}, "every second word is skipped"),
    Wrong("a sector a thread", {'[2 * i]": 8': '[2 * i]": 32'}, "a sector for each thread"),
    Wrong("every fourth", {'[2 * i]": 8': '[2 * i]": 16'}, "every *fourth* word"),
    Wrong("all warps", {'[2 * i]": 8': '[2 * i]": 64'}, "all eight warps"),
    Wrong("bytes", {'[2 * i]": 8': '[2 * i]": 256'}, "that is bytes"),
    Wrong("shift is free", {'[i + 1]": 5': '[i + 1]": 4'}, "if they began where a sector begins"),
    Wrong("shift doubles", {'[i + 1]": 5': '[i + 1]": 8'}, "shifting doubles nothing"),
    Wrong("order matters", {'[255 - i]": 4': '[255 - i]": 32'}, "order of the lanes"),
    Wrong("edge missed", {'[255 - i]": 4': '[255 - i]": 5'}, "a multiple of 8"),
    Wrong("32 words", {'[i // 4]": 1': '[i // 4]": 4'}, "Four threads read the same word"),
    Wrong("words", {'[i // 4]": 1': '[i // 4]": 8'}, "number of different words"),
    Wrong("lanes", {'[i // 4]": 1': '[i // 4]": 32'}, "served together"),
)
