"""The answers of each command about a cluster and every pod in it, and the time that they took.

Commands run in this process on a snapshot's file: their words are parsed once a cluster and namespace, and the target
is put into the options, for argparse takes longer than an answer.
"""

from __future__ import annotations

import contextlib
import io
import json
import re
import time
import traceback
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from html.parser import HTMLParser
from importlib import import_module
from pathlib import Path
from typing import Any, Final, NamedTuple, Self

from cluster_io.errors import ClusterError
from cluster_io.in_memory import MemorySource
from cluster_io.source import Source
from kubectl_plugin.cli import source_of
from kubectl_plugin.exit_codes import print_error
from kubectl_plugin.options import ClusterOptions, Streams
from kubectl_plugin.parsing import parse
from tests.controlplane.client import Object
from tests.matrix.clusters import NAMESPACES, NOW, Cluster, key_of
from tests.webhook.clusters import make_cluster
from tests.webhook.review_objects import delete_review
from webhook.reviews.admission_review import decode_review
from webhook.reviews.response import encode_answer
from webhook.rules import validate

__all__ = ["ClusterStated", "PodStated", "Said", "answers"]

_SEVERITIES: Final = {"32": "fine", "33": "notice", "31": "trouble"}
_COLOUR: Final = re.compile(r"\x1b\[(0|1|3[123])m")
RAISED: Final = -1
"""In place of an exit code: the command did not come to its end."""


class Said(NamedTuple):
    """What one command printed."""

    code: int
    out: str
    """Without colour."""
    err: str
    severity: str = ""
    """``fine notice trouble``: the colour of the first sentence."""

    @property
    def flat(self) -> str:
        """The text without its lines' ends."""
        return " ".join(self.out.split())

    @property
    def verdict(self) -> str:
        """The sentences under the title without their mark, in one line."""
        return self._marked.removeprefix(self.mark).lstrip()

    @property
    def mark(self) -> str:
        """``ok ! x``: the mark before the first sentence; empty without one."""
        first = self._marked.partition(" ")[0]
        return first if first in {"ok", "!", "x"} else ""

    @property
    def _marked(self) -> str:
        return " ".join(self.out.partition("\n\n")[0].partition("\n")[2].split())


class PodStated(NamedTuple):
    """All answers about one pod."""

    pod: Object
    explain: Said
    explained: Mapping[str, Any]
    timeline: Said
    timed: Mapping[str, Any]
    """The ``timeline`` of the explanation."""
    delete: Said
    """Without grace, and without a confirmation."""
    deletion: Mapping[str, Any]
    """Empty if nothing is at risk, so that the command goes on to the cluster, which does not exist."""
    webhook: tuple[str, ...]
    """Warnings of the same deletion."""

    @property
    def key(self) -> tuple[str, str]:
        """Namespace and name."""
        return key_of(self.pod)

    @property
    def id(self) -> str:
        """The pod's uid."""
        uid: str = self.pod["metadata"]["uid"]
        return uid


class ClusterStated(NamedTuple):
    """All answers about one cluster."""

    cluster: Cluster
    file: str
    """Of the snapshot."""
    pods: Sequence[PodStated]
    nodes: Mapping[str, Mapping[str, Any]]
    """``node -o json``."""
    promised: Mapping[str, Mapping[str, Any]]
    """``explain node/… -o json``."""
    words: Mapping[str, Said]
    """In words: ``node NAME``, ``explain NAME``, ``partitions``, ``lint``, ``report``."""
    down: Mapping[str, Any]
    """``partitions -o json``."""
    lint: Mapping[str, Any]
    report: Mapping[str, Any]
    """The numbers in the page of ``report -A``."""
    page: str


class Asker:
    """Runs commands on one file."""

    def __init__(self, file: str) -> None:
        """Open nothing yet."""
        self._file = file
        self._sources: dict[str, Source] = {}
        self._open = contextlib.ExitStack()

    def __enter__(self) -> Self:
        """Keep sources open."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close them."""
        self._open.close()

    def __call__(self, *words: str, target: str = "", namespace: str = NAMESPACES[0]) -> Said:
        """Run a command; ``target`` is what it is about."""
        options = _options(words, bool(target))
        cluster = options.cluster.replace(snapshot=self._file, namespace=namespace)
        options = options.replace(colour=True, cluster=cluster)
        if target:
            options = options.replace(**{"nodes" if words[0] == "node" else "targets": (target,)})
        return _run(words[0], options, self._source(cluster))

    def _source(self, cluster: ClusterOptions) -> Source:
        namespace = cluster.namespace or ""
        if namespace not in self._sources:
            self._sources[namespace] = self._open.enter_context(source_of(cluster, io.StringIO()))
        return self._sources[namespace]


@cache
def _options(words: tuple[str, ...], about: bool) -> Any:
    return parse([words[0], *(["pod/x"] if about else []), *words[1:], "--snapshot", "x"]).options


