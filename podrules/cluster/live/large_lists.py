"""Reads long lists in one answer, in protobuf, and decodes it while it comes.

The first page, in JSON, tells that there are more. Then the whole list is asked for at once, no older than that page:
every API server answers that from its memory (``resourceVersion`` with ``resourceVersionMatch=NotOlderThan``; with
``limit`` some would go to etcd for each page). What was measured for it stands in docs/performance.md.

An API server ends an answer after a minute, what stands before it may not know protobuf, and a text in protobuf may not
be UTF-8, which JSON mends: then nothing is given here, and the list is read in pages.

Source: pkg/storage/cacher/delegator of k8s.io/apiserver at v0.36.3.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from typing import Any, Final, Protocol, TypeVar
from urllib.parse import quote

from podrules.cluster.kinds import Kind
from podrules.cluster.live.garbage_collection import without_collection
from podrules.cluster.live.responses import Streamed
from podrules.cluster.live.transport import LargeTransport
from podrules.model.base import KubeObject
from podrules.model.decode import DecodeError

__all__ = ["NoProgress", "Progress", "can_read_whole", "read_whole"]

T = TypeVar("T", bound=KubeObject)


_PROGRESS_STEP: Final = 1000
"""Objects between two calls of `Progress.read`."""
_PROTOBUF: Final = "application/vnd.kubernetes.protobuf"
_GZIP_WINDOW: Final = 31
"""zlib's way to say: with gzip's header."""
_PLAIN_PIECE: Final = 1 << 16
"""Bytes. Memory for larger ones comes from the kernel each time, page by page: half of what inflating costs."""


class Progress(Protocol):
    """Told what comes of large lists."""

    def read(self, kind: Kind[Any], count: int) -> None:
        """So many objects of a kind have come."""
        ...

    def done(self, kind: Kind[Any]) -> None:
        """No more of them come."""
        ...


class NoProgress:
    """For those who do not look."""

    def read(self, kind: Kind[Any], count: int) -> None:
        """See `Progress.read`."""

    def done(self, kind: Kind[Any]) -> None:
        """See `Progress.done`."""


def can_read_whole(kind: Kind[Any]) -> bool:
    """Whether a kind's large lists can be read here."""
    try:
        from podrules.cluster.wire.codec import is_known
    except ImportError:
        # Where only parts of the package's dependencies are installed, as in the webhook's image.
        return False
    return is_known(kind)


def read_whole(
    transport: LargeTransport, kind: Kind[T], path: str, resource_version: str, progress: Progress
) -> list[T] | None:
    """All objects of a list; None: it has to be read in pages.

    Args:
        transport: To the API server.
        kind: Of the objects; one that `podrules.cluster.wire` knows.
        path: With selectors in its query, if there are any.
        resource_version: Of the first page.
        progress: Told every now and then.

    Raises:
        Unreachable: there was no answer.
    """
    from podrules.cluster.wire.envelope import ListReader
    from podrules.cluster.wire.pods import codec_of

    joint = "&" if "?" in path else "?"
    query = f"{joint}resourceVersion={quote(resource_version, safe='')}&resourceVersionMatch=NotOlderThan"
    codec, found = codec_of(kind), list[T]()
    with without_collection(), transport.stream(path + query, _PROTOBUF) as answer:
        if answer.status != 200 or answer.content_type != _PROTOBUF:
            return None
        try:
            for raw in ListReader(_plain(answer)).items():
                found.append(codec.decode(raw))
                if len(found) % _PROGRESS_STEP == 0:
                    progress.read(kind, len(found))
        except (EOFError, DecodeError):
            return None
    return found


def _plain(answer: Streamed) -> Iterator[bytes]:
    if not answer.gzipped:
        yield from answer.pieces
        return
    inflater = zlib.decompressobj(_GZIP_WINDOW)
    try:
        for piece in answer.pieces:
            yield inflater.decompress(piece, _PLAIN_PIECE)
            while inflater.unconsumed_tail:
                yield inflater.decompress(inflater.unconsumed_tail, _PLAIN_PIECE)
    except zlib.error as error:
        raise DecodeError(f"not valid gzip: {error}") from error
