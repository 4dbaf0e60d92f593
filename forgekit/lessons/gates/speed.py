"""Define the gate on the predicted time, which is computed from counts and is therefore the same on
every machine."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING, Any

from forgekit.lessons.gates.gate import Evidence, GateError, Misconception, explained
from forgekit.lessons.gates.submission import Case, Group, MakeCase, Submission
from forgekit.profiling.predicting.predicted import PredictedTime, predicted_time

if TYPE_CHECKING:
    import torch

    from forgekit.profiling.profile import Profile

GPU = "H200"
_MARK = -768.0  # fills the outputs before the call; exact in every floating-point type
_NEIGHBOURS = 16  # number of neighbouring blocks that run with a sample; see forgekit.vgpu
_LEAST = 0.8  # minimum fraction of the elements in the sampled blocks' part

_given: dict[Hashable, PredictedTime] = {}  # predicted times of the given kernels


def faster_than_given(
    make: MakeCase,
    size: tuple[int, ...],
    dtype: str = "float32",
    *,
    times: float = 2.0,
    blocks: int = 16,
    beyond: Sequence[tuple[int, ...]] = (),
    misconceptions: Sequence[Misconception] = (),
    rtol: float = 1e-3,
) -> Group:
    """Return a group that compares a kernel's predicted time on an H200 with that of the given
    kernel, which is the skeleton's.

    A call passes if its predicted interval is entirely below the given kernel's time divided by
    `times`. The interval contains nine of ten measured times, so a call does not pass by chance.
    The output elements that the sampled blocks write are compared, and these blocks must write
    their part of the outputs.

    Args:
        make: as in `values`; the outputs must have floating-point types. size: a size at which the
            launch overhead does not bound the given kernel's time. blocks: the number of blocks to
            run per launch, as in `fk.profile`. beyond: sizes at which only the sampled blocks'
            output is checked, because a kernel may handle no more than `size`.
        misconceptions: the misconceptions to recognise by the profile's counts.
        rtol: the tolerance relative to the largest expected value.
    """

    def sampled(submission: Submission, of: tuple[int, ...]) -> tuple[Case, Profile]:
        case = submission.case(make, of, dtype)
        args = submission.arguments(case)
        marked = args | {k: args[k].fill_(_MARK) for k in case.expected}
        profile, after = submission.sampled(case, blocks, marked)
        _same_work(profile, case, after, rtol)
        return case, profile

    def run(submission: Submission) -> str:
        assert submission.given is not None
        case, profile = sampled(submission, size)
        time = _time_of(profile)
        given = _of_given(submission, case, blocks)
        assert given.us is not None
        if time.us is None or time.high is None:
            raise GateError(
                f"{time.headline}.",
                look_at="Remove the cause, because this gate needs a predicted time.",
            )
        limit = given.us / times
        if time.high > limit:
            evidence = Evidence(case=case, counts=profile, time=time)
            raise GateError(
                _describe(time, given, limit, case.label),
                explained(misconceptions, evidence),
                f'fk.profile(*{{failed}}, blocks={blocks}).time("{GPU}")',
            )
        for of in beyond:
            sampled(submission, of)
        return f"predicted {_interval(time)}; given kernel: {_us(given.us)} µs"

    return Group("Predicted time", run)


def _time_of(profile: Profile) -> PredictedTime:
    """Return a profile's predicted time without answering the student's own predictions
    (`fk.predict`)."""
    paces = [launch.pace for launch in profile.launches if launch.pace is not None]
    return predicted_time(profile.name, paces, GPU)


def _of_given(submission: Submission, case: Case, blocks: int) -> PredictedTime:
    """Return the predicted time of the given kernel."""
    assert submission.given is not None
    key = submission.given, case.label, submission.arch, blocks
    if key not in _given:
        given = Submission(submission.given(), submission.arch)
        _given[key] = _time_of(given.sampled(case, blocks)[0])
    return _given[key]


def _same_work(profile: Profile, case: Case, after: dict[int, Any], rtol: float) -> None:
    """Raise GateError if the sampled blocks wrote wrong values or too few elements.

    With several launches, only the number of bytes written is compared, because later launches read
    values that blocks outside the sample would have written.
    """
    if len(profile.launches) != 1:
        needed = sum(want.numel() * after[k].element_size() for k, want in case.expected.items())
        stored = 32 * sum(x.pace[1].written_sectors for x in profile.launches if x.pace)
        if stored < _LEAST * needed:
            raise GateError(
                f"With {case.label}, the launches write about {stored:,} bytes of memory, but the "
                f"result has {needed:,} bytes."
            )
        return
    pace = profile.launches[0].pace
    assert pace is not None
    sample = pace[1].sample
    part = 1.0
    if sample:  # neighbouring blocks also write; some of them may belong to the sample
        part = sample.blocks / pace[0].blocks
        part += _NEIGHBOURS * (1 - part) / pace[0].blocks
    for position, want in case.expected.items():
        got = after[position]
        written = got != _MARK
        count, least = int(written.sum()), _LEAST * part * want.numel()
        if count < least:
            raise GateError(
                f"With {case.label}, the sampled blocks write {count:,} elements, but their part "
                f"of the result has {part * want.numel():,.0f}.",
                look_at="Check the number of blocks, and that each does its part at every size.",
            )
        off = _far(got[written], want[written], rtol)
        if off:
            raise GateError(
                f"With {case.label}, the sampled blocks write {count:,} elements, {off:,} of them "
                "wrong. At the small sizes of the previous group, all elements are right.",
                look_at="Check whether an index or the grid relies on a small size.",
            )


def _far(got: torch.Tensor, want: torch.Tensor, rtol: float) -> int:
    """Count the wrong elements, including unexpected NaNs."""
    wide = want.to(got.dtype).double()
    allowed = rtol * wide.abs().max() if len(wide) else 0.0
    return int((~((got.double() - wide).abs() <= allowed)).sum())


def _describe(time: PredictedTime, given: PredictedTime, limit: float, label: str) -> str:
    found = [
        f"Predicted time on an {GPU} with {label}: {_interval(time)}, bound by {time.bound_text}.",
        f"The given kernel takes {_us(given.us)} µs, bound by {given.bound_text}. The whole "
        f"interval has to be below {_us(limit)} µs.",
    ]
    source, share = next(((s, n) for s, n in time.lines if s is not None), (None, 0.0))
    if source is not None:
        found.append(f"{100 * share:.0f} % of {time.share_text} at {source.where}: {source.text}")
    return "\n".join(found)


def _interval(time: PredictedTime) -> str:
    return f"{_us(time.us)} µs ({_us(time.low)} to {_us(time.high)})"


def _us(value: float | None) -> str:
    assert value is not None
    return f"{value:,.1f}"
