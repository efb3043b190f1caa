"""What exit codes of Windows processes mean: NTSTATUS values, and codes of the Common Language Runtime.

The kubelet stores an int32, so that a value above 2147483647 may appear as a negative number. Linux has exit codes from
0 to 255 only, and none of these is among them.

Source: [MS-ERREF] 2.3.1 (NTSTATUS values), corerror.h of dotnet/runtime, internal/signals of microsoft/hcsshim, which
stops a process with CtrlC or CtrlShutdown.
"""

from __future__ import annotations

from typing import Final, NamedTuple


class WindowsExit(NamedTuple):
    """A named exit code."""

    name: str
    """``STATUS_CONTROL_C_EXIT``."""
    meaning: str
    """What the process did."""


WINDOWS_EXITS: Final = {
    0xC000013A: WindowsExit("STATUS_CONTROL_C_EXIT", "ended on Ctrl+C, as a stop sends it"),
    0x40010004: WindowsExit("DBG_TERMINATE_PROCESS", "was stopped with its system"),
    0xC0000005: WindowsExit("STATUS_ACCESS_VIOLATION", "crashed: access violation"),
    0xC000001D: WindowsExit("STATUS_ILLEGAL_INSTRUCTION", "crashed: illegal instruction"),
    0xC0000094: WindowsExit("STATUS_INTEGER_DIVIDE_BY_ZERO", "crashed: division by zero"),
    0xC00000FD: WindowsExit("STATUS_STACK_OVERFLOW", "crashed: stack overflow"),
    0xC0000374: WindowsExit("STATUS_HEAP_CORRUPTION", "crashed: heap corruption"),
    0xC0000409: WindowsExit("STATUS_STACK_BUFFER_OVERRUN", "aborted itself (fail fast)"),
    0xC000041D: WindowsExit("STATUS_FATAL_USER_CALLBACK_EXCEPTION", "crashed in a callback"),
    0xC0000602: WindowsExit("STATUS_FAIL_FAST_EXCEPTION", "aborted itself (fail fast)"),
    0x80000003: WindowsExit("STATUS_BREAKPOINT", "crashed: breakpoint without a debugger"),
    0xE0434352: WindowsExit("CLR exception", "crashed: unhandled .NET exception"),
    0x80131506: WindowsExit("COR_E_EXECUTIONENGINE", "crashed: error of the .NET runtime"),
    0x80131623: WindowsExit("COR_E_FAILFAST", "aborted itself (Environment.FailFast)"),
    0xC0000017: WindowsExit("STATUS_NO_MEMORY", "got no memory"),
    0xC000012D: WindowsExit("STATUS_COMMITMENT_LIMIT", "got no memory: the commit limit"),
    0x8007000E: WindowsExit("E_OUTOFMEMORY", "got no memory"),
    0xC000007B: WindowsExit("STATUS_INVALID_IMAGE_FORMAT", "did not start: wrong image format"),
    0xC0000135: WindowsExit("STATUS_DLL_NOT_FOUND", "did not start: a DLL is missing"),
    0xC0000139: WindowsExit("STATUS_ENTRYPOINT_NOT_FOUND", "did not start: a DLL lacks a function"),
    0xC0000142: WindowsExit("STATUS_DLL_INIT_FAILED", "did not start: a DLL failed to initialize"),
}


def windows_exit(code: int) -> WindowsExit | None:
    """The meaning of an exit code; None: it is not a known Windows code."""
    return WINDOWS_EXITS.get(code % 2**32)
