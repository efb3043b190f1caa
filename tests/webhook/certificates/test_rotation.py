"""Renewal of the certificate: each step, and whole lifetimes with replicas and clients that lag."""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import NamedTuple

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.verification import PolicyBuilder, Store, VerificationError
from msgspec.structs import replace

from webhook.certificates import pair
from webhook.certificates.pair import (
    BACKDATED,
    RotationStep,
    StoredCertificates,
    authorities_in,
    inspect,
    is_signed_by,
    make_pair,
    next_step,
    to_serve,
)

START = datetime(2026, 11, 21, 3, 11, tzinfo=UTC)
LIFETIME = timedelta(days=90)
NAMES = ("qos-webhook.kube-system.svc", "127.0.0.1")
SECOND = timedelta(seconds=1)
MINUTE = timedelta(minutes=1)
HOUR = timedelta(hours=1)
RENEWAL = START + timedelta(days=60)
STAGED = RENEWAL + timedelta(days=1)
"""When the next certificate was made, in the tests below: slightly late."""
OTHER = make_pair(NAMES, now=START, lifetime=LIFETIME)
Spoilt = Mapping[str, bytes]
GARBAGE = b"-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"


def _step(kept: StoredCertificates, now: datetime, *, names: Sequence[str] = NAMES, known: bool = True) -> RotationStep:
    """``known``: clients have known the authorities since they were stored."""
    try:
        made = _validity(kept.next_certificate or kept.certificate)[0] + BACKDATED
    except ValueError:
        made = now
    since = made if known else None
    return next_step(kept, names, now=now, lifetime=LIFETIME, announced_since=since)


@lru_cache
def _signed(certificate: bytes, bundle: bytes, now: datetime, name: str = NAMES[0]) -> bool:
    """Whether a client with this bundle and this clock trusts the certificate, as cryptography's own verifier sees."""
    authorities = x509.load_pem_x509_certificates(bundle) if bundle else []
    if not authorities:
        return False
    verifier = PolicyBuilder().store(Store(authorities)).time(now).build_server_verifier(x509.DNSName(name))
    try:
        verifier.verify(x509.load_pem_x509_certificate(certificate), [])
    except VerificationError:
        return False
    return True


@lru_cache
def _validity(certificate: bytes) -> tuple[datetime, datetime]:
    found = x509.load_pem_x509_certificate(certificate)
    return found.not_valid_before_utc, found.not_valid_after_utc


def _trusted(certificate: bytes, bundle: bytes, now: datetime, name: str = NAMES[0]) -> bool:
    """Whether a client with this bundle trusts the certificate now; its authority is valid for as long as it is."""
    begin, end = _validity(certificate)
    return begin <= now < end and _signed(certificate, bundle, begin + timedelta(seconds=1), name)


@pytest.fixture(scope="module")
def fresh() -> StoredCertificates:
    """The stored certificates since `START`."""
    return _step(StoredCertificates(), START).kept


@pytest.fixture(scope="module")
def staged(fresh: StoredCertificates) -> StoredCertificates:
    """The stored certificates since `STAGED`."""
    return _step(fresh, STAGED).kept


def test_nothing_kept() -> None:
    step = _step(StoredCertificates(), START)
    kept = step.kept
    assert inspect(kept.certificate, kept.key).names == set(NAMES)
    assert _trusted(kept.certificate, kept.authorities, START)
    assert (kept.next_certificate, kept.next_key) == (b"", b"")
    assert step.next_decision == RENEWAL


@pytest.mark.parametrize("known", [True, False])
@pytest.mark.parametrize("age", [timedelta(0), timedelta(days=1), timedelta(days=60) - timedelta(seconds=1)])
def test_nothing_is_due_before_two_thirds_of_the_lifetime(
    fresh: StoredCertificates, age: timedelta, known: bool
) -> None:
    assert _step(fresh, START + age, known=known) == RotationStep(fresh, RENEWAL)


