"""Similar pods: the fast codec gives the same models as the ordinary one, whatever their content."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cluster_io.kinds import PODS
from cluster_io.wire.codec import Codec
from cluster_io.wire.envelope import ListReader
from cluster_io.wire.pods import TIME, Alike, PodCodec, text_place
from podrules.api.model.base import Condition
from podrules.api.model.decode import DecodeError
from podrules.api.model.pod import Pod
from tests.cluster_io.protobuf import listed, message, time
from tests.table import table

LIKE_A_TIME = "\x08\x08éé\x05\x10\x00"
LIKE_A_NODE = "R\x05node1X\x00`\x00h\x00"
LIKE_A_TOKEN = "\n\x15kube-api-access-abcde"
TEXTS = ("", "plain", LIKE_A_TIME, LIKE_A_NODE, LIKE_A_TOKEN, "0", "é" * 200)
SECONDS = st.one_of(st.integers(1 << 30, 1 << 31), st.sampled_from([0, 1, (1 << 28) - 1, 1 << 28, (1 << 34) + 1]))
TIMES = st.builds(time, SECONDS, st.sampled_from([0, 0, 0, 5]))
NAMES = st.one_of(
    st.from_regex(r"[a-z0-9][a-z0-9.-]{0,20}", fullmatch=True),
    st.sampled_from(["kube-api-access-abcde", "my-kube-api-access-abcde", "0", "00", "n" * 127, "n" * 128, "n" * 253]),
)
TOKENS = st.from_regex(r"kube-api-access-[a-z0-9]{5}", fullmatch=True)
ADDRESSES = st.sampled_from(["10.0.0.5", "10.100.20.30", "fd00::1", ""])


class Own(msgspec.Struct, frozen=True):
    """The values of one pod."""

    name: str
    uid: str
    version: str
    node: str | None
    token: str
    host_ip: str
    pod_ip: str
    times: tuple[bytes, ...]
    text: str


class Template(msgspec.Struct, frozen=True):
    """The values that pods share."""

    texts: tuple[str, ...]
    containers: int
    conditions: int
    phase: str


OWNS = st.builds(
    Own,
    name=NAMES,
    uid=st.uuids().map(str),
    version=st.integers(0, 10**9).map(str),
    node=st.one_of(st.none(), NAMES),
    token=TOKENS,
    host_ip=ADDRESSES,
    pod_ip=ADDRESSES,
    times=st.tuples(*[TIMES] * 4),
    text=st.sampled_from(["", "", "", *TEXTS]),
)
TEMPLATES = st.builds(
    Template,
    texts=st.tuples(*[st.sampled_from(TEXTS)] * 4),
    containers=st.integers(0, 2),
    conditions=st.integers(0, 3),
    phase=st.sampled_from(["Running", "0", ""]),
)


def pod(template: Template, own: Own) -> bytes:
    """A pod as Go writes one."""
    return message((1, metadata(template, own)), (2, spec(template, own)), (3, status(template, own)))


def metadata(template: Template, own: Own) -> bytes:
    label, annotation, *_ = template.texts
    return message(
        (1, own.name),
        (2, "app-"),
        (3, "team-00"),
        (4, ""),
        (5, own.uid),
        (6, own.version),
        (7, 1),
        (8, own.times[0]),
        (11, message((1, "app"), (2, label))),
        (12, message((1, "note"), (2, annotation))),
        (17, message((1, "kubelet"), (4, own.times[1]), (7, message((1, own.name * 3))))),
        (17, message((1, own.text))),
    )


def spec(template: Template, own: Own) -> bytes:
    *_, argument, image = template.texts
    mount = message((1, own.token), (2, 1))
    one = message((1, "app"), (2, image), (4, argument), (7, message((1, "KEY"), (2, argument))), (9, mount))
    return message(
        (1, message((1, own.token), (2, message((26, b""))))),
        *((2, one) for _ in range(template.containers)),
        (3, "Always"),
        (10, own.node),
        (11, 0),
        (12, 0),
        (13, 0),
        (19, "default-scheduler"),
    )


def status(template: Template, own: Own) -> bytes:
    _, started, changed, ended = own.times
    condition = message((1, "Ready"), (2, "True"), (4, changed), (5, ""), (6, template.texts[0]))
    state = message((2, message((1, started)))) if template.phase else message((3, message((1, 137), (6, ended))))
    container = message((1, "app"), (2, state), (3, b""), (5, 1), (8, f"containerd://{own.uid.replace('-', '') * 2}"))
    return message(
        (1, template.phase),
        *((2, condition) for _ in range(template.conditions)),
        (3, own.text),
        (4, ""),
        (5, own.host_ip),
        (6, own.pod_ip),
        (7, started),
        *((8, container) for _ in range(template.containers)),
        (9, "Burstable"),
        (12, message((1, own.pod_ip))),
        (16, message((1, own.host_ip))),
    )


PLAIN = Template(texts=("web", "note", "serve", "image:1"), containers=2, conditions=2, phase="Running")


def own(number: int, **changed: Any) -> Own:
    plain = Own(
        name=f"web-{number:03}",
        uid=f"00000000-0000-4000-8000-{number:012}",
        version=str(1000 + number),
        node=f"node-{number:03}",
        token=f"kube-api-access-{number:05}",
        host_ip="10.0.0.5",
        pod_ip=f"10.100.0.{100 + number}",
        times=tuple(time(1_800_000_000 + 10 * number + step) for step in range(4)),
        text="",
    )
    return msgspec.structs.replace(plain, **changed)


def texts(pods: Sequence[Pod]) -> bytes:
    """Quantities are equal by value; here their texts are."""
    return msgspec.json.encode(pods, enc_hook=str, order="sorted")


ORDINARY = Codec(PODS)


def assert_same(raws: Sequence[bytes]) -> list[Pod]:
    quick = PodCodec()
    expected = [ORDINARY.decode(raw) for raw in raws]
    found = [quick.decode(raw) for raw in raws]
    assert found == expected
    assert texts(found) == texts(expected)
    return found


@settings(max_examples=40)
@given(st.lists(TEMPLATES, min_size=1, max_size=3), st.lists(OWNS, min_size=3, max_size=6))
def test_pods_of_templates_are_as_ever(templates: list[Template], owns: list[Own]) -> None:
    # Each of them three times, so that every shape is learned and used.
    raws = [pod(template, own) for template in templates for own in owns]

    assert_same(raws * 3)


def test_pods_of_one_template_on_different_nodes() -> None:
    raws = [pod(PLAIN, own(number)) for number in range(6)]

    found = assert_same(raws)

    assert [entry.metadata.name for entry in found] == [f"web-{number:03}" for number in range(6)]
    assert [entry.spec.node_name for entry in found] == [f"node-{number:03}" for number in range(6)]
    assert [entry.spec.volumes[0].name for entry in found] == [f"kube-api-access-{number:05}" for number in range(6)]
    assert len({entry.status.start_time for entry in found}) == 6


def test_all_parts_of_a_pod_are_learned() -> None:
    codec = PodCodec()

    for number in range(6):
        codec.decode(pod(PLAIN, own(number)))

    parts = codec._metadata, codec._spec, codec._status
    assert [[len(fills) for ways in part._cuts.values() for fills in ways.values()] for part in parts] == [[1]] * 3
    assert not any(
        fill == part._joined
        for part in parts
        for ways in part._cuts.values()
        for fills in ways.values()
        for fill in fills.values()
    )


@pytest.mark.parametrize("text", TEXTS[1:], ids=repr)
def test_a_text_that_looks_like_something_else_stays_a_text(text: str) -> None:
    template = msgspec.structs.replace(PLAIN, texts=(text,) * 4)

    found = assert_same([pod(template, own(number, text=text)) for number in range(6)])

    assert {entry.status.message for entry in found} == {text}
    assert {entry.metadata.annotations["note"] for entry in found} == {text}


def test_texts_that_look_like_times_differ() -> None:
    looks = [f"\x08\x08é{letter}\x05\x10\x00" for letter in "àèéùâê"]

    found = assert_same([pod(PLAIN, own(number, text=text)) for number, text in enumerate(looks)] * 3)

    assert [entry.status.message for entry in found] == looks * 3


def test_times_with_nanos() -> None:
    times = [tuple(time(1_800_000_000 + number, nanos) for nanos in (0, 1, 999_999_999, 0)) for number in range(5)]

    found = assert_same([pod(PLAIN, own(number, times=each)) for number, each in enumerate(times)] * 3)

    assert len({entry.metadata.creation_timestamp for entry in found}) == 5


def test_made_up_values_that_pods_really_have() -> None:
    made_up = {
        "name": "0000000",
        "version": "0002",
        "node": "0000000",
        "times": (time(1 << 34), time((1 << 34) + 3)) * 2,
    }

    assert_same([pod(PLAIN, own(1, **made_up))] * 4)


@table(
    "change",
    {
        "status first": lambda parts: b"".join(reversed(parts)),
        "no status": lambda parts: parts[0] + parts[1],
        "no spec": lambda parts: parts[0] + parts[2],
        "nothing": lambda _: b"",
        "two statuses": lambda parts: b"".join(parts) + parts[2],
        "a field more": lambda parts: b"".join(parts) + message((4, "more")),
        "empty parts": lambda _: message((1, b""), (2, b""), (3, b"")),
    },
)
def test_pods_that_are_written_in_another_way(change: Callable[[Sequence[bytes]], bytes]) -> None:
    def written(number: int) -> bytes:
        one = own(number)
        parts = metadata(PLAIN, one), spec(PLAIN, one), status(PLAIN, one)
        return change([message((place, part)) for place, part in enumerate(parts, 1)])

    assert_same([written(number) for number in range(5)])


def test_metadata_that_goes_on_behind_managed_fields() -> None:
    raws = [
        message(
            (1, metadata(PLAIN, own(number)) + message((11, message((1, "late"), (2, "label"))))),
            (2, spec(PLAIN, own(number))),
            (3, status(PLAIN, own(number))),
        )
        for number in range(5)
    ]

    assert {entry.metadata.labels["late"] for entry in assert_same(raws)} == {"label"}


@settings(max_examples=60)
@given(st.data())
def test_broken_pods_give_the_same_error(data: st.DataObject) -> None:
    """Bytes of a pod of a learned shape are changed: both codecs give the same, or refuse both."""
    quick = PodCodec()
    for number in range(3):
        quick.decode(pod(PLAIN, own(number)))
    raw = bytearray(pod(PLAIN, own(4)))
    for at in data.draw(st.lists(st.integers(0, len(raw) - 1), min_size=1, max_size=3)):
        raw[at] = data.draw(st.integers(0, 255))
    del raw[data.draw(st.integers(len(raw) // 2, 2 * len(raw))) :]

    assert outcome(quick, bytes(raw)) == outcome(ORDINARY, bytes(raw))


def outcome(codec: Codec[Pod], raw: bytes) -> bytes | str:
    try:
        return texts([codec.decode(raw)])
    except DecodeError as error:
        return str(error)


class Counting:
    """The ordinary codec of conditions, and a count of its calls."""

    def __init__(self) -> None:
        codec = Codec(PODS)
        self._decode = codec.decoder(Condition, "core.PodCondition")
        self.time = codec.decoder(None, "meta.Time")
        self.calls = 0

    def __call__(self, raw: bytes) -> Condition:
        self.calls += 1
        found: Condition = self._decode(raw)
        return found


def conditions(count: int) -> Iterator[bytes]:
    for number in range(count):
        yield message((1, "Ready"), (2, "True"), (4, time(1_800_000_000 + number)))


def test_a_shape_is_learned_when_it_comes_again() -> None:
    ordinary = Counting()
    codec = Alike[Condition](ordinary, ordinary.time, TIME)

    found = [codec.decode(raw) for raw in conditions(100)]

    assert len({entry.last_transition_time for entry in found}) == 100
    # The first; the second with a made-up time, and to compare.
    assert ordinary.calls == 3


def test_different_objects_are_decoded_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cluster_io.wire.pods._CREDIT", 10)
    ordinary = Counting()
    codec = Alike[Condition](ordinary, ordinary.time, TIME)
    for number in range(20):
        codec.decode(message((1, f"Kind{number}"), (4, time(1_800_000_000))))

    for raw in conditions(50):
        codec.decode(raw)

    assert ordinary.calls == 70


def test_pods_that_are_not_alike(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cluster_io.wire.pods._CREDIT", 5)
    raws = [
        pod(Template(texts=(f"text{number}",) * 4, containers=1, conditions=1, phase="Running"), own(number))
        for number in range(20)
    ]

    assert_same([*raws, *(pod(PLAIN, own(number)) for number in range(5))])


def test_memory_of_shapes_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cluster_io.wire.pods._MAX_SHAPES", 4)
    ordinary = Counting()
    codec = Alike[Condition](ordinary, ordinary.time, TIME + b"|" + text_place(b"[a-z]", range(30, 40)))
    raws = [message((1, f"K{number}"), (4, time(1_800_000_000 + number))) for number in range(20) for _ in range(3)]

    found = [codec.decode(raw) for raw in raws]

    assert found == [ordinary(raw) for raw in raws]
    assert sum(len(fills) for ways in codec._cuts.values() for fills in ways.values()) <= 4
    assert len(codec._seen) <= 4


ITEMS = st.lists(
    st.builds(
        lambda size, byte: bytes([byte]) * size,
        st.one_of(st.integers(0, 300), st.sampled_from([127, 128, 16_383, 16_384])),
        st.integers(0, 255),
    ),
    max_size=12,
)


def in_pieces(raw: bytes, size: int) -> Iterator[bytes]:
    return (raw[at : at + size] for at in range(0, len(raw), size))


@given(ITEMS, st.integers(1, 5000))
def test_items_come_whole_out_of_pieces_of_any_size(items: list[bytes], size: int) -> None:
    assert list(ListReader(in_pieces(listed(items), size)).items()) == items


@given(ITEMS.filter(bool), st.integers(1, 5000), st.data())
def test_truncated_list_is_an_error(items: list[bytes], size: int, data: st.DataObject) -> None:
    # What follows the list, of content's type and encoding, has four bytes.
    whole = listed(items)[:-4]
    broken = whole[: data.draw(st.integers(0, len(whole) - 1))]

    with pytest.raises(EOFError):
        list(ListReader(in_pieces(broken, size)).items())


def test_an_item_longer_than_its_list_is_refused() -> None:
    item = message((2, b"x" * 200))
    raw = b"k8s\0" + b"\x12" + bytes([len(item) - 1 & 0x7F | 0x80, len(item) - 1 >> 7]) + item

    with pytest.raises(DecodeError, match="not a list in protobuf"):
        list(ListReader(iter([raw])).items())
