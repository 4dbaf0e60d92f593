"""What options mean to the library, and its refusals in the words of the command line."""

from __future__ import annotations

from typing import TYPE_CHECKING

from forgekit.errors import ForgekitError

if TYPE_CHECKING:
    from forgekit.devices import Target

__all__ = ["as_option", "chosen_target", "words"]


def as_option(error: ForgekitError, argument: str, remedy: str) -> ForgekitError:
    """An error about an argument of the library, told of the option of that name; any other as it
    is. (A message is `argument: got …, needed …; remedy`.)"""
    told, _, _ = str(error).rpartition("; ")
    if not told.startswith(f"{argument}: "):
        return error
    return type(error)(f"--{told}; {remedy}")


def chosen_target(device: str | None) -> Target:
    """Where kernels run by --device; None leaves the usual choice.

    Raises:
        UsageError: no such device, or another architecture than it has.
        PlatformError: a GPU is asked for and there is none that can be used.
    """
    from forgekit.devices import current_target

    try:
        return current_target(device)
    except ForgekitError as error:
        remedy = "write --device virtual for the virtual GPU, or leave it out"
        raise as_option(error, "device", remedy) from None


def words(text: str) -> tuple[str, ...]:
    """What an option lists with commas."""
    return tuple(word.strip() for word in text.split(",") if word.strip())
