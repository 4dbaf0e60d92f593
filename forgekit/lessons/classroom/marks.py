"""What an instructor adds: a roster of the class, and `review.toml` beside the results.

[points]                            # what counts, and how much; without it one point each
"week0/scale" = 2

[[review]]
student = "ana"
exercise = "week2/softmax_operator" # without it, the comment is on everything
points = 1
comment = "The gradient is right."
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from forgekit.lessons.classroom.rows import Verdict

_Key = tuple[str, str]  # student, exercise or ""


@dataclass(frozen=True)
class Marks:
    """What `review.toml` says.

    points: exercise -> what it is worth; empty for one point each. reviews: (student, exercise) ->
    points, or None to keep them, and a comment. where: where in the file each of them is.
    """

    points: Mapping[str, float] = field(default_factory=dict)
    reviews: Mapping[_Key, tuple[float | None, str]] = field(default_factory=dict)
    where: Mapping[_Key, str] = field(default_factory=dict)

    def settled(self, student: str, v: Verdict) -> Verdict:
        """The verdict with what a review says of it."""
        points, comment = self.reviews.get((student, v.name), (None, ""))
        if comment:
            v = replace(v, notes=[*v.notes, f"Comment: {comment}"])
        if points is None:
            return v
        share = points / self.worth(v.name)
        group = v.group or "review"
        return replace(v, settled=share, verdict="passed" if share == 1 else "failed", group=group)

    def comment(self, student: str) -> str:
        """The comment on all that a student has handed in."""
        return self.reviews.get((student, ""), (None, ""))[1]

    def worth(self, exercise: str) -> float:
        """The points of an exercise."""
        return self.points.get(exercise, 0.0) if self.points else 1.0