def _run(command: str, options: Any, source: Source) -> Said:
    out, err = io.StringIO(), io.StringIO()
    try:
        code = import_module(f"kubectl_plugin.commands.{command}").run(
            options, source, Streams(io.StringIO(), out, err)
        )
    except ClusterError as error:
        code = print_error(error, err)
    except Exception:  # noqa: BLE001  # whatever it is, a person would see it
        code = RAISED
        err.write(traceback.format_exc())
    text = out.getvalue()
    colours = [found for found in _COLOUR.findall(text) if found in _SEVERITIES]
    return Said(code, _COLOUR.sub("", text), err.getvalue(), _SEVERITIES[colours[0]] if colours else "")


def answers(clusters: Iterable[Cluster], folder: Path) -> tuple[list[ClusterStated], float]:
    """Run every command on every cluster; return the answers and the CPU time in seconds.

    Args:
        clusters: The clusters.
        folder: For the snapshots' files.
    """
    begun = time.process_time()
    found = [_answer(cluster, folder) for cluster in clusters]
    return found, time.process_time() - begun


def _answer(cluster: Cluster, folder: Path) -> ClusterStated:
    file = _written(cluster, folder)
    names = [node["metadata"]["name"] for node in cluster.of("Node")]
    manifests = folder / f"pods-{cluster.seed}.json"
    manifests.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": _manifests(cluster)}))
    with Asker(file) as ask:
        page = ask("report", "-A", "-o", "-")
        return ClusterStated(
            cluster=cluster,
            file=file,
            pods=[_of_pod(ask, cluster, pod) for pod in cluster.of("Pod")],
            nodes={name: _data(ask("node", "-o", "json", target=name)) for name in names},
            promised={name: _data(ask("explain", "-o", "json", target=f"node/{name}")) for name in names},
            words={
                **{f"node {name}": ask("node", target=name) for name in names},
                **{f"explain {name}": ask("explain", target=f"node/{name}") for name in names},
                "partitions": ask("partitions"),
                "report": page._replace(out=""),
                "lint": _lint(manifests),
            },
            down=_data(ask("partitions", "-o", "json")),
            lint=_data(_lint(manifests, "-o", "json")),
            report=_numbers(page.out),
            page=page.out,
        )


def _written(cluster: Cluster, folder: Path) -> str:
    """The cluster as a snapshot: it shows what does not exist, as the objects of a List would not."""
    file = folder / f"cluster-{cluster.seed}.snapshot"
    source = MemorySource(cluster.objects, description="the cluster", now=NOW, git_version="v1.36.3")
    said = _run("snapshot", parse(["snapshot", "-o", str(file)]).options, source)
    assert said.code == 0, said
    return str(file)


def _manifests(cluster: Cluster) -> list[Object]:
    """Pods and their workloads as their authors wrote them: without what the API server and the kubelet added."""
    kinds = {"Pod", "Deployment", "StatefulSet", "DaemonSet", "Job", "ReplicaSet"}
    kinds |= {"PersistentVolumeClaim", "PersistentVolume"}
    return [
        {part: value for part, value in entry.items() if part != "status"}
        for entry in cluster.objects
        if entry["kind"] in kinds
    ]


def _lint(file: Path, *words: str) -> Said:
    options: Any = parse(["lint", "-f", str(file), *words]).options
    return _run("lint", options.replace(colour=True), MemorySource((), description="no cluster"))


def _of_pod(ask: Asker, cluster: Cluster, pod: Object) -> PodStated:
    namespace, name = key_of(pod)
    target = f"pod/{name}"

    def about(*words: str) -> Said:
        return ask(*words, target=target, namespace=namespace)

    deletion = _data(about("delete", "--grace-period=0", "-o", "json"))
    explained, timed = _data(about("explain", "-o", "json")), _data(about("explain", "--timeline=all", "-o", "json"))
    return PodStated(
        pod=pod,
        explain=about("explain", "-o", "wide"),
        explained=explained,
        timeline=about("explain", "--timeline=all"),
        timed=timed.get("timeline") or {},
        delete=about("delete", "--grace-period=0"),
        deletion=deletion if deletion.get("stakes") else {},
        webhook=_warned(cluster, pod),
    )


_WEBHOOKS: Final[dict[int, Any]] = {}


def _warned(cluster: Cluster, pod: Object) -> tuple[str, ...]:
    if cluster.seed not in _WEBHOOKS:
        _WEBHOOKS.clear()
        _WEBHOOKS[cluster.seed] = make_cluster(cluster.objects, now=NOW)
    request = decode_review(delete_review(pod))
    reply = json.loads(encode_answer(request.uid, validate(request, _WEBHOOKS[cluster.seed])))
    return tuple(reply["response"].get("warnings", ()))


def _data(said: Said) -> Mapping[str, Any]:
    return json.loads(said.out) if said.out else {}


class _Blocks(HTMLParser):
    """Finds the block of numbers."""

    def __init__(self) -> None:
        super().__init__()
        self._within = False
        self.text = ""

    def handle_starttag(self, tag: str, attrs: Sequence[tuple[str, str | None]]) -> None:
        self._within = tag == "script" and ("id", "data") in attrs

    def handle_data(self, data: str) -> None:
        if self._within:
            self.text += data

    def handle_endtag(self, tag: str) -> None:
        if tag == "script":
            self._within = False


def _numbers(page: str) -> Mapping[str, Any]:
    start = page.find('id="data"')
    parser = _Blocks()
    parser.feed(page[page.rfind("<", 0, start) :])
    return json.loads(parser.text) if parser.text else {}