@pytest.mark.parametrize("late", [timedelta(0), timedelta(days=1), timedelta(days=29)])
def test_next_one_is_staged_and_announced_beside_present_one(fresh: StoredCertificates, late: timedelta) -> None:
    now = RENEWAL + late
    step = _step(fresh, now)
    kept = step.kept
    assert (kept.certificate, kept.key) == (fresh.certificate, fresh.key)
    assert kept.next_certificate not in {b"", fresh.certificate}
    assert _trusted(kept.next_certificate, kept.authorities, now)
    assert _trusted(kept.certificate, kept.authorities, now)
    assert kept.authorities.endswith(fresh.authorities)
    assert step.next_decision == now + MINUTE


@pytest.mark.parametrize(
    ("after", "known", "serves"),
    [
        pytest.param(timedelta(0), True, False, id="just staged"),
        pytest.param(timedelta(seconds=59), True, False, id="known, not settled"),
        pytest.param(timedelta(seconds=60), True, True, id="known and settled"),
        pytest.param(timedelta(seconds=60), False, False, id="settled, not known"),
        pytest.param(timedelta(days=20), False, False, id="not known for long"),
        pytest.param(timedelta(days=20), True, True, id="known late"),
    ],
)
def test_staged_one_is_served_after_the_settling_time(
    staged: StoredCertificates, after: timedelta, known: bool, serves: bool
) -> None:
    step = _step(staged, STAGED + after, known=known)
    if serves:
        assert step.kept == StoredCertificates(staged.next_certificate, staged.next_key, authorities=staged.authorities)
        assert step.next_decision == STAGED + timedelta(days=60)
    else:
        assert step.kept == staged
        assert STAGED + after < step.next_decision <= STAGED + after + MINUTE


@pytest.mark.parametrize("back", [timedelta(minutes=1), timedelta(hours=1)])
def test_a_clock_set_back_a_little_changes_nothing(fresh: StoredCertificates, back: timedelta) -> None:
    assert _step(fresh, START - back) == RotationStep(fresh, RENEWAL)


def test_clock_before_the_certificate_makes_another_trusts_both(fresh: StoredCertificates) -> None:
    now = START - timedelta(days=1)
    kept = _step(fresh, now).kept
    assert kept.certificate != fresh.certificate
    assert _trusted(kept.certificate, kept.authorities, now)
    assert _trusted(fresh.certificate, kept.authorities, START)


def test_clock_set_back_while_staged_serves_the_present_one(staged: StoredCertificates) -> None:
    now = START + timedelta(days=30)
    kept = _step(staged, now).kept
    assert (kept.certificate, kept.next_certificate) == (staged.certificate, b"")
    assert _trusted(kept.certificate, kept.authorities, now)


@pytest.mark.parametrize(
    "spoilt",
    [
        pytest.param({"certificate": b""}, id="no certificate"),
        pytest.param({"certificate": GARBAGE}, id="certificate of garbage"),
        pytest.param({"certificate": OTHER.certificate[:-50]}, id="certificate cut short"),
        pytest.param({"key": b""}, id="no key"),
        pytest.param({"key": b"\x00\xff"}, id="key of garbage"),
        pytest.param({"key": OTHER.key}, id="another's key"),
    ],
)
@pytest.mark.parametrize("known", [True, False])
def test_unusable_certificate_is_replaced_at_once(fresh: StoredCertificates, spoilt: Spoilt, known: bool) -> None:
    """Replicas that serve the previously stored certificate are still trusted."""
    now = START + timedelta(days=1)
    kept = _step(replace(fresh, **spoilt), now, known=known).kept
    assert kept.certificate != fresh.certificate
    assert _trusted(kept.certificate, kept.authorities, now)
    assert _trusted(fresh.certificate, kept.authorities, now)
    assert _step(kept, now + MINUTE) == RotationStep(kept, now + timedelta(days=60))


