"""Reads a long list in one protobuf answer, and decodes it while it arrives.

The first page, in JSON, shows that the list has more pages. Then one request asks for the whole list, no older than
that page. Every API server answers it from its watch cache (``resourceVersion`` with
``resourceVersionMatch=NotOlderThan``); with ``limit``, some would ask etcd for each page. docs/performance.md has the
measurements.

The list is read in pages instead when this fails: an API server ends an answer after a minute, a proxy before it may
not support protobuf, and protobuf may hold text that is not UTF-8, which JSON repairs.

Source: pkg/storage/cacher/delegator of k8s.io/apiserver at v0.36.3.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from typing import Any, Final, Protocol, TypeVar
from urllib.parse import quote

from cluster_io.kinds import Kind
from cluster_io.live.many_reads import without_collection
from cluster_io.live.responses import StreamedAnswer
from cluster_io.live.transport import LargeTransport
from podrules.api.model.base import KubeObject
from podrules.api.model.decode import DecodeError

T = TypeVar("T", bound=KubeObject)


_PROGRESS_STEP: Final = 1000
"""Objects between two calls of `Progress.read`."""
_PROTOBUF: Final = "application/vnd.kubernetes.protobuf"
_GZIP_WINDOW: Final = 31
"""zlib's window size for data with a gzip header."""
_PLAIN_PIECE: Final = 1 << 16
"""Bytes. The kernel would map new memory for each larger piece, which is half of the cost of decompression."""


class Progress(Protocol):
    """Receives the progress of large lists."""

    def read(self, kind: Kind[Any], count: int) -> None:
        """So many objects of a kind have arrived."""
        ...

    def done(self, kind: Kind[Any]) -> None:
        """The list of the kind is complete."""
        ...


class NoProgress:
    """Ignores all progress."""

    def read(self, kind: Kind[Any], count: int) -> None:
        """See `Progress.read`."""

    def done(self, kind: Kind[Any]) -> None:
        """See `Progress.done`."""


def can_read_whole(kind: Kind[Any]) -> bool:
    """Whether large lists of a kind can be read in protobuf."""
    try:
        from cluster_io.wire.codec import is_known
    except ImportError:
        # Some installations, such as the webhook's image, lack protobuf.
        return False
    return is_known(kind)


def read_whole(
    transport: LargeTransport, kind: Kind[T], path: str, resource_version: str, progress: Progress
) -> list[T] | None:
    """Read all objects of a list; None: it has to be read in pages.

    Args:
        transport: Sends requests to the API server.
        kind: The kind of the objects; `cluster_io.wire` has to know it.
        path: The list's path, with the selectors in its query.
        resource_version: The resourceVersion of the first page.
        progress: Receives the count every thousand objects.

    Raises:
        Unreachable: there was no answer.
    """
    from cluster_io.wire.envelope import ListReader
    from cluster_io.wire.pods import codec_of

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


def _plain(answer: StreamedAnswer) -> Iterator[bytes]:
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
