"""Exceptions and warnings. The text is that of the library: place, found, expected."""

from __future__ import annotations

import errno
import os
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
    """A file or the system refused.

    Where the system said why, it is also the exception of Python for that, such as
    ``FileNotFoundError``.

    Attributes
    ----------
    filename : str or None
        The file.
    errno : int or None
        The system's number, such as ``errno.ENOENT``; None: the reason is not the system's.
    strerror : str or None
        The system's text.
    """

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.text = text
        self.errno, self.strerror = reason_of(text)
        self.filename = text.partition(": ")[0] or None

    def __str__(self) -> str:
        return self.text

    def __reduce__(self) -> Any:
        return file_error, (self.text,)


class NotFound(FileError, FileNotFoundError):
    """There is no such file."""


class NotPermitted(FileError, PermissionError):
    """The system does not permit it."""


class IsFolder(FileError, IsADirectoryError):
    """A folder, expected a file."""


class NoFolder(FileError, NotADirectoryError):
    """A file, expected a folder."""


def reason_of(text: str) -> tuple[int | None, str | None]:
    """The number of the system's text at the end of a message, and this text."""
    end = text.rpartition(": ")[2]
    for number in errno.errorcode:
        if os.strerror(number) == end:
            return number, end
    return None, None


def file_error(text: str) -> FileError:
    """The exception for the system's reason."""
    kinds: dict[int | None, type[FileError]] = {
        errno.ENOENT: NotFound,
        errno.EACCES: NotPermitted,
        errno.EPERM: NotPermitted,
        errno.EISDIR: IsFolder,
        errno.ENOTDIR: NoFolder,
    }
    return kinds.get(reason_of(text)[0], FileError)(text)


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
