"""What exit codes of Windows processes mean: NTSTATUS values, and codes of the Common Language Runtime.

The kubelet stores an int32, so that a value above 2147483647 may appear as a negative number. Linux has exit codes from
0 to 255 only, and none of these is among them.

Source: [MS-ERREF] 2.3.1 (NTSTATUS values), corerror.h of dotnet/runtime, internal/signals of microsoft/hcsshim, which
stops a process with CtrlC or CtrlShutdown.
"""

from __future__ import annotations

from enum import Enum
from typing import Final, NamedTuple

__all__ = ["ExitKind", "WindowsExit", "windows_exit"]


class ExitKind(Enum):
    """What a code says of the process."""

    STOPPED = "Stopped"
    """It was asked to end, as by SIGTERM on Linux."""
    CRASHED = "Crashed"
    UNSTARTED = "Unstarted"
    """It could not start."""
    NO_MEMORY = "NoMemory"


class WindowsExit(NamedTuple):
    """A code, by its name."""

    name: str
    """``STATUS_CONTROL_C_EXIT``."""
    meaning: str
    kind: ExitKind


_EXITS: Final = {
    0xC000013A: WindowsExit("STATUS_CONTROL_C_EXIT", "ended on Ctrl+C, as a stop sends it", ExitKind.STOPPED),
    0x40010004: WindowsExit("DBG_TERMINATE_PROCESS", "was stopped with its system", ExitKind.STOPPED),
    0xC0000005: WindowsExit("STATUS_ACCESS_VIOLATION", "crashed: access violation", ExitKind.CRASHED),
    0xC000001D: WindowsExit("STATUS_ILLEGAL_INSTRUCTION", "crashed: illegal instruction", ExitKind.CRASHED),
    0xC0000094: WindowsExit("STATUS_INTEGER_DIVIDE_BY_ZERO", "crashed: division by zero", ExitKind.CRASHED),
    0xC00000FD: WindowsExit("STATUS_STACK_OVERFLOW", "crashed: stack overflow", ExitKind.CRASHED),
    0xC0000374: WindowsExit("STATUS_HEAP_CORRUPTION", "crashed: heap corruption", ExitKind.CRASHED),
    0xC0000409: WindowsExit("STATUS_STACK_BUFFER_OVERRUN", "aborted itself (fail fast)", ExitKind.CRASHED),
    0xC000041D: WindowsExit("STATUS_FATAL_USER_CALLBACK_EXCEPTION", "crashed in a callback", ExitKind.CRASHED),
    0xC0000602: WindowsExit("STATUS_FAIL_FAST_EXCEPTION", "aborted itself (fail fast)", ExitKind.CRASHED),
    0x80000003: WindowsExit("STATUS_BREAKPOINT", "crashed: breakpoint without a debugger", ExitKind.CRASHED),
    0xE0434352: WindowsExit("CLR exception", "crashed: unhandled .NET exception", ExitKind.CRASHED),
    0x80131506: WindowsExit("COR_E_EXECUTIONENGINE", "crashed: error of the .NET runtime", ExitKind.CRASHED),
    0x80131623: WindowsExit("COR_E_FAILFAST", "aborted itself (Environment.FailFast)", ExitKind.CRASHED),
    0xC0000017: WindowsExit("STATUS_NO_MEMORY", "got no memory", ExitKind.NO_MEMORY),
    0xC000012D: WindowsExit("STATUS_COMMITMENT_LIMIT", "got no memory: the commit limit", ExitKind.NO_MEMORY),
    0x8007000E: WindowsExit("E_OUTOFMEMORY", "got no memory", ExitKind.NO_MEMORY),
    0xC000007B: WindowsExit("STATUS_INVALID_IMAGE_FORMAT", "did not start: wrong image format", ExitKind.UNSTARTED),
    0xC0000135: WindowsExit("STATUS_DLL_NOT_FOUND", "did not start: a DLL is missing", ExitKind.UNSTARTED),
    0xC0000139: WindowsExit("STATUS_ENTRYPOINT_NOT_FOUND", "did not start: a DLL lacks a function", ExitKind.UNSTARTED),
    0xC0000142: WindowsExit("STATUS_DLL_INIT_FAILED", "did not start: a DLL failed to initialize", ExitKind.UNSTARTED),
}


def windows_exit(code: int) -> WindowsExit | None:
    """What an exit code stands for; None: it is none of Windows' that is known."""
    return _EXITS.get(code % 2**32)
