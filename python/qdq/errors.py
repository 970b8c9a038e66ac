"""Exceptions and warnings. The text is that of the library: place, found, expected."""

from __future__ import annotations

from typing import Any


class Error(Exception):
    """What every exception of this package but `Cancelled` derives from, next to a built-in one."""


class UsageError(Error, ValueError):
    """Arguments that make no sense, alone or together."""


class FormatError(Error, ValueError):
    """Malformed input: a model, a plan, a target, or data."""


class UnsupportedError(Error, NotImplementedError):
    """Sound input that qdq or the engine does not support."""


class EngineError(Error, RuntimeError):
    """The inference engine failed or is missing."""


class FileError(Error, OSError):
    """A file or the system refused."""


class OutOfMemory(Error, MemoryError):
    """There is not enough memory."""


class GoalNotReached(Error):
    """A goal that was given is missed.

    Attributes
    ----------
    nearest
        The result that came nearest, with `model` and `plan`; None if there is none.
    """

    def __init__(self, text: str, nearest: Any = None) -> None:
        super().__init__(text)
        self.nearest = nearest


class Cancelled(KeyboardInterrupt):
    """A call that Ctrl-C ended. What `autotune` had measured by then stays in its folder.

    It is no `Error`, and no ``Exception``: what catches those lets Ctrl-C pass.
    """


class InternalError(Error, RuntimeError):
    """A defect of qdq itself: please report it."""


class AccuracyWarning(UserWarning):
    """The default goal is missed, or cannot be measured."""


class SpeedWarning(UserWarning):
    """A quantized model is not faster than the model that was given."""
