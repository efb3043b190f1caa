"""The message of an error's body, whatever its content."""

from __future__ import annotations

import pytest

from cluster_io.live.answers import error_message


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (b'{"kind": "Status", "message": "pods is forbidden", "code": 403}', "pods is forbidden"),
        (b'{"kind": "Status", "code": 500}', "no message"),
        (b"404 page not found\n", "404 page not found"),
        (b"\xff upstream failed", "\N{REPLACEMENT CHARACTER} upstream failed"),
        (b" \n", "no message"),
        (b"x" * 501, "x" * 500),
    ],
    ids=["Status", "Status without a message", "text", "not UTF-8", "nothing", "long"],
)
def test_message_is_what_the_body_says(body: bytes, message: str) -> None:
    assert error_message(body) == message
