"""Other correct answers to week0/offsets_by_hand."""

from forgekit.lessons.wrong import Wrong

ALTERNATIVES = (Wrong("a float", {"7: 8": "7: 8.0"}), Wrong("computed", {"7: 8": "7: 2 + 1 * 6"}))
