"""What the sum of an online softmax becomes without its rescaling, to recognise that mistake; and
what is printed if the subtracted number is far above a row's elements."""

import torch

__all__ = ["FINITE", "not_in_loop", "not_in_merge"]

FINITE = (
    "in a row whose elements are all very negative, a number far above them is subtracted, so every "
    "exponential is 0. Does a maximum start at a finite number instead of −∞?"
)


def not_in_loop(x: torch.Tensor, threads: int) -> torch.Tensor:
    """Return the sum of each row (M,) if threads, which read every `threads`-th element, do not
    rescale their sums as their maxima grow; the merge of all threads is right."""
    by_thread = _by_thread(x, threads)
    m = by_thread.cummax(1).values
    s = (by_thread - m).exp().nan_to_num(0.0).sum(1)
    m = m[:, -1]
    return (s * (m - m.max(1, keepdim=True).values).exp()).sum(1)


def not_in_merge(x: torch.Tensor, threads: int) -> torch.Tensor:
    """Return the sum of each row (M,) if the threads' sums, each relative to its own maximum, are
    added without rescaling."""
    by_thread = _by_thread(x, threads)
    return (by_thread - by_thread.max(1, keepdim=True).values).exp().nan_to_num(0.0).sum((1, 2))


def _by_thread(x: torch.Tensor, threads: int) -> torch.Tensor:
    """Return x (M, N) in float64 as (M, elements of a thread, threads), padded with -inf."""
    rows, columns = x.shape
    shape = (rows, -(-columns // threads) * threads)
    padded = torch.full(shape, -torch.inf, dtype=torch.float64)
    padded[:, :columns] = x
    return padded.reshape(rows, -1, threads)
