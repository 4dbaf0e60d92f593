"""Profile.show: from a line of the table to its pictures."""

import pytest

import forgekit as fk
from forgekit.errors import UsageError
from tests.profiling.counter_kernels import profile_of


@pytest.fixture
def conflicts() -> fk.Profile:
    """A transpose through a tile whose columns lie in one bank."""
    return profile_of("t_smem0")


def test_the_worst_line(conflicts):
    shown = conflicts.show()
    sectors, banks = shown
    assert "32 wavefronts, 1 would do" in repr(banks)
    assert "(100 % used)" in repr(sectors)
    bundle = shown._repr_mimebundle_()
    assert bundle["text/html"].count("<img ") == 2
    assert repr(banks) in bundle["text/plain"]


def test_a_line_by_its_number_text_and_self(conflicts):
    line = conflicts.worst.line
    wanted = repr(conflicts.show())
    assert repr(conflicts.show(line.number)) == wanted
    assert repr(conflicts.show(line.text)) == wanted
    assert repr(conflicts.show(line)) == wanted
    assert repr(conflicts.show(line.number, warp=1)) != wanted


def test_lines_without_pictures(conflicts):
    quiet = next(x for x in conflicts.lines if not x.accesses)
    with pytest.raises(
        UsageError, match=r"line \d+, needed a line of the profile with memory accesses: 35, 39"
    ):
        conflicts.show(quiet)
    with pytest.raises(UsageError, match="line: got 1, needed a line of the profile"):
        conflicts.show(1)


def test_nothing_stands_out():
    with pytest.raises(UsageError, match="no line stands out; name one of"):
        profile_of("t_smem1").show()


@pytest.mark.parametrize("name", ["cpasync8ca_random0", "cpasync16cg_random0", "lds64_pairs"])
def test_accesses_cost_what_was_counted(name):
    """Of one warp in one block, also by both halves of an asynchronous copy."""
    profile = profile_of(name)
    lines = {line.source: line for line in profile.lines}
    for (source, kind), accesses in profile.first_accesses.items():
        if accesses[0].times == len(accesses):
            a = lines[source].accesses[kind]
            assert [sum(n) for n in zip(*(x.cost for x in accesses), strict=True)] == [
                a.units, a.ideal,
            ]  # fmt: skip
