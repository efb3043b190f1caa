"""Reads lists in pages that fit into memory and can be decoded, whatever their objects hold.

An object may take megabytes, so a page of 500 objects may take gigabytes of JSON. A page that is too long, or cannot be
decoded, is requested again with fewer objects; after some pages the next ones grow again. A single object of that kind
is left out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final
from urllib.parse import quote

from cluster_io.errors import TooLong, Unreachable
from cluster_io.live.answers import ObjectList, head_of_list
from podrules.api.model.base import ObjectMeta
from podrules.api.model.decode import EFFORT, DecodeError, from_json

_SHRINK: Final = 4
_GROW: Final = 2
_CALM: Final = 4
"""Pages after which the next is larger: a page that is too large is read without success."""


def pages_of(
    request: Callable[[str], bytes],
    path: str,
    selectors: str,
    size: int,
    leave_out: Callable[[ObjectMeta], None],
    *,
    effort: int = EFFORT,
) -> Iterator[ObjectList]:
    """The pages of a list.

    Args:
        request: Returns the body of the answer to a path; raises its own errors.
        path: The path of the list.
        selectors: Further parts of its query: ``&fieldSelector=…``.
        size: The most objects of a page.
        leave_out: Called with the name of an object that is too long or cannot be decoded.
        effort: For a page that is decoded again: see `podrules.api.model.decode.without_depths`.

    Raises:
        Unreachable: the answer is not a list.
    """
    most, calm, token, body = size, _CALM, "", b""
    while True:
        query = f"?limit={size}{selectors}" + (f"&continue={quote(token, safe='')}" if token else "")
        try:
            body = request(path + query)
            page = from_json(body, ObjectList, effort)
        except (TooLong, DecodeError) as error:
            if size > 1:
                size, calm = max(1, size // _SHRINK), 0
                continue
            head = head_of_list(error.beginning if isinstance(error, TooLong) else body)
            if head is None:
                raise Unreachable(f"the answer to {path} is not a list") from error
            page, item = head
            leave_out(item)
        calm += 1
        if calm > _CALM:
            size = min(most, size * _GROW)
        yield page
        token = page.metadata.continue_
        if not token:
            return
        # The next page must not come beside this one.
        del page
        body = b""