@pytest.mark.parametrize(
    "spoilt",
    [
        pytest.param({"next_certificate": b""}, id="no certificate"),
        pytest.param({"next_certificate": GARBAGE}, id="certificate of garbage"),
        pytest.param({"next_key": OTHER.key}, id="another's key"),
        pytest.param({"next_key": b""}, id="no key"),
    ],
)
def test_unusable_staged_certificate_is_never_served(staged: StoredCertificates, spoilt: Spoilt) -> None:
    now = STAGED + 2 * MINUTE
    kept = _step(replace(staged, **spoilt), now).kept
    assert kept.certificate == staged.certificate
    assert kept.next_certificate not in {b"", staged.next_certificate}
    assert _trusted(kept.next_certificate, kept.authorities, now)
    assert _trusted(kept.certificate, kept.authorities, now)


def test_expired_and_its_authority_forgotten(fresh: StoredCertificates) -> None:
    now = START + LIFETIME
    kept = _step(fresh, now).kept
    assert kept.certificate != fresh.certificate
    assert _trusted(kept.certificate, kept.authorities, now)
    assert authorities_in(kept.authorities, now=START) == authorities_in(kept.authorities, now=now)
    assert fresh.authorities not in kept.authorities


def test_fewer_names_keep_the_present_one_and_stay_in_the_next(fresh: StoredCertificates) -> None:
    """So that the old and the new version of a deployment do not replace each other's certificate in turn."""
    assert _step(fresh, START + timedelta(days=1), names=NAMES[:1]) == RotationStep(fresh, RENEWAL)
    kept = _step(fresh, STAGED, names=NAMES[:1]).kept
    assert inspect(kept.next_certificate, kept.next_key).names == set(NAMES)


def test_the_order_of_names_is_no_change(fresh: StoredCertificates) -> None:
    assert _step(fresh, START + timedelta(days=1), names=NAMES[::-1]) == RotationStep(fresh, RENEWAL)


def test_more_names_are_staged_while_the_present_one_is_good(fresh: StoredCertificates) -> None:
    now = START + timedelta(days=1)
    kept = _step(fresh, now, names=[*NAMES, "qos.example.com"]).kept
    assert kept.certificate == fresh.certificate
    assert _trusted(kept.next_certificate, kept.authorities, now, "qos.example.com")
    served = _step(kept, now + MINUTE, names=[*NAMES, "qos.example.com"]).kept
    assert served.certificate == kept.next_certificate


@pytest.mark.parametrize("name", ["0:0:0:0:0:0:0:1", "FE80::1", "2001:DB8::7"])
def test_an_address_in_another_spelling_is_no_change(name: str) -> None:
    kept = _step(StoredCertificates(), START, names=[name]).kept
    assert _step(kept, START + MINUTE, names=[name]).kept == kept


def test_two_versions_with_different_names_do_not_take_turns(fresh: StoredCertificates) -> None:
    now, kept, made = START, fresh, set()
    for _ in range(20):
        for names in (["a.svc", "b.svc"], ["a.svc", "c.svc"]):
            now += MINUTE
            kept = _step(kept, now, names=names).kept
            made |= {kept.certificate, kept.next_certificate} - {b""}
    assert inspect(kept.certificate, kept.key).names >= {"a.svc", "b.svc", "c.svc"}
    assert len(made) <= 4


@pytest.mark.parametrize(
    "bundle",
    [
        pytest.param(b"", id="none"),
        pytest.param(b"garbage", id="garbage"),
        pytest.param(OTHER.authority, id="another's"),
    ],
)
def test_certificate_without_stored_authority_is_replaced(fresh: StoredCertificates, bundle: bytes) -> None:
    now = START + timedelta(days=1)
    kept = _step(replace(fresh, authorities=bundle), now).kept
    assert _trusted(kept.certificate, kept.authorities, now)


def test_a_staged_one_is_served_when_the_present_one_has_expired(staged: StoredCertificates) -> None:
    """Like after a long absence of all replicas: clients know the staged one, and no client knows a new one."""
    kept = _step(staged, START + LIFETIME + HOUR).kept
    assert kept.certificate == staged.next_certificate


