"""What is passed on of the words of ``kubectl proxy``."""

from __future__ import annotations

from pathlib import Path

import pytest

from podrules.cluster.errors import Unreachable
from podrules.cluster.transport import KubectlProxy


@pytest.mark.parametrize("own", ["error: no such context\\n", "W1122 03:04:05 a warning\\nerror: no such context\\n"])
@pytest.mark.parametrize("said", ["", "To sign in, enter the code ABCD\\n"])
def test_words_to_the_user_are_told_from_kubectls_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], said: str, own: str
) -> None:
    """Also where both come in one piece, which is a matter of chance."""
    kubectl = tmp_path / "kubectl"
    kubectl.write_text(f"#!/bin/sh\nprintf '{said}{own}' >&2\nexit 1\n")
    kubectl.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))

    with KubectlProxy([], request_timeout=30) as proxy, pytest.raises(Unreachable, match=r"^no such context$"):
        proxy.get("/version")

    assert capfd.readouterr().err == said.replace("\\n", "\n")
