# SPDX-FileCopyrightText: 2026 the unisono authors
# SPDX-License-Identifier: Apache-2.0
"""What can go wrong, as exceptions.

A mistake of the caller, found locally, is a ValueError. Everything else is an unisono.Error, a
RuntimeError that says whether trying again can help once the job has re-formed (``retryable``) and
who is to blame (``rank``, ``host``, ``pid``, ``tensor``; rank is -1 for nobody in particular).
"""

import pickle
from typing import TYPE_CHECKING, Union


class _Blame:
    retryable: bool = False
    rank: int = -1
    host: str = ""
    pid: int = 0
    tensor: str = ""


class Error(_Blame, RuntimeError):
    """An operating fault: the same call may have worked in another job."""


class InvalidArgument(_Blame, ValueError):
    """The caller's mistake, found on this rank before anything was sent."""


class DuplicateName(InvalidArgument):
    """An operation of this name is in flight already."""


class Mismatch(Error):
    """Ranks disagree on shape, element type, operator, root or group. Never retryable."""


class PickleFailed(Error, pickle.PickleError):
    """An object could not be pickled where it was, or unpickled somewhere; raised on every rank.
    ``rank`` is the first rank that could not."""


class PeerLost(Error):
    """A rank died, stopped answering or was cut off."""


class PeerLeft(Error):
    """A rank shut down in good order while others still needed it."""


class Timeout(Error, TimeoutError):
    """The caller's deadline passed; the operation is still in flight."""


class Stalled(Error):
    """Some ranks never submitted the operation within the stall limit."""


class NotInitialized(Error, ValueError):
    """unisono.init() has not been called. A ValueError too, which is what Horovod raises."""


class ShutDown(Error):
    """The engine has left its job."""


class Forked(Error):
    """The engine belongs to the parent process; call unisono.init() in the child."""


class Refused(Error):
    """The job did not let this rank in: key, version or options differ."""


class Unavailable(Error):
    """The machine lacks something."""


class Corrupted(Error):
    """A frame failed its check and was not delivered."""


class OutOfMemory(Error, MemoryError):
    """Memory or shared memory ran out."""


class Internal(Error):
    """A defect of unisono; please report it."""


# The name that scripts written for Horovod catch.
HorovodInternalError = Error

_CLASSES: dict[str, type[Union[Error, InvalidArgument]]] = {
    kind.__name__.lower(): kind
    for kind in (InvalidArgument, DuplicateName, Mismatch, PeerLost, PeerLeft, Stalled,
                 NotInitialized, ShutDown, Forked, Refused, Unavailable, Corrupted, OutOfMemory,
                 Internal)
}
_CLASSES["timedout"] = Timeout


def from_status(code: str, message: str, rank: int = -1, host: str = "", pid: int = 0,
                tensor: str = "", retryable: bool = False) -> Exception:
    """The exception for a status of the engine; the extension calls this."""
    error = _CLASSES.get(code.replace("_", "").lower(), Internal)(message)
    error.rank, error.host, error.pid, error.tensor = rank, host, pid, tensor
    error.retryable = retryable
    return error


if not TYPE_CHECKING:
    __all__ = [name for name, value in globals().items()
               if isinstance(value, type) and issubclass(value, _Blame) and value is not _Blame]