@pytest.mark.parametrize(
    "spoilt",
    [
        pytest.param({"certificate": b"", "key": b"", "authorities": b""}, id="deleted or emptied"),
        pytest.param({"certificate": GARBAGE}, id="certificate of garbage"),
        pytest.param({"key": OTHER.key}, id="another's key"),
    ],
)
@pytest.mark.parametrize("known", [True, False])
def test_lost_secret_is_restored_and_the_next_one_is_staged(
    fresh: StoredCertificates, spoilt: Spoilt, known: bool
) -> None:
    now, lost, since = START + timedelta(days=1), replace(fresh, **spoilt), START if known else None
    kept = next_step(lost, NAMES, now=now, lifetime=LIFETIME, announced_since=since, served=fresh).kept
    assert (kept.certificate, kept.key) == (fresh.certificate, fresh.key)
    assert _trusted(kept.next_certificate, kept.authorities, now)
    assert kept.authorities.endswith(fresh.authorities)
    # Once is enough.
    assert next_step(kept, NAMES, now=now, lifetime=LIFETIME, announced_since=None, served=fresh).kept == kept


def test_lost_secret_is_not_staged_twice(staged: StoredCertificates) -> None:
    spoilt = replace(staged, certificate=b"")
    kept = next_step(spoilt, NAMES, now=STAGED, lifetime=LIFETIME, announced_since=STAGED, served=staged).kept
    assert kept == staged


def test_expired_certificate_is_not_restored(fresh: StoredCertificates) -> None:
    now = START + LIFETIME
    kept = next_step(StoredCertificates(), NAMES, now=now, lifetime=LIFETIME, announced_since=None, served=fresh).kept
    assert kept.certificate != fresh.certificate
    assert fresh.authorities not in kept.authorities


def test_removed_authority_is_announced_before_anything_else(staged: StoredCertificates) -> None:
    """Clients that know the stored authorities do not know this one."""
    now = STAGED + timedelta(days=1)
    newest, _ = authorities_in(staged.authorities, now=now)
    cut = replace(staged, authorities=newest)
    kept = next_step(cut, NAMES, now=now, lifetime=LIFETIME, announced_since=STAGED, served=staged).kept
    assert kept == replace(staged, authorities=staged.authorities)


def _to_serve(
    kept: StoredCertificates, served: StoredCertificates, now: datetime, announced_since: datetime | None
) -> tuple[StoredCertificates, datetime]:
    return to_serve(kept, served, now=now, lifetime=LIFETIME, announced_since=announced_since)


def test_stored_certificate_is_served_at_once_if_none_is(fresh: StoredCertificates) -> None:
    assert _to_serve(fresh, StoredCertificates(), START, None)[0] == fresh


def test_unknown_authority_waits_while_the_served_one_is_usable(fresh: StoredCertificates) -> None:
    foreign = StoredCertificates(OTHER.certificate, OTHER.key, authorities=OTHER.authority)
    now = START + timedelta(days=1)
    assert _to_serve(foreign, fresh, now, None)[0] == fresh
    assert _to_serve(foreign, fresh, now, now) == (fresh, now + MINUTE)
    assert _to_serve(foreign, fresh, now + MINUTE, now)[0] == foreign


def test_unknown_authority_is_served_when_the_other_has_expired(fresh: StoredCertificates) -> None:
    now = START + LIFETIME
    new = _step(StoredCertificates(), now).kept
    assert _to_serve(new, fresh, now, None)[0] == new


@pytest.mark.parametrize("announced_since", [START, None])
def test_unusable_certificate_is_never_served(fresh: StoredCertificates, announced_since: datetime | None) -> None:
    now = START + timedelta(days=1)
    for spoilt in (StoredCertificates(), replace(fresh, key=OTHER.key), replace(fresh, authorities=OTHER.authority)):
        assert _to_serve(spoilt, fresh, now, announced_since)[0] == fresh


