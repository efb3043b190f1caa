"""A running server's certificate, renewed under open connections."""

from __future__ import annotations

import ssl
import tempfile
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from tests.webhook.certificates.handshakes import Connection
from webhook.certificates.pair import Pair, make_pair
from webhook.certificates.serving import ServingContext


def _pair() -> Pair:
    return make_pair(["localhost"], now=datetime.now(UTC), lifetime=timedelta(days=1))


def test_a_new_certificate_is_served_to_new_connections_and_cuts_none() -> None:
    old, new = _pair(), _pair()
    bundle = new.authority + old.authority
    serving = ServingContext()
    assert serving.load(old.certificate, old.key)
    with Connection(serving.context, trusting=bundle, name="localhost") as before:
        assert before.ask(b"one") == b"one"
        assert serving.load(new.certificate, new.key)
        assert before.ask(b"two") == b"two"
        with Connection(serving.context, trusting=bundle, name="localhost") as after:
            assert before.served.encode() == old.certificate
            assert after.served.encode() == new.certificate
            assert after.ask(b"three") == b"three"
            assert before.ask(b"four") == b"four"


def test_many_renewals_in_one_context() -> None:
    serving = ServingContext()
    pairs = [_pair() for _ in range(20)]
    for pair in pairs:
        serving.load(pair.certificate, pair.key)
        with Connection(serving.context, trusting=pair.authority, name="localhost") as connection:
            assert connection.served.encode() == pair.certificate


def test_the_same_certificate_again_is_no_change() -> None:
    serving, pair = ServingContext(), _pair()
    assert serving.load(pair.certificate, pair.key)
    assert not serving.load(pair.certificate, pair.key)
    with Connection(serving.context, trusting=pair.authority, name="localhost") as connection:
        assert connection.served.encode() == pair.certificate


def test_no_key_is_left_on_the_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    serving, pair = ServingContext(), _pair()
    serving.load(pair.certificate, pair.key)
    with pytest.raises(ssl.SSLError):
        serving.load(b"garbage", pair.key)
    assert list(tmp_path.iterdir()) == []


def test_what_cannot_be_read_leaves_the_old_certificate() -> None:
    serving, pair = ServingContext(), _pair()
    serving.load(pair.certificate, pair.key)
    with pytest.raises(ssl.SSLError):
        serving.load(b"garbage", pair.key)
    with Connection(serving.context, trusting=pair.authority, name="localhost") as connection:
        assert connection.served.encode() == pair.certificate


@pytest.mark.parametrize("together", [False, True])
def test_files(tmp_path: Path, together: bool) -> None:
    pair, serving = _pair(), ServingContext()
    certificate, key = tmp_path / "tls.crt", tmp_path / "tls.key"
    certificate.write_bytes(pair.certificate + (pair.key if together else b""))
    key.write_bytes(pair.key)
    serving.load_files(certificate, None if together else key)
    with Connection(serving.context, trusting=pair.authority, name="localhost") as connection:
        assert connection.served.encode() == pair.certificate


@pytest.mark.parametrize("missing", ["tls.crt", "tls.key"])
def test_files_that_are_missing(tmp_path: Path, missing: str) -> None:
    pair = _pair()
    (tmp_path / "tls.crt").write_bytes(pair.certificate)
    (tmp_path / "tls.key").write_bytes(pair.key)
    (tmp_path / missing).unlink()
    with pytest.raises(OSError, match="No such file"):
        ServingContext().load_files(tmp_path / "tls.crt", tmp_path / "tls.key")


def test_files_that_do_not_belong_together(tmp_path: Path) -> None:
    (tmp_path / "tls.crt").write_bytes(_pair().certificate)
    (tmp_path / "tls.key").write_bytes(_pair().key)
    with pytest.raises(ssl.SSLError, match="mismatch"):
        ServingContext().load_files(tmp_path / "tls.crt", tmp_path / "tls.key")


def test_a_client_needs_no_certificate_and_no_old_protocol() -> None:
    serving = ServingContext()
    assert serving.context.verify_mode is ssl.CERT_NONE
    assert serving.context.minimum_version >= ssl.TLSVersion.TLSv1_2


def test_a_load_that_failed_can_be_mended() -> None:
    first, second = (make_pair(["localhost"], now=datetime.now(UTC), lifetime=timedelta(days=1)) for _ in range(2))
    serving = ServingContext()
    serving.load(first.certificate, first.key)
    with pytest.raises(ssl.SSLError):
        serving.load(second.certificate, first.key)
    assert serving.load(first.certificate, first.key)
    with Connection(serving.context, trusting=first.authority, name="localhost") as connection:
        assert connection.served.encode() == first.certificate
