"""Expected texts in files: compared, or updated if UPDATE_GOLDEN is set."""

from __future__ import annotations

import os
from pathlib import Path


def check(path: Path, text: str) -> None:
    """Compare a text with its file."""
    if os.environ.get("UPDATE_GOLDEN"):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        return
    assert path.exists(), f"{path} is missing: make docs writes it"
    assert text == path.read_text(encoding="utf-8"), f"{path} differs: make docs writes it; read the diff"
