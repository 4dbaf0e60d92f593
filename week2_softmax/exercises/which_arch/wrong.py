"""Wrong solutions of week2/which_arch."""

from forgekit.lessons.wrong import Wrong

WRONG = (
    Wrong("shuffles are Hopper's", {'shared memory": "sm_80"': 'shared memory": "sm_90a"'}, "first table"),
    Wrong("cp.async is Hopper's", {'past the registers": "sm_80"': 'past the registers": "sm_90a"'},
          "from the first architecture on"),
    Wrong("read once anywhere", {'read once": "sm_90a"': 'read once": "sm_80"'}, "it reads the row twice"),
    Wrong("read once by Blackwell", {'read once": "sm_90a"': 'read once": "sm_100a"'}, "two of the three columns"),
    Wrong("groups are barriers", {'counts bytes": "sm_90a"': 'counts bytes": "sm_80"'}, "waited for by its groups"),
    Wrong("shared memory of all", {"another block's shared memory\": \"sm_90a\"":
                                   "another block's shared memory\": \"sm_80\""}, "its own shared memory only"),
    Wrong("three at once on Hopper", {'maximum in 4 instructions": "sm_100a"': 'maximum in 4 instructions": "sm_90a"'},
          "7 `max.NaN.f32` for"),
    Wrong("two at once on Ampere", {'8 elements in 4 instructions": "sm_100a"': '8 elements in 4 instructions": "sm_80"'},
          "8 `sub.f32` for"),
    Wrong("exp2 is new", {'one instruction": "sm_80"': 'one instruction": "sm_100a"'}, "once an element"),
    Wrong("another GPU", {'one instruction": "sm_80"': 'one instruction": "sm_75"'}, "is not one of"),
)  # fmt: skip
