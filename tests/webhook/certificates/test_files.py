"""A certificate in files that a kubelet or another program writes."""

from __future__ import annotations

import logging
import os
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from tests.table import row, table
from tests.webhook.certificates.handshakes import assert_served, localhost_pair
from tests.webhook.certificates.mounted import Mounted
from webhook.certificates.pair import Pair
from webhook.certificates.serving import CertificateStatus, ServingContext, WatchedFiles
from webhook.settings import CertificateFiles


@pytest.fixture
def mounted(tmp_path: Path) -> Mounted:
    return Mounted(tmp_path)


def _in_place(folder: Path, pair: Pair) -> CertificateFiles:
    """Files that are written in place."""
    (folder / "tls.crt").write_bytes(pair.certificate)
    (folder / "tls.key").write_bytes(pair.key)
    return CertificateFiles(str(folder / "tls.crt"), str(folder / "tls.key"))


def test_another_secret_is_served(mounted: Mounted) -> None:
    serving, pairs = ServingContext(), [localhost_pair() for _ in range(3)]
    mounted.write(pairs[0].certificate, pairs[0].key)
    watched = WatchedFiles(mounted.files, serving)
    assert watched.ready
    for number, pair in enumerate(pairs[1:], 1):
        mounted.write(pair.certificate, pair.key)
        watched.check()
        assert_served(serving, pair)
        assert watched.status().renewals == number


def test_the_same_content_is_no_renewal(mounted: Mounted) -> None:
    serving, pair = ServingContext(), localhost_pair()
    mounted.write(pair.certificate, pair.key)
    watched = WatchedFiles(mounted.files, serving)
    mounted.write(pair.certificate, pair.key)
    watched.check()
    assert watched.status().renewals == 0


def test_one_file_of_both(tmp_path: Path) -> None:
    serving, pair = ServingContext(), localhost_pair()
    file = tmp_path / "both.pem"
    file.write_bytes(pair.certificate + pair.key)
    WatchedFiles(CertificateFiles(str(file), str(file)), serving)
    assert_served(serving, pair)


@pytest.mark.parametrize("first", ["tls.crt", "tls.key"])
def test_A_half_written_pair_keeps_the_old_one(tmp_path: Path, first: str, caplog: pytest.LogCaptureFixture) -> None:
    """Written in place, one file after the other."""
    serving, old, new = ServingContext(), localhost_pair(), localhost_pair()
    files = _in_place(tmp_path, old)
    watched = WatchedFiles(files, serving)
    (tmp_path / first).write_bytes(new.certificate if first == "tls.crt" else new.key)
    with caplog.at_level(logging.WARNING):
        for _ in range(3):
            watched.check()
    assert_served(serving, old)
    problem = "the key belongs to another certificate; the previous certificate stays in use"
    assert caplog.messages == [f"{files.certificate}: {problem}"]
    _in_place(tmp_path, new)
    watched.check()
    assert_served(serving, new)
    assert (watched.status().renewals, watched.status().failures) == (1, 1)


@pytest.mark.parametrize("spoilt", [b"", b"garbage", b"\xff\x00"])
def test_unusable_files_keep_the_old_certificate(mounted: Mounted, spoilt: bytes) -> None:
    serving, pair = ServingContext(), localhost_pair()
    mounted.write(pair.certificate, pair.key)
    watched = WatchedFiles(mounted.files, serving)
    mounted.write(spoilt, spoilt)
    watched.check()
    assert_served(serving, pair)
    assert watched.status().failures == 1


def test_missing_files_keep_the_old_certificate(mounted: Mounted, tmp_path: Path) -> None:
    serving, old, new = ServingContext(), localhost_pair(), localhost_pair()
    mounted.write(old.certificate, old.key)
    watched = WatchedFiles(mounted.files, serving)
    (tmp_path / "..data").unlink()
    watched.check()
    assert_served(serving, old)
    mounted.write(new.certificate, new.key)
    watched.check()
    assert_served(serving, new)


@pytest.mark.parametrize("missing", ["tls.crt", "tls.key"])
def test_files_that_are_missing_at_the_start(tmp_path: Path, missing: str) -> None:
    files = _in_place(tmp_path, localhost_pair())
    (tmp_path / missing).unlink()
    with pytest.raises(OSError, match=f"No such file or directory: '.*{missing}'"):
        WatchedFiles(files, ServingContext())


PAIR = localhost_pair()


@table(
    "certificate, problem",
    {
        "another's": row(localhost_pair().certificate, "the key belongs to another certificate"),
        "without names": row(
            PAIR.authority, "the certificate has no SAN: issue it with the DNS name that clients call"
        ),
    },
)
def test_files_that_cannot_be_served_at_the_start(mounted: Mounted, certificate: bytes, problem: str) -> None:
    mounted.write(certificate, PAIR.key)
    with pytest.raises(OSError, match=rf"tls\.crt, .*tls\.key: {problem}"):
        WatchedFiles(mounted.files, ServingContext())


def test_expiry_of_the_files(mounted: Mounted) -> None:
    """Among the authorities behind the certificate in its file, the first to expire counts."""
    pair, long = localhost_pair(days=2), localhost_pair(days=30)
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
    serving, pair = ServingContext(), localhost_pair()
    watched = WatchedFiles(_in_place(tmp_path, pair), serving)
    (tmp_path / "tls.crt").unlink()
    (tmp_path / "tls.crt").symlink_to(os.devnull.replace("null", "zero"))
    watched.check()
    assert_served(serving, pair)
