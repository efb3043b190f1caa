"""A certificate in files that a kubelet or another program writes."""

from __future__ import annotations

import logging
import os
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from tests.webhook.certificates.handshakes import Connection
from tests.webhook.certificates.mounted import Mounted
from webhook.certificates.pair import Pair, make_pair
from webhook.certificates.serving import CertificateStatus, ServingContext, WatchedFiles
from webhook.settings import CertificateFiles


def _pair(days: int = 1) -> Pair:
    return make_pair(["localhost"], now=datetime.now(UTC), lifetime=timedelta(days=days))


@pytest.fixture
def mounted(tmp_path: Path) -> Mounted:
    return Mounted(tmp_path)


def _assert_served(serving: ServingContext, pair: Pair) -> None:
    with Connection(serving, trusting=pair.authority, name="localhost") as connection:
        assert connection.served.encode() == pair.certificate


def test_another_secret_is_served(mounted: Mounted) -> None:
    serving, pairs = ServingContext(), [_pair() for _ in range(3)]
    mounted.write(pairs[0].certificate, pairs[0].key)
    watched = WatchedFiles(mounted.files, serving)
    assert watched.ready
    for number, pair in enumerate(pairs[1:], 1):
        mounted.write(pair.certificate, pair.key)
        watched.check()
        _assert_served(serving, pair)
        assert watched.status().renewals == number


def test_the_same_content_is_no_renewal(mounted: Mounted) -> None:
    serving, pair = ServingContext(), _pair()
    mounted.write(pair.certificate, pair.key)
    watched = WatchedFiles(mounted.files, serving)
    mounted.write(pair.certificate, pair.key)
    watched.check()
    assert watched.status().renewals == 0


def test_one_file_of_both(tmp_path: Path) -> None:
    serving, pair = ServingContext(), _pair()
    file = tmp_path / "both.pem"
    file.write_bytes(pair.certificate + pair.key)
    WatchedFiles(CertificateFiles(str(file), str(file)), serving)
    _assert_served(serving, pair)


@pytest.mark.parametrize("first", ["tls.crt", "tls.key"])
def test_A_half_written_pair_keeps_the_old_one(tmp_path: Path, first: str, caplog: pytest.LogCaptureFixture) -> None:
    """Written in place, one file after the other."""
    serving, old, new = ServingContext(), _pair(), _pair()
    contents = {"tls.crt": (old.certificate, new.certificate), "tls.key": (old.key, new.key)}
    for name, (before, _) in contents.items():
        (tmp_path / name).write_bytes(before)
    watched = WatchedFiles(CertificateFiles(str(tmp_path / "tls.crt"), str(tmp_path / "tls.key")), serving)
    (tmp_path / first).write_bytes(contents[first][1])
    with caplog.at_level(logging.WARNING):
        for _ in range(3):
            watched.check()
    _assert_served(serving, old)
    (said,) = caplog.messages
    assert (
        said == f"{tmp_path / 'tls.crt'}: the key belongs to another certificate; the previous certificate stays in use"
    )
    for name, (_, after) in contents.items():
        (tmp_path / name).write_bytes(after)
    watched.check()
    _assert_served(serving, new)
    assert (watched.status().renewals, watched.status().failures) == (1, 1)


@pytest.mark.parametrize("spoilt", [b"", b"garbage", b"\xff\x00"])
def test_unusable_files_keep_the_old_certificate(mounted: Mounted, spoilt: bytes) -> None:
    serving, pair = ServingContext(), _pair()
    mounted.write(pair.certificate, pair.key)
    watched = WatchedFiles(mounted.files, serving)
    mounted.write(spoilt, spoilt)
    watched.check()
    _assert_served(serving, pair)
    assert watched.status().failures == 1


def test_missing_files_keep_the_old_certificate(mounted: Mounted, tmp_path: Path) -> None:
    serving, old, new = ServingContext(), _pair(), _pair()
    mounted.write(old.certificate, old.key)
    watched = WatchedFiles(mounted.files, serving)
    (tmp_path / "..data").unlink()
    watched.check()
    _assert_served(serving, old)
    mounted.write(new.certificate, new.key)
    watched.check()
    _assert_served(serving, new)


@pytest.mark.parametrize("missing", ["tls.crt", "tls.key"])
def test_files_that_are_missing_at_the_start(tmp_path: Path, missing: str) -> None:
    pair = _pair()
    (tmp_path / "tls.crt").write_bytes(pair.certificate)
    (tmp_path / "tls.key").write_bytes(pair.key)
    (tmp_path / missing).unlink()
    with pytest.raises(OSError, match=f"No such file or directory: '.*{missing}'"):
        WatchedFiles(CertificateFiles(str(tmp_path / "tls.crt"), str(tmp_path / "tls.key")), ServingContext())


def test_files_that_do_not_belong_together_at_the_start(mounted: Mounted) -> None:
    mounted.write(_pair().certificate, _pair().key)
    with pytest.raises(OSError, match=r"tls\.crt, .*tls\.key: the key belongs to another certificate"):
        WatchedFiles(mounted.files, ServingContext())


def test_expiry_of_the_files(mounted: Mounted) -> None:
    """Among the authorities behind the certificate in its file, the first to expire counts."""
    pair, long = _pair(days=2), _pair(days=30)
    mounted.write(pair.certificate, pair.key)
    watched = WatchedFiles(mounted.files, ServingContext())
    end = watched.status().not_after
    assert end is not None
    assert timedelta(days=1) < end - datetime.now(UTC) < timedelta(days=2)
    assert watched.status() == CertificateStatus(
        not_after=end, authority_not_after=None, writer=False, renewals=0, failures=0
    )
    mounted.write(pair.certificate + long.authority + pair.authority, pair.key)
    watched.check()
    assert watched.status().authority_not_after == end


def test_a_file_without_end_is_read_to_a_limit(tmp_path: Path) -> None:
    pair = _pair()
    (tmp_path / "tls.crt").write_bytes(pair.certificate)
    (tmp_path / "tls.key").write_bytes(pair.key)
    serving = ServingContext()
    watched = WatchedFiles(CertificateFiles(str(tmp_path / "tls.crt"), str(tmp_path / "tls.key")), serving)
    (tmp_path / "tls.crt").unlink()
    (tmp_path / "tls.crt").symlink_to(os.devnull.replace("null", "zero"))
    watched.check()
    _assert_served(serving, pair)
