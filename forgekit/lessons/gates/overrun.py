"""Explain out-of-bounds accesses, but only if the indices of all accessing threads prove the
explanation."""

from __future__ import annotations

from typing import Any


def overrun_diagnosis(o: Any) -> str:
    """Return an explanation in one or two sentences: a vector that extends past the end, a missing
    predicate, a wrong bound, a shifted index, or an unchecked edge of a matrix. Return "" if the
    indices do not prove the cause. o: a KernelError's `overrun`."""
    if o is None or not len(o.threads):
        return ""
    begins_inside = (o.numbers >= 0) & (o.numbers < o.elements)
    if o.width > 1 and begins_inside.all():
        return (
            f"the last vector extends past the end: it starts at index {o.numbers[0]:,} and spans "
            f"{o.width} elements, but {o.tensor} has only {o.elements:,}. The predicate has to "
            "check the vector's last element."
        )
    if len(o.shape) == 2 and o.width == 1:
        return _of_matrix(o)
    if len(o.shape) != 1 or (o.numbers % o.width).any():
        return ""
    return _of_one_mode(o, "element" if o.width == 1 else "vector")


def _of_one_mode(o: Any, unit: str) -> str:
    """Explain accesses to a one-mode tensor if each thread accesses one element or one vector."""
    numbers, count = o.numbers // o.width, o.elements // o.width
    beyond = o.threads >= count
    shift = numbers - o.threads
    if beyond.all() and not shift.any():
        without = int((o.present >= count).sum())
        if len(o.threads) == without:
            length = f"`{o.tensor}.shape[0]`"
            if o.width > 1:
                length += f" divided by {o.width}, rounded down"
            return (
                f"every thread beyond the last {unit} accesses memory ({without:,} in total). A "
                f"predicate has to exclude at least these threads: their {unit} indices are not "
                f"less than {length}."
            )
        first, last = int(o.threads.min()), int(o.threads.max())
        admitted = last - first + 1 == len(o.threads)
        if not admitted or ((last + 1) % 32 == 0 and o.present.max() > last):
            return ""  # the index may be the number of a warp or of a lane
        who = f"thread {first:,}" if first == last else f"threads {first:,} to {last:,}"
        bound = "length" if o.width == 1 else "number of whole vectors"
        return (
            f"the predicate admits {who}, but not the other threads beyond the end. It has to be "
            f"true for indices below {count:,}, the {bound}, and false for all others."
        )
    if (
        (~beyond).any()
        and (shift == shift[0]).all()
        and _all_that_are_shifted(o, count, int(shift[0]))
    ):
        sign = "+" if shift[0] > 0 else "-"
        if len(o.threads) == 1:
            shifted = f"i {sign} {abs(int(shift[0])):,}"
            return (
                f"thread {int(o.threads[0]):,} accesses {unit} {int(numbers[0]):,}. If thread i "
                f"accesses {unit} {shifted}, the predicate has to check {shifted}, not i."
            )
        return (
            f"thread i accesses {unit} i {sign} {abs(int(shift[0])):,}. Check that this index, "
            f"rather than i, is inside {o.tensor}."
        )
    return ""


def _all_that_are_shifted(o: Any, count: int, shift: int) -> bool:
    """Return True if an index that is shifted by `shift` explains exactly the threads in `o`. Only
    warps that appear in `o` are considered, because other warps may not have reached this access,
    but the outermost thread must be among them: an index in a narrow type is also shifted, but only
    in later threads. A single thread among few elements proves nothing, because any mistake could
    cause its index."""
    last = count - 1
    leave = range(max(last - shift + 1, 0), last + 1) if shift > 0 else range(min(-shift, last + 1))
    here, warps = set(o.threads.tolist()), set((o.threads // 32).tolist())
    wanted = {thread for thread in leave if thread // 32 in warps}
    outermost = last if shift > 0 else 0
    return bool(shift) and (len(here) > 1 or count > 3) and wanted == here and outermost in here


def _of_matrix(o: Any) -> str:
    """Explain which edge of a matrix was exceeded, if the indices prove that the threads' y and x
    are the row and column, or vice versa."""
    if min(o.shape) < 2:  # either thread index could be the element's index
        return ""
    for row, column, names in ((1, 0, ("y", "x")), (0, 1, ("x", "y"))):
        rows, columns = o.places[:, row], o.places[:, column]
        if names == ("y", "x") and not rows.any():
            continue  # one-dimensional threads may also index the whole matrix linearly
        if (rows * o.strides[0] + columns * o.strides[1] != o.numbers).any():
            continue
        if o.places[:, 1].any() and ((rows < o.shape[1]) & (columns < o.shape[0])).all():
            return (
                f"each of these threads accesses row {names[0]}, column {names[1]} of {o.tensor}, "
                f"where x and y are its indices in the grid, but row {names[1]}, column {names[0]} "
                "exists. Either the two indices or the two bounds are swapped."
            )
        for mode, (at, name) in enumerate(zip((rows, columns), names, strict=True)):
            if (at >= o.shape[mode]).all():
                first, last, what = int(at.min()), int(at.max()), ("row", "column")[mode]
                who = f"{what} {first:,}" if first == last else f"{what}s {first:,} to {last:,}"
                wraps = " Such an element lies in a later row or past the end."
                if not mode or o.strides[0] != o.shape[1]:
                    wraps = ""
                return (
                    f"no predicate excludes {who}, but {o.tensor} has only {o.shape[mode]:,} "
                    f"{what}s. Compare the {what} index, computed here from {name} of the thread "
                    f"and the block, with `{o.tensor}.shape[{mode}]`.{wraps}"
                )
        if ((rows >= o.shape[0]) | (columns >= o.shape[1])).all():
            return (
                f"each of these threads is beyond the {o.shape[0]:,} rows of {o.tensor} or beyond "
                f"its {o.shape[1]:,} columns. A matrix has two edges; check both."
            )
    return ""
