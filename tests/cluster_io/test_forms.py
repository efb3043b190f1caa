"""Forms return the stored models, whatever their texts, and store shared parts once."""

from __future__ import annotations

import re
from types import CodeType

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cluster_io.capture.blocks import Column, Form, Forms, texts
from cluster_io.wire import recipe as module
from cluster_io.wire.recipe import TextPlace, recipe
from podrules.api.model.base import Condition
from podrules.api.model.pod import PodStatus

TIMES = texts(rb"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", 20)
EARLY, LATE = "2026-11-21T10:00:00Z", "2026-11-21T11:00:00Z"
MADE_UP = "\0" + "0" * 19
INSIDE = f"since \N{ACUTE ACCENT}{EARLY}"
"""Its last bytes look like a text: the accent's second byte is MessagePack's prefix of a text of 20 bytes."""
TEXTS = st.one_of(
    st.sampled_from(["", "Running", EARLY, LATE, MADE_UP, INSIDE, f"\N{ACUTE ACCENT}{MADE_UP}"]), st.text(max_size=30)
)
MOMENTS = st.none() | st.sampled_from([EARLY, LATE, MADE_UP, "2026-11-21T10:00:00.000001+01:00"])
STATUSES = st.builds(
    PodStatus,
    phase=TEXTS,
    message=TEXTS,
    conditions=st.lists(st.builds(Condition, type=TEXTS, last_transition_time=MOMENTS), max_size=3).map(tuple),
    start_time=MOMENTS,
)


def stored(statuses: list[PodStatus], own: tuple[str, ...] = ()) -> Column:
    forms = Forms[PodStatus](own, TIMES)
    for status in statuses:
        forms.add(status)
    return msgspec.msgpack.decode(msgspec.msgpack.encode(forms.column()), type=Column)


@given(st.lists(STATUSES, max_size=8), st.sampled_from([(), ("message",), ("phase", "message", "start_time")]))
def test_round_trip_keeps_the_models(statuses: list[PodStatus], own: tuple[str, ...]) -> None:
    assert stored(statuses, own).models(PodStatus) == statuses


def test_what_differs_in_times_has_one_form() -> None:
    times = [f"2026-11-21T10:00:{second:02}Z" for second in range(60)]
    statuses = [
        PodStatus(
            conditions=(Condition("Ready", last_transition_time=time), Condition("Late", last_transition_time=LATE)),
            start_time=time,
        )
        for time in times
    ]

    column = stored(statuses)

    assert len(column.forms) == 1
    assert column.own == tuple((time, LATE) for time in times)
    assert column.models(PodStatus) == statuses


def test_equal_times_differ_from_unequal_ones() -> None:
    ready = (Condition("Ready", last_transition_time=EARLY),)
    statuses = [PodStatus(conditions=ready, start_time=time) for time in (EARLY, LATE, EARLY)]

    column = stored(statuses)

    assert column.places == (0, 1, 0)
    assert column.own == ((EARLY,), (EARLY, LATE), (EARLY,))
    assert column.models(PodStatus) == statuses


def test_a_time_inside_a_text_keeps_the_model_whole() -> None:
    assert "\N{ACUTE ACCENT}".encode()[-1:] == bytes([0xA0 | 20])
    statuses = [PodStatus(message=INSIDE, start_time=time) for time in (EARLY, LATE, EARLY)]

    column = stored(statuses)

    assert [form.own for form in column.forms] == [0, 0]
    assert column.places == (0, 1, 0)
    assert column.own == ((), (), ())
    assert column.models(PodStatus) == statuses


def test_too_few_texts_are_an_error() -> None:
    column = stored([PodStatus(start_time=EARLY)])
    with pytest.raises(IndexError):
        msgspec.structs.replace(column, own=((),)).models(PodStatus)
    with pytest.raises(ValueError, match="shorter"):
        msgspec.structs.replace(column, own=()).models(PodStatus)


def test_oversized_form_is_refused() -> None:
    many = PodStatus(conditions=(Condition(type=MADE_UP),) * 5_000)
    form = Form(msgspec.msgpack.encode(many), 1)
    with pytest.raises(ValueError, match="too many parts"):
        form.fill(PodStatus)
    with pytest.raises(msgspec.ValidationError, match="<= 1024"):
        msgspec.msgpack.decode(msgspec.msgpack.encode([b"", 1 << 40]), type=Form)


def test_a_model_without_own_texts_is_shared() -> None:
    status = PodStatus("Running")
    assert recipe(status, {})(()) is status
    assert recipe(status, {"Running": TextPlace(1, str.upper)})(("", "failed")) == PodStatus("FAILED")


def test_nothing_of_a_model_is_evaluated(monkeypatch: pytest.MonkeyPatch) -> None:
    """Texts of a cluster are untrusted: they reach the expression as arguments."""
    written: list[str] = []

    def noted(constants: int, made: str) -> CodeType:
        written.append(made)
        return compiled(constants, made)

    compiled = module._compiled
    monkeypatch.setattr(module, "_compiled", noted)
    hostile = "\"), __import__('os').abort(), (\""
    status = PodStatus(hostile, reason="Running", message=hostile)
    assert recipe(status, {"Running": TextPlace(0)})(("own",)) == PodStatus(hostile, reason="own", message=hostile)
    assert re.fullmatch(r"(c\d+|own\[\d+\]|[(), ])+", written[0])
