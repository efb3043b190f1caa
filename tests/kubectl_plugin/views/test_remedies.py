"""Every input error has one line for the error and one for the remedy."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

import pytest

from tests.kubectl_plugin.running import run

FILES: Final = {
    "empty.yaml": "",
    "nameless.yaml": "{apiVersion: v1, kind: Pod, metadata: {name: a}, spec: {containers: []}}",
    "containerless.yaml": "{apiVersion: v1, kind: Pod, metadata: {name: a}, spec: {containers: []}}",
    "open.yaml": "a: [\n",
    "map.yaml": "{apiVersion: v1, kind: ConfigMap, metadata: {name: a}}",
    "pod.yaml": "{apiVersion: v1, kind: Pod, metadata: {name: a}, spec: {containers: [{name: a, image: b}]}}",
    "text.json": '"text"',
}
TYPED: Final = """
explan pod/a
explain
explain --demo --bogus
explain pod/a --demo -o foo
explain pod/zzz -n shop --demo
explain pod/a/b --demo
explain foo/bar --demo
explain -f nowhere.yaml --offline
explain -f empty.yaml --offline
explain -f nameless.yaml --offline
explain -f containerless.yaml --offline
explain -f open.yaml --offline
explain -f map.yaml --offline
explain pod/db-0 -n shop --demo --timeline=foo
explain pod/db-0 -n shop --demo --on nowhere
explain pods -l x=,= --demo
explain pods --field-selector foo --demo
explain pod/db-0 --snapshot nowhere.json
explain pod/db-0 --snapshot open.yaml
explain node/node-a1 --demo --placement
explain pod/a --request-timeout 5x
explain --demo --snapshot a pod/a
explain pods --watch --demo
node nowhere --demo
node pod/a --demo
place --demo
place deployment/nope -n shop --demo
place deployment/checkout -n shop --replicas 0 --demo
place -f pod.yaml --exclude-node nowhere --demo
place -f pod.yaml --add-node foo --demo
place -f pod.yaml --add-node cpu=8 --demo
place -f pod.yaml --without pod/nope --demo
place --drain nowhere --demo
place node/node-a1 --demo
place -f map.yaml --demo
report -o nowhere/x.html --demo
report -o foo --demo
report pod/nope --demo
report --all pod/db-0 --demo
report --compare text.json --demo
snapshot --demo
snapshot --demo -o nowhere/c.qos
snapshot --snapshot open.yaml -o -
snapshot --snapshot pod.yaml -o x.qos
snapshot --demo -o json
lint
lint -f pod.yaml --severity bogus
why bogusterm
partitions foo
delete --demo
delete pod/nope -n shop --demo
delete pod/db-0 -n shop --grace-period=-1 --demo
delete pod/db-0 -n shop --force --demo
fence node/nowhere --demo
fence node/node-a1 --demo --confirm
fence node/node-c3 --demo --confirm-powered-off
unfence node/nowhere --demo
""".strip().splitlines()


@pytest.mark.parametrize("typed", TYPED)
def test_error_has_a_remedy_line(typed: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name, text in FILES.items():
        (tmp_path / name).write_text(text)
    ran = run(*typed.split())
    said, *help_lines = ran.err.splitlines()
    assert ran.code != 0
    assert re.match(r"error: \S", said)
    assert help_lines
    assert all(help_lines)
