"""The messages of ``kubectl proxy`` and of the API server that reach the user."""

from __future__ import annotations

import atexit
import os
import signal
import tempfile
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from cluster_io.errors import Unreachable
from cluster_io.live.responses import lines_of, warning_text
from cluster_io.live.transport import KubectlProxy
from tests.waiting import wait_for


@pytest.mark.parametrize("own", ["error: no such context\\n", "W1122 03:04:05 a warning\\nerror: no such context\\n"])
@pytest.mark.parametrize("said", ["", "To sign in, enter the code ABCD\\n"])
def test_user_prompts_differ_from_kubectl_log_lines(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], said: str, own: str
) -> None:
    """Also if both arrive in one piece, which happens by chance."""
    kubectl = tmp_path / "kubectl"
    kubectl.write_text(f"#!/bin/sh\nprintf '{said}{own}' >&2\nexit 1\n")
    kubectl.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))

    with KubectlProxy([], request_timeout=30) as proxy, pytest.raises(Unreachable, match=r"^no such context$"):
        proxy.get("/version")

    assert capfd.readouterr().err == said.replace("\\n", "\n")


@pytest.mark.parametrize(
    ("header", "text"),
    [
        (b'Warning: 299 - "Immediate deletion does not wait."', "Immediate deletion does not wait."),
        (b'warning:299 kube "say \\"when\\", C:\\\\"', 'say "when", C:\\'),
        (b'Warning: 299 - "\xc3\xa9 \xff"', "\N{LATIN SMALL LETTER E WITH ACUTE} \N{REPLACEMENT CHARACTER}"),
        (b'Warning: 199 - "another agent\'s"', ""),
        (b'X-Warning: 299 - "no warning"', ""),
    ],
    ids=["plain", "quotes and backslashes", "not UTF-8", "another code", "another header"],
)
def test_text_of_a_warning(header: bytes, text: str) -> None:
    assert warning_text(header) == text


@pytest.fixture
def runtime() -> Iterator[Path]:
    """A folder with a short path, as a socket needs."""
    with tempfile.TemporaryDirectory(prefix="qos-") as folder:
        yield Path(folder)


def test_signal_at_startup_leaves_no_process(tmp_path: Path, runtime: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also before the thread runs that forwards kubectl's messages."""
    kubectl = tmp_path / "kubectl"
    kubectl.write_text("#!/bin/sh\nexec /bin/sleep 600\n")
    kubectl.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(runtime))
    at_exit: list[Callable[[], None]] = []

    def interrupted(_: threading.Thread) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(atexit, "register", at_exit.append)
        patched.setattr(threading.Thread, "start", interrupted)
        with pytest.raises(KeyboardInterrupt):
            KubectlProxy([], request_timeout=30)
    assert list(runtime.iterdir())

    for tidy_up in at_exit:
        tidy_up()

    assert not list(runtime.iterdir())


def test_output_after_kubectl_is_read_to_its_end(
    tmp_path: Path, runtime: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As a child of a credential plugin: it keeps kubectl's standard error open."""
    kubectl, other = tmp_path / "kubectl", tmp_path / "other"
    lines = (
        "#!/bin/sh",
        "/bin/sleep 600 >/dev/null &",
        f"echo $! >{other}",
        "echo Starting to serve",
        "exec /bin/sleep 600",
    )
    kubectl.write_text("\n".join(lines))
    kubectl.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(runtime))
    proxy = KubectlProxy([], request_timeout=30)
    process, reader = proxy._process, proxy._forwarder
    assert process is not None
    assert process.stderr is not None
    assert reader is not None
    # As after the timeout of one second: threads wait with a clock that is independent of the date.
    monkeypatch.setattr(reader, "join", lambda timeout: None)  # noqa: ARG005 - as it is called
    try:
        wait_for(lambda: other.exists() and other.read_text().endswith("\n"), "the other one runs")
        proxy.close()
        assert process.poll() is not None
        assert reader.is_alive()
        assert not process.stderr.closed
    finally:
        os.kill(int(other.read_text()), signal.SIGKILL)
    wait_for(lambda: not reader.is_alive(), "the reader has come to the end")
    assert process.stderr.closed


@pytest.mark.parametrize("size", [1, 2, 5, 100])
def test_lines_come_whole_and_up_to_their_limit(size: int) -> None:
    text = b"one\n\nseventeen-letters\ntwo\nunfinished"
    chunks = [text[start : start + size] for start in range(0, len(text), size)]
    assert list(lines_of(iter(chunks))) == [b"one", b"", b"seventeen-letters", b"two"]
    assert list(lines_of(iter(chunks), 5)) == [b"one", b"", b"seven", b"two"]
