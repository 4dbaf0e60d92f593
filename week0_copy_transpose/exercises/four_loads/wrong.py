"""Wrong solutions to week0/four_loads."""

from forgekit.lessons.wrong import Wrong

WRONG = (
    Wrong("gaps forgotten", {'[2 * i]": 8': '[2 * i]": 4'}, "this load skips every second word"),
    Wrong("one per thread", {'[2 * i]": 8': '[2 * i]": 32'}, "one sector per thread"),
    Wrong("every fourth", {'[2 * i]": 8': '[2 * i]": 16'}, "every *fourth* word"),
)