@pytest.mark.parametrize("odd", ["key", "chain"])
def test_certificate_that_clients_reject_is_never_served(
    fresh: StoredCertificates, monkeypatch: pytest.MonkeyPatch, odd: str
) -> None:
    """A stolen token writes it once; it has the right names, and its authority is announced."""
    with monkeypatch.context() as patch:
        if odd == "key":
            patch.setattr(ec, "SECP256R1", ec.SECP256K1)
        stolen = make_pair(NAMES, now=START, lifetime=LIFETIME)
    if odd == "chain":
        stolen = replace(stolen, certificate=stolen.certificate + 1000 * stolen.authority)
    kept = StoredCertificates(stolen.certificate, stolen.key, authorities=stolen.authority + fresh.authorities)
    now = START + HOUR
    assert _to_serve(kept, fresh, now, START)[0] == fresh
    assert _to_serve(kept, StoredCertificates(), now, START)[0] == StoredCertificates()
    assert _step(kept, now).kept.certificate != stolen.certificate


def test_stored_thousand_year_certificate_is_renewed_in_time() -> None:
    pair = make_pair(NAMES, now=START, lifetime=1000 * 365 * timedelta(days=1))
    kept = StoredCertificates(pair.certificate, pair.key, authorities=pair.authority)
    assert _step(kept, RENEWAL - MINUTE).kept == kept
    assert _step(kept, STAGED).kept.next_certificate


def test_authorities_of_the_served_certificate_are_remembered(
    fresh: StoredCertificates, staged: StoredCertificates
) -> None:
    served, _ = _to_serve(staged, fresh, STAGED, None)
    assert served == replace(fresh, authorities=staged.authorities)


class _Replica:
    """A replica that learns of stored certificates late, by so many steps."""

    def __init__(self, lag: int) -> None:
        self.lag = lag
        self.kept = StoredCertificates()
        """The served certificate, with the authorities that were last stored with it."""
        self.published: tuple[bytes, datetime] | None = None
        """The bundle that it has seen published, and since when."""

    @property
    def served(self) -> bytes:
        """The certificate."""
        return self.kept.certificate


class _Life:
    """A Secret, a webhook configuration, two replicas and a client, in simulated time."""

    def __init__(self, lifetime: timedelta, *, replica_lags: Sequence[int], client_lag: int) -> None:
        self._lifetime = lifetime
        self.replicas = [_Replica(lag) for lag in replica_lags]
        self._client_lag = client_lag
        self._kept = [StoredCertificates()]
        """The history of the Secret, by step."""
        self._announced = [b""]
        """The history of the configuration's bundle."""
        self.now = START

    @property
    def kept(self) -> StoredCertificates:
        """The stored certificates now."""
        return self._kept[-1]

    @property
    def known(self) -> bytes:
        """The bundle that the client uses: late by its lag."""
        return self._announced[max(0, len(self._announced) - 1 - self._client_lag)]

    def go_on(self, by: timedelta, *, reachable: bool) -> Iterator[None]:
        """Let time pass; yield after each event.

        While the configuration is unreachable, no client learns anything.
        """
        self.now += by
        self._kept.append(self.kept)
        self._announced.append(self._announced[-1])
        yield
        for replica in self.replicas:
            seen = self._kept[max(0, len(self._kept) - 1 - replica.lag)]
            self._keep(replica, seen, reachable=reachable)
            yield

    def _keep(self, replica: _Replica, seen: StoredCertificates, *, reachable: bool) -> None:
        """Act like `CertificateKeeper`: write only what no other replica has changed, publish only stored authorities.

        Each replica considers itself the writer, which is worse than the Lease allows.
        """
        announced_since = self.now if self._announced[-1] == seen.authorities else None
        if announced_since and replica.published and replica.published[0] == seen.authorities:
            announced_since = replica.published[1]
        replica.published = (seen.authorities, announced_since) if announced_since else None
        replica.kept, _ = to_serve(
            seen, replica.kept, now=self.now, lifetime=self._lifetime, announced_since=announced_since
        )
        step = next_step(
            seen, NAMES, now=self.now, lifetime=self._lifetime, announced_since=announced_since, served=replica.kept
        )
        if step.kept != seen:
            if seen == self.kept:
                self._kept[-1] = step.kept
        elif reachable and self.kept.authorities == seen.authorities:
            self._announced[-1] = seen.authorities


