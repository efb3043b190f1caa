"""An authority and its only certificate, from the view of clients."""

from __future__ import annotations

import ssl
from datetime import UTC, datetime, timedelta

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec

from tests.webhook.certificates.handshakes import Connection, assert_served, serving_of
from webhook.certificates.pair import (
    CertificateFacts,
    Pair,
    PairError,
    authorities_in,
    inspect,
    is_signed_by,
    make_pair,
)

NOW = datetime.now(UTC)
LIFETIME = timedelta(days=90)
NAMES = ("qos-webhook.kube-system.svc", "*.example.com", "localhost", "127.0.0.1", "::1")


@pytest.fixture(scope="module")
def pair() -> Pair:
    return make_pair(NAMES, now=NOW, lifetime=LIFETIME)


@pytest.fixture(scope="module")
def other() -> Pair:
    return make_pair(NAMES, now=NOW, lifetime=LIFETIME)


@pytest.mark.parametrize("name", [*NAMES[2:], NAMES[0], "a.example.com"])
def test_a_client_that_trusts_the_authority_connects(pair: Pair, name: str) -> None:
    with Connection(serving_of(pair), trusting=pair.authority, name=name) as connection:
        assert connection.served.encode() == pair.certificate
        assert connection.ask(b"hello") == b"hello"


@pytest.mark.parametrize("name", ["qos-webhook.default.svc", "127.0.0.2", "::2", "example.com"])
def test_no_other_name_is_served(pair: Pair, name: str) -> None:
    with pytest.raises(ssl.SSLCertVerificationError, match="not valid for"):
        Connection(serving_of(pair), trusting=pair.authority, name=name)


def test_another_authority_of_the_same_names_is_not_trusted(pair: Pair, other: Pair) -> None:
    with pytest.raises(ssl.SSLCertVerificationError, match="unable to get local issuer certificate"):
        Connection(serving_of(pair), trusting=other.authority, name="localhost")


@pytest.mark.parametrize("reverse", [False, True])
def test_two_authorities_in_one_bundle_are_kept_apart(pair: Pair, other: Pair, reverse: bool) -> None:
    """Also if they were made at the same instant."""
    bundle = b"".join([pair.authority, other.authority][:: -1 if reverse else 1])
    for served in (pair, other):
        with Connection(serving_of(served), trusting=bundle, name="localhost") as connection:
            assert connection.served.encode() == served.certificate


@pytest.mark.parametrize(
    ("ahead", "problem"),
    [
        pytest.param(-timedelta(days=91), "certificate has expired", id="expired yesterday"),
        pytest.param(timedelta(hours=2), "certificate is not yet valid", id="made 2 h ahead"),
    ],
)
def test_outside_its_time_it_is_not_trusted(ahead: timedelta, problem: str) -> None:
    pair = make_pair(["localhost"], now=datetime.now(UTC) + ahead, lifetime=LIFETIME)
    with pytest.raises(ssl.SSLCertVerificationError, match=problem):
        Connection(serving_of(pair), trusting=pair.authority, name="localhost")


def test_client_with_a_clock_slightly_behind_trusts_it() -> None:
    pair = make_pair(["localhost"], now=datetime.now(UTC) + timedelta(minutes=55), lifetime=LIFETIME)
    assert_served(serving_of(pair), pair)


def test_the_longest_name() -> None:
    """A common name has at most 64 characters, a DNS name 253."""
    name = ".".join(["n" * 60] * 4)
    pair = make_pair([name], now=NOW, lifetime=LIFETIME)
    assert_served(serving_of(pair), pair, name)


def test_its_certificate_can_sign_nothing(pair: Pair) -> None:
    leaf = x509.load_pem_x509_certificate(pair.certificate)
    assert leaf.extensions.get_extension_for_class(x509.BasicConstraints).value.ca is False
    assert leaf.extensions.get_extension_for_class(x509.KeyUsage).value.key_cert_sign is False


