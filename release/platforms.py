"""The systems for which an executable is made."""

from __future__ import annotations

import platform
import sys
from typing import Final, NamedTuple

_PYTHONS: Final = {"311": "3.11.0", "312": "3.12.0", "313": "3.13.0"}
"""By the tag in names of wheels: the oldest Python of that version, which decides the markers of requirements."""
_MACHINES: Final = {"x86_64": "amd64", "amd64": "amd64", "aarch64": "arm64", "arm64": "arm64"}


class Platform(NamedTuple):
    """A system and processor, with Krew's names."""

    system: str
    arch: str
    wheels: str
    """The platform tag of the oldest wheels to use; empty: only this machine and this Python."""

    @property
    def name(self) -> str:
        """The name in file names."""
        return f"{self.system}-{self.arch}"

    def pex_flags(self) -> list[str]:
        """The flags of pex that select the Pythons of the executable."""
        return (
            [f"--platform={self.wheels}-cp-{version}-cp{abi}" for abi, version in _PYTHONS.items()]
            if self.wheels
            else []
        )


PLATFORMS: Final = (
    Platform("linux", "amd64", "manylinux_2_28_x86_64"),
    Platform("linux", "arm64", "manylinux_2_28_aarch64"),
    Platform("darwin", "amd64", "macosx_14_0_x86_64"),
    Platform("darwin", "arm64", "macosx_14_0_arm64"),
)
THIS: Final = Platform(sys.platform, _MACHINES.get(platform.machine().lower(), platform.machine().lower()), "")