class _Case(NamedTuple):
    """The length, the steps, and the lags."""

    lifetime: timedelta
    step: timedelta
    replica_lags: Sequence[int] = (0, 0)
    client_lag: int = 0
    outage: Container[int] = ()
    """Steps of each lifetime in which the webhook configuration cannot be written."""


TEN_MINUTES, MOSTLY = range(235, 300), frozenset(range(360)) - frozenset(range(0, 360, 20))
LIVES = 4
"""The number of simulated lifetimes."""


@pytest.mark.parametrize(
    "case",
    [
        pytest.param(_Case(HOUR, 10 * SECOND), id="all are quick"),
        pytest.param(_Case(HOUR, 10 * SECOND, replica_lags=(0, 30)), id="one replica loads 5 min late"),
        pytest.param(_Case(HOUR, 10 * SECOND, replica_lags=(60, 30)), id="both load late"),
        pytest.param(_Case(HOUR, 10 * SECOND, client_lag=4), id="a client hears it 40 s late"),
        pytest.param(_Case(HOUR, 10 * SECOND, (0, 30), outage=TEN_MINUTES), id="no publication for 10 min"),
        pytest.param(
            _Case(HOUR, 10 * SECOND, client_lag=4, outage=TEN_MINUTES),
            id="no publication for 10 min, and a client learns it late",
        ),
        pytest.param(_Case(HOUR, 10 * SECOND, (7, 3), outage=MOSTLY), id="publication works in one moment of twenty"),
        pytest.param(_Case(12 * SECOND, SECOND / 8), id="the shortest lifetime"),
        pytest.param(_Case(12 * SECOND, SECOND / 8, replica_lags=(2, 8), client_lag=3), id="the shortest, all late"),
        pytest.param(_Case(90 * 24 * HOUR, 6 * HOUR, replica_lags=(0, 3)), id="the usual lifetime, seldom looked at"),
    ],
)
def test_every_replica_is_trusted_all_its_life_long(case: _Case, monkeypatch: pytest.MonkeyPatch) -> None:
    # A simulation reads the same few certificates thousands of times: each is parsed once.
    for function in (inspect, is_signed_by):
        monkeypatch.setattr(pair, function.__name__, lru_cache(function))
    life = _Life(case.lifetime, replica_lags=case.replica_lags, client_lag=case.client_lag)
    steps_of_a_life = round(case.lifetime / case.step)
    served: dict[bytes, None] = {}
    started = False
    for number in range(LIVES * steps_of_a_life):
        for _ in life.go_on(case.step, reachable=number % steps_of_a_life not in case.outage):
            # Until the first certificate has been published the replicas are not ready, and no client calls.
            started = started or (life.known != b"" and all(replica.served for replica in life.replicas))
            if not started:
                continue
            for replica in life.replicas:
                assert _trusted(replica.served, life.known, life.now), f"step {number}, {life.now}"
                served[replica.served] = None
            assert life.kept.authorities.count(b"-----BEGIN") <= 3
    # Renewed when two thirds of a lifetime have passed, or slightly later.
    assert LIVES <= len(served) <= LIVES * 3 / 2


def test_replicas_agree_on_one_certificate() -> None:
    """The first writer wins: the others use its certificate."""
    life = _Life(HOUR, replica_lags=(0, 1, 2), client_lag=0)
    for _ in range(12):
        for _ in life.go_on(SECOND, reachable=True):
            pass
    assert {replica.served for replica in life.replicas} == {life.kept.certificate}
