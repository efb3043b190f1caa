"""The best format of a large list: JSON or protobuf, compressed or not, whole or in pages, by bytes and time."""

from __future__ import annotations

import re
import socket
import time
import zlib
from collections.abc import Iterator
from typing import Final
from urllib.parse import quote

from cluster_io.live.transport import KubectlProxy

JSON: Final = "application/json"
PROTOBUF: Final = "application/vnd.kubernetes.protobuf"
PAGES: Final = (500, 2_000, 10_000)
_PODS: Final = "/api/v1/pods"
_TOKEN: Final = re.compile(rb"eyJ[A-Za-z0-9_-]{20,}")
"""Of a next page: base64 of JSON, at the head of a page in protobuf and JSON alike."""


def measure_formats() -> None:
    """Print a line for each way, each through a proxy of its own."""
    whole = f"{_PODS}?resourceVersion=0"
    ways = [
        ("JSON, whole", JSON, "identity", whole, 0),
        ("JSON, whole, gzip", JSON, "gzip", whole, 0),
        ("protobuf, whole", PROTOBUF, "identity", whole, 0),
        ("protobuf, whole, gzip", PROTOBUF, "gzip", whole, 0),
        *((f"protobuf, pages of {size}, gzip", PROTOBUF, "gzip", _PODS, size) for size in PAGES),
        ("JSON, pages of 500, gzip", JSON, "gzip", _PODS, 500),
    ]
    for name, accept, encoding, path, page in ways:
        with KubectlProxy([], request_timeout=300) as proxy:
            proxy.get("/version")
            started = time.perf_counter()
            sent, size = (
                _in_pages(proxy, path, accept, encoding, page) if page else _read(proxy, path, accept, encoding)
            )
            seconds = time.perf_counter() - started
        print(f"  {name:<32} {seconds:6.1f} s  {sent / 1e6:7.0f} MB sent, {size / 1e6:.0f} MB", flush=True)


def _in_pages(proxy: KubectlProxy, path: str, accept: str, encoding: str, page: int) -> tuple[int, int]:
    """Bytes as sent and as they are, of all pages."""
    sent = size = 0
    token = ""
    while True:
        query = f"?limit={page}" + (f"&continue={quote(token)}" if token else "")
        body = b"".join(_body(proxy, path + query, accept, encoding))
        plain = zlib.decompress(body, 31) if body.startswith(b"\x1f\x8b") else body
        sent, size = sent + len(body), size + len(plain)
        found = _TOKEN.search(plain, 0, 2048)
        if found is None:
            return sent, size
        token = found[0].decode()


def _read(proxy: KubectlProxy, path: str, accept: str, encoding: str) -> tuple[int, int]:
    """Bytes as sent and as they are, of a whole list."""
    sent = size = 0
    inflater = zlib.decompressobj(31)
    for piece in _body(proxy, path, accept, encoding):
        sent += len(piece)
        size += len(inflater.decompress(piece)) if encoding == "gzip" else len(piece)
    return sent, size


def _body(proxy: KubectlProxy, path: str, accept: str, encoding: str) -> Iterator[bytes]:
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(proxy._socket)
        head = f"GET {path} HTTP/1.0\r\nHost: localhost\r\nAccept: {accept}\r\nAccept-Encoding: {encoding}\r\n\r\n"
        connection.sendall(head.encode())
        answer = b""
        while b"\r\n\r\n" not in answer:
            answer += connection.recv(1 << 16)
        yield answer.partition(b"\r\n\r\n")[2]
        while piece := connection.recv(1 << 20):
            yield piece


if __name__ == "__main__":
    measure_formats()
