"""Each answer reads the cluster with one gatherer, and sends no request twice."""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import IO, Any, TypeVar

import pytest

from cluster_io.gather import Gatherer
from cluster_io.kinds import Kind
from cluster_io.kubelet import KubeletEndpoint
from cluster_io.source import Source
from kubectl_plugin import cli
from kubectl_plugin.gather.object_reports import ReportBuilder
from kubectl_plugin.options import ClusterOptions
from podrules.api.model.base import KubeObject, Model
from podrules.api.model.selectors import Selector
from tests.kubectl_plugin.running import run

T = TypeVar("T", bound=KubeObject)
M = TypeVar("M", bound=Model)
MANIFEST = "tests/testdata/manifests/checkout.yaml"


class Counting:
    """Counts the requests to a source by path, selectors and decoded fields."""

    def __init__(self, source: Source, *, live: bool) -> None:
        self._source = source
        self.side_by_side = live
        """As for a live cluster, fewer lists are read."""
        self.requests: Counter[tuple[object, ...]] = Counter()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._source, name)

    def get(self, kind: Kind[T], name: str, namespace: str | None = None) -> T:
        self.requests[kind.path(namespace, name), kind.model] += 1
        return self._source.get(kind, name, namespace)

    def list(
        self, kind: Kind[T], namespace: str | None = None, *, selector: Selector | None = None, field_selector: str = ""
    ) -> Sequence[T]:
        self.requests[kind.path(namespace), kind.model, str(selector), field_selector] += 1
        return self._source.list(kind, namespace, selector=selector, field_selector=field_selector)

    def names(self, kind: Kind[Any], namespace: str | None) -> Sequence[str]:
        self.requests[kind.path(namespace), "names"] += 1
        return self._source.names(kind, namespace)

    def kubelet(self, node: str, endpoint: KubeletEndpoint[M]) -> M:
        self.requests[endpoint.proxy_path(node),] += 1
        return self._source.kubelet(node, endpoint)


@pytest.mark.parametrize("live", [False, True])
@pytest.mark.parametrize(
    "typed",
    [
        *("explain pods", "explain pod/db-0 db-1", "explain pod/db-0 --timeline all"),
        *("explain deployment/web --placement", "explain deployments,statefulsets", "explain nodes"),
        *("explain node/node-a1", "explain pvc,pdb,quota,priorityclass", f"explain -f {MANIFEST}"),
        *(f"explain -f {MANIFEST} pod/db-0", "explain pod/none", f"place -f {MANIFEST}"),
        *("place deployment/web --replicas 3", "place pod/db-0"),
        f"place -f {MANIFEST} --drain node-a1 --drain node-b1 --one-by-one",
        *("died", "died -A", "died pod/db-0", "died node/node-a1", "died deployment/web", "report"),
        *(f"report -A -f {MANIFEST} -o FILE", "report pod/db-0 node/node-a1", "node", "node node-a1"),
        "versions --to 1.37",
    ],
)
def test_requests_are_not_repeated(typed: str, live: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sources: list[Counting] = []
    made: Counter[type] = Counter()
    open_source = cli.source_of

    @contextlib.contextmanager
    def source_of(cluster: ClusterOptions, err: IO[str]) -> Iterator[Source]:
        with open_source(cluster, err) as source:
            sources.append(Counting(source, live=live))
            yield sources[-1]

    def count(counted: type[Gatherer | ReportBuilder]) -> None:
        start = counted.__init__

        def counting(self: Any, *arguments: Any, **named: Any) -> None:
            made[counted] += 1
            start(self, *arguments, **named)

        monkeypatch.setattr(counted, "__init__", counting)

    count(Gatherer)
    count(ReportBuilder)
    monkeypatch.setattr(cli, "source_of", source_of)
    ran = run(*typed.replace("FILE", str(tmp_path / "page.html")).split(), "--demo")
    assert "Traceback" not in ran.err
    (source,) = sources
    assert source.requests
    assert [request for request, times in source.requests.items() if times > 1] == []
    assert (made[Gatherer], made[ReportBuilder]) == (1, int(typed.startswith(("explain", "report"))))
