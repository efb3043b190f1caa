"""A running server's certificate, renewed under open connections."""

from __future__ import annotations

import ssl
import tempfile
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from tests.webhook.certificates.handshakes import Connection
from tests.webhook.certificates.rsa_pairs import rsa_pair
from webhook.certificates.pair import Pair, PairError, inspect, make_pair
from webhook.certificates.serving import ServingContext


def _pair() -> Pair:
    return make_pair(["localhost"], now=datetime.now(UTC), lifetime=timedelta(days=1))


def test_new_certificate_serves_new_connections_and_closes_none() -> None:
    old, new = _pair(), _pair()
    bundle = new.authority + old.authority
    serving = ServingContext()
    serving.load(old.certificate, old.key)
    with Connection(serving, trusting=bundle, name="localhost") as before:
        assert before.ask(b"one") == b"one"
        serving.load(new.certificate, new.key)
        assert before.ask(b"two") == b"two"
        with Connection(serving, trusting=bundle, name="localhost") as after:
            assert before.served.encode() == old.certificate
            assert after.served.encode() == new.certificate
            assert after.ask(b"three") == b"three"
            assert before.ask(b"four") == b"four"


def test_many_renewals_in_one_context() -> None:
    serving = ServingContext()
    pairs = [_pair() for _ in range(20)]
    for pair in pairs:
        serving.load(pair.certificate, pair.key)
        with Connection(serving, trusting=pair.authority, name="localhost") as connection:
            assert connection.served.encode() == pair.certificate


def test_no_key_is_left_on_the_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    serving, pair = ServingContext(), _pair()
    serving.load(pair.certificate, pair.key)
    with pytest.raises(PairError):
        serving.load(b"garbage", pair.key)
    assert list(tmp_path.iterdir()) == []


def test_unreadable_input_keeps_the_old_certificate() -> None:
    serving, pair = ServingContext(), _pair()
    serving.load(pair.certificate, pair.key)
    with pytest.raises(PairError):
        serving.load(b"garbage", pair.key)
    with Connection(serving, trusting=pair.authority, name="localhost") as connection:
        assert connection.served.encode() == pair.certificate


@pytest.mark.parametrize("key", ["RSA", "EC"])
def test_key_of_another_type_replaces_the_previous_one(key: str) -> None:
    """A context that is loaded twice would keep using the first of them."""
    pair, other = _pair(), rsa_pair()
    first, second = (pair, other) if key == "RSA" else (other, pair)
    serving = ServingContext()
    for served in (first, second):
        serving.load(served.certificate, served.key)
        with Connection(serving, trusting=served.authority, name="localhost") as connection:
            assert connection.served.encode() == served.certificate


def test_key_of_another_certificate_changes_nothing() -> None:
    first, second = _pair(), _pair()
    serving = ServingContext()
    serving.load(first.certificate, first.key)
    with pytest.raises(PairError, match="the key belongs to another certificate"):
        serving.load(second.certificate, first.key)
    with Connection(serving, trusting=first.authority, name="localhost") as connection:
        assert connection.served.encode() == first.certificate


def test_served_certificate_is_known() -> None:
    serving, pair = ServingContext(), _pair()
    assert serving.served is None
    serving.load(pair.certificate, pair.key)
    assert serving.served == inspect(pair.certificate, pair.key)


def test_a_client_needs_no_certificate_and_no_old_protocol() -> None:
    serving, pair = ServingContext(), _pair()
    serving.load(pair.certificate, pair.key)
    context = serving.context.now
    assert context.verify_mode is ssl.CERT_NONE
    assert context.minimum_version >= ssl.TLSVersion.TLSv1_2


def test_client_certificates_work_after_a_renewal(tmp_path: Path) -> None:
    authorities = tmp_path / "clients.crt"
    authorities.write_bytes(_pair().authority)
    serving = ServingContext(str(authorities))
    for pair in (_pair(), _pair()):
        serving.load(pair.certificate, pair.key)
        assert serving.context.now.verify_mode is ssl.CERT_OPTIONAL
        assert len(serving.context.now.get_ca_certs()) == 1


def test_missing_client_authorities_keep_the_old_certificate(tmp_path: Path) -> None:
    authorities, pair = tmp_path / "clients.crt", _pair()
    authorities.write_bytes(pair.authority)
    serving = ServingContext(str(authorities))
    serving.load(pair.certificate, pair.key)
    authorities.unlink()
    with pytest.raises(OSError, match="No such file"):
        serving.load(*_pair_files())
    with Connection(serving, trusting=pair.authority, name="localhost") as connection:
        assert connection.served.encode() == pair.certificate


def _pair_files() -> tuple[bytes, bytes]:
    pair = _pair()
    return pair.certificate, pair.key