def test_the_authoritys_key_is_not_kept(pair: Pair) -> None:
    authority = x509.load_pem_x509_certificate(pair.authority)
    kept = serialization.load_pem_private_key(pair.key, password=None)
    assert kept.public_key() != authority.public_key()
    assert pair.key.count(b"-----BEGIN") == 1


def test_inspect(pair: Pair) -> None:
    made = NOW.replace(microsecond=0)
    assert inspect(pair.certificate, pair.key) == CertificateFacts(
        frozenset(NAMES), made - timedelta(hours=1), made + LIFETIME
    )


def _encrypted() -> bytes:
    key = ec.generate_private_key(ec.SECP256R1())
    how = serialization.BestAvailableEncryption(b"secret")
    return key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, how)


@pytest.mark.parametrize(
    "spoil",
    [
        pytest.param(lambda pair, _: (b"", pair.key), id="no certificate"),
        pytest.param(lambda pair, _: (pair.certificate, b""), id="no key"),
        pytest.param(lambda pair, _: (b"\xff\x00", pair.key), id="not PEM"),
        pytest.param(lambda pair, _: (pair.certificate[:-60], pair.key), id="cut short"),
        pytest.param(lambda pair, _: (pair.certificate, pair.key[:60]), id="key cut short"),
        pytest.param(lambda pair, _: (pair.key, pair.certificate), id="exchanged"),
        pytest.param(lambda pair, other: (pair.certificate, other.key), id="another's key"),
        pytest.param(lambda pair, _: (pair.authority, pair.key), id="the authority's certificate"),
        pytest.param(lambda pair, _: (pair.certificate, _encrypted()), id="a key with a password"),
    ],
)
def test_invalid_pair_is_refused(pair: Pair, other: Pair, spoil: object) -> None:
    assert callable(spoil)
    with pytest.raises(PairError):
        inspect(*spoil(pair, other))


@pytest.mark.parametrize(
    ("bundle", "count"),
    [
        pytest.param(lambda pair, other: pair.authority + other.authority, 2, id="two"),
        pytest.param(lambda pair, _: b"# the first\n" + pair.authority + b"\n\n", 1, id="with a comment"),
        pytest.param(lambda _, __: b"", 0, id="none"),
        pytest.param(lambda _, __: b"garbage", 0, id="garbage"),
        pytest.param(lambda pair, _: pair.key, 0, id="a key"),
    ],
)
def test_authorities_in(pair: Pair, other: Pair, bundle: object, count: int) -> None:
    assert callable(bundle)
    wanted = (pair.authority, other.authority)[:count]
    assert authorities_in(bundle(pair, other), now=NOW) == wanted


def test_expired_authority_is_omitted(pair: Pair) -> None:
    old = make_pair(["localhost"], now=NOW - LIFETIME, lifetime=LIFETIME)
    both = authorities_in(old.authority + pair.authority, now=NOW - timedelta(seconds=1))
    assert both == (old.authority, pair.authority)
    assert authorities_in(old.authority + pair.authority, now=NOW) == (pair.authority,)


def _flipped(certificate: bytes, byte: int) -> bytes:
    """The certificate with one bit changed."""
    der = bytearray(ssl.PEM_cert_to_DER_cert(certificate.decode()))
    der[byte] ^= 1
    return ssl.DER_cert_to_PEM_cert(bytes(der)).encode()


@pytest.mark.filterwarnings("ignore")
def test_every_flipped_bit_raises_the_same_error(pair: Pair) -> None:
    """Cryptography raises a different exception for each kind of damage; all become ours."""
    for byte in range(len(ssl.PEM_cert_to_DER_cert(pair.certificate.decode()))):
        spoilt = _flipped(pair.certificate, byte)
        authorities_in(spoilt, now=NOW)
        try:
            inspect(spoilt, pair.key)
        except PairError:
            continue


def test_signer_of_a_certificate(pair: Pair, other: Pair) -> None:
    assert is_signed_by(pair.certificate, pair.authority)
    assert not is_signed_by(pair.certificate, other.authority)
