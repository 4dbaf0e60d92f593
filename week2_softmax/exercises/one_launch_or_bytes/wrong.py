"""Wrong answers to week2/one_launch_or_bytes."""

from forgekit.lessons.wrong import Wrong

WRONG = (
    Wrong("softmax means exponentials", {'"C": "device memory"': '"C": "special functions"'},
          "8.4 million exponentials take 2 µs"),
    Wrong("three launches", {'"A": "device memory"': '"A": "the launch itself"'},
          "three launches cost 6 µs"),
    Wrong("bytes of a small call", {'"change of B": "one launch"': '"change of B": "bfloat16"'},
          "halving the bytes changes nothing"),
    Wrong("half is most", {'"change of A": "one launch"': '"change of A": "bfloat16"'},
          "leaves a third of them"),
)  # fmt: skip
