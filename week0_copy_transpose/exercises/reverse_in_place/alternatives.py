"""Other right solutions of week0/reverse_in_place."""

from forgekit.lessons.wrong import Wrong

ALTERNATIVES = (
    Wrong("the middle element as well", {"if i < n // 2:": "if i < (n + 1) // 2:"}),
)  # fmt: skip
