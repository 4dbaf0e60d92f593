"""Test TensorSpecs, and which tensors fit them."""

import re

import numpy as np
import pytest
import torch

from forgekit import TensorSpec, spec
from forgekit.errors import ArgumentMismatchError, UsageError


def fits(s: TensorSpec, tensor: torch.Tensor) -> None:
    s.check("mX", tensor, {})


def refused(s: TensorSpec, tensor: torch.Tensor, match: str) -> None:
    with pytest.raises(ArgumentMismatchError, match=match):
        fits(s, tensor)


def test_a_tensor_leaves_sizes_dynamic_and_fixes_its_unit_stride():
    s = spec(torch.empty(3, 5))
    assert s.shape == (None, None)
    assert s.strides == (None, 1)
    assert s.align == 16
    assert str(s) == "float32 (?, ?):(?, 1) align 16"


X = torch.empty(3, 5, 7)


@pytest.mark.parametrize(
    ("made", "strides"),
    [
        (spec(torch.empty(3, 5).T), (1, None)),
        (spec(torch.empty(10)[::2]), (None,)),
        (spec(torch.empty(5, 1)), (None, 1)),  # a one-column matrix is row-major
        (spec(torch.empty(5, 3)[:, :1]), (None, 1)),
        (spec(X, static=True), (35, 7, 1)),
        (spec(X, static=(2,)), (None, 7, 1)),
        (spec(X, static=(1, 2)), (35, 7, 1)),
        (spec(X, static=(0,)), (None, None, 1)),
        (TensorSpec(torch.float32, (None, 4, 8)), (32, 8, 1)),
        (TensorSpec(torch.float32, (4, None, 8)), (None, 8, 1)),
    ],
    ids=str,
)
def test_strides(made, strides):
    assert made.strides == strides


def test_alignment_is_the_tensors_own_up_to_16_bytes():
    base = torch.empty(64)
    assert [spec(base[k:]).align for k in (1, 2, 4)] == [4, 8, 16]
    assert spec(base, align=4).align == 4


def test_a_fitting_tensor_passes():
    s = spec(torch.empty(3, 5))
    for shape in ((1, 1), (100, 7), (0, 4)):
        fits(s, torch.empty(shape))
    fits(s, torch.empty(8, 16)[:, :5])


def test_static_sizes_and_divisors_are_checked():
    s = spec(torch.empty(4, 8), static=(1,))
    refused(s, torch.empty(4, 9), "size of mode 1: got 9, needed 8")
    fits(spec(torch.empty(4), divisible={0: 1}), torch.empty(3))
    s = spec(torch.empty(4, 8), divisible={1: 8})
    fits(s, torch.empty(3, 24))
    refused(s, torch.empty(3, 20), "size of mode 1: got 20, needed a multiple of 8; pad it to 24")
    refused(s, torch.empty(3, 20)[:, :8], "stride of mode 0: got 20, needed a multiple of 8")


def test_a_spec_promises_nothing_that_the_rows_of_its_own_tensor_break():
    cut = torch.empty(8, 513)[:, :512]
    with pytest.raises(UsageError, match=r"stride of mode 0: got 513, needed a multiple of 4"):
        spec(cut, divisible={1: 4})
    assert spec(cut[:1], divisible={1: 4}).strides == (None, 1)  # a single row's stride is free
    assert spec(torch.empty(8, 516)[:, :512], divisible={1: 4}).strides == (None, 1)


def test_strides_of_modes_of_one_element_do_not_matter():
    s = spec(torch.empty(4, 8), static=True)
    one = spec(torch.empty(1, 8), static=True)
    fits(one, torch.empty(2, 24)[:1, :8])
    refused(s, torch.empty(4, 24)[:, :8], "stride of mode 0: got 24, needed 8")


def test_named_modes_must_agree_within_a_call():
    s = TensorSpec(torch.float32, ("M", "N"))
    sizes: dict[str, tuple[int, str]] = {}
    s.check("mX", torch.empty(4, 8), sizes)
    s.check("mY", torch.empty(4, 8), sizes)
    with pytest.raises(ArgumentMismatchError, match=r"got 9, needed 8 \(N, from mode 1 of mX"):
        s.check("mZ", torch.empty(4, 9), sizes)


@pytest.mark.parametrize(
    "make",
    [
        lambda: spec(torch.empty(3), static=(1,)),
        lambda: spec(torch.empty(3), divisible={0: 2}),
        lambda: spec(torch.empty(4), divisible={1: 2}),
        lambda: spec(torch.empty(3, 3), names=("M",)),
        lambda: TensorSpec(torch.float32, (None,), (1, 1)),
        lambda: TensorSpec(torch.float32, [None]),
        lambda: TensorSpec(torch.float32, (-1,)),
        lambda: TensorSpec(torch.float32, (None,), divisible={-1: 2}),
        lambda: TensorSpec(torch.float32, (None,), divisible={1: 2}),
        lambda: TensorSpec(torch.float32, (None,), divisible={0: 0}),
        lambda: TensorSpec(torch.float32, (None,), align=3),
        lambda: TensorSpec(torch.float32, (None,), align=2),
        lambda: TensorSpec(torch.complex64, (None,)),
    ],
)
def test_bad_specs_are_refused(make):
    with pytest.raises(UsageError, match="got"):
        make()


@pytest.mark.parametrize(
    ("facts", "says"),
    [
        (
            {"divisible": {1: 16 / 4}},
            "divisible: got 4.0 for mode 1, needed a whole number; use `//`",
        ),
        ({"divisible": 4}, "spec, divisible: got 4, needed a dict; leave it out, or write {1: 4}"),
        ({"divisible": {"N": 4}}, "divisible: got 'N', needed a whole number; pass an int"),
        ({"static": 1}, "spec, static: got 1, needed True or False or a list"),
        ({"static": [2]}, "static: got [2], needed modes from 0 to 1"),
        (
            {"static": torch.ones(2)},
            "static: got a float32 tensor of shape (2,), needed a Python list",
        ),
        ({"align": 16.0}, "spec, align: got 16.0, needed a whole number"),
        ({"names": (1, None)}, "names: got [1, None], needed 2, one per mode"),
    ],
)
def test_what_is_no_whole_number_or_names_no_mode_is_refused(facts, says):
    with pytest.raises(UsageError, match=re.escape(says)):
        spec(torch.empty(4, 8), **facts)


@pytest.mark.parametrize(
    ("divisible", "says"),
    [({0: 2.0}, r"got 2\.0 for mode 0, needed a whole"), (4, "got 4, needed {mode: divisor}")],
)
def test_a_spec_made_by_hand_is_checked_alike(divisible, says):
    with pytest.raises(UsageError, match=says):
        TensorSpec(torch.float32, (None,), divisible=divisible)


def test_numbers_of_other_libraries_become_plain_ones():
    made = spec(torch.empty(4, 8), divisible={1: np.int64(4)}, align=np.int64(8))
    assert made.key() == spec(torch.empty(4, 8), divisible={1: 4}, align=8).key()
    assert type(made.divisible[1]) is int
    assert type(made.align) is int


def test_all_that_a_spec_says_is_in_its_key():
    x = torch.empty(4, 8)
    facts = [{}, {"static": [1]}, {"divisible": {1: 4}}, {"divisible": {0: 4}}, {"align": 4},
             {"names": ["M", None]}, {"read_only": True}]  # fmt: skip
    keys = [spec(x, **one).key() for one in facts] + [spec(x.T).key(), spec(x.int()).key()]
    assert len(set(keys)) == len(keys)
