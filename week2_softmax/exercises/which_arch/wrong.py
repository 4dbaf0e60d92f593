"""Wrong solutions to week2/which_arch."""

from forgekit.lessons.wrong import Wrong

WRONG = (
    Wrong("shuffles are Hopper's", {'shared memory": "sm_80"': 'shared memory": "sm_90a"'}, "first table"),
    Wrong("cp.async is Hopper's", {'passing through registers": "sm_80"': 'passing through registers": "sm_90a"'},
          "the count of `cp.async` on sm_80 is not 0"),
    Wrong("blocks reach each other on Blackwell", {"shared memory\": \"sm_90a\"": "shared memory\": \"sm_100a\""},
          "the count of `st.async` on sm_90a is not 0"),
    Wrong("another GPU", {'one instruction": "sm_80"': 'one instruction": "sm_75"'}, "is not one of"),
)  # fmt: skip
