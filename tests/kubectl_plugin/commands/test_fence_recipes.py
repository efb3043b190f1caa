"""The fence commands of the documentation, with stand-ins for their tools: exit code 0 only for a machine that is off.

A stand-in logs its arguments. It answers a query of the state with the next of the given answers, which start again
after the power command. The stand-ins of `timeout` and `sleep` take no time and log the time that they would take.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

import msgspec
import pytest

from cluster_io.demo import demo_objects
from tests.kubectl_plugin.scripted import change, refusal
from tests.tree import ROOT

PAGE: Final = ROOT / "docs" / "how-to" / "fence-commands.md"
SCRIPT: Final = re.compile(r"^```sh\n(#!/bin/sh\n# fence-(\w+) NODE\n.*?)^```$", re.DOTALL | re.MULTILINE)
SCRIPTS: Final = {found[2]: found[1] for found in SCRIPT.finditer(PAGE.read_text(encoding="utf-8"))}
ERROR: Final = "!"
"""No answer: the tool fails and prints nothing."""
SECRET: Final = "s3cret-of-the-environment"
BASICS: Final = ("awk", "cat", "env", "sed", "sh", "tr")
LIMIT: Final = 9 * 60
STAND_IN: Final = """\
#!/bin/sh
name=${0##*/}
{ printf '%s' "$name"; for word; do printf '\\037%s' "$word"; done; printf '\\037timed=%s\\n' "${TIMED:-}"; } >> "$LOG"
for rule in "$RULES"/*; do
    pattern=$(cat "$rule/pattern")
    case "$name $*" in
        $pattern) ;;
        *) continue ;;
    esac
    after=before
    [ -e "$LOG.off" ] && [ -d "$rule/after" ] && after=after
    number=$(cat "$rule/$after/next" 2> /dev/null || echo 1)
    answer=$(sed -n "${number}p" "$rule/$after/answers")
    last=$(sed -n '$=' "$rule/$after/answers")
    [ "$number" -lt "$last" ] && echo $((number + 1)) > "$rule/$after/next"
    [ -e "$rule/is-off" ] && : > "$LOG.off"
    [ "$answer" = '!' ] && exit 1
    printf '%b\\n' "$answer"
    exit 0
done
echo "no rule: $name $*" >> "$LOG.unknown"
exit 1
"""
TIMEOUT: Final = """\
#!/bin/sh
printf 'timeout\\037%s\\n' "$1" >> "$LOG"
[ -n "$HANGS" ] && exit 124
TIMED=$1
export TIMED
shift
exec "$@"
"""
SLEEP: Final = """\
#!/bin/sh
printf 'sleep\\037%s\\n' "$1" >> "$LOG"
"""


class State(msgspec.Struct):
    """A query of the power state."""

    asks: str
    """A shell pattern for the tool and its arguments."""
    running: str
    stopped: str
    others: tuple[str, ...] = ()
    """Another state that is not off."""


class Recipe(msgspec.Struct):
    """The calls of a script."""

    power_off: str
    """The pattern of the power command."""
    states: tuple[State, ...]
    inventory: str = ""
    """The line of its file after the node's name; empty: it reads the machine from the Node."""
    provider: str = ""
    """``spec.providerID``."""
    also: tuple[str, ...] = ()
    """Other calls, which succeed."""


NUMBERED: Final = (
    "alias: a sid: 1 type: Normal session-state: LOGGED_IN\\nname: iqn.2004-10.com.example:node-a1 (authenticated)"
)
CALLS: Final = r"""
ipmi:
  power_off: ipmitool * chassis power off
  inventory: bmc-a
  states:
  - asks: ipmitool -I lanplus -H bmc-a -U fence -f * chassis power status
    running: Chassis Power is on
    stopped: Chassis Power is off
    others: ["", Chassis Power is offline, Unable to establish IPMI v2 / RMCP+ session, 'off']
libvirt:
  power_off: virsh * destroy vm-a
  inventory: kvm-1 vm-a
  states:
  - asks: virsh -q -c qemu+ssh://fence@kvm-1/system?no_tty=1 domstate vm-a
    running: running
    stopped: shut off
    others: ["", paused, in shutdown, crashed, pmsuspended, idle]
vsphere:
  power_off: govc vm.power -off -force -vm.uuid 4207aaaa-0000
  provider: vsphere://4207aaaa-0000
  states:
  - asks: govc vm.info -vm.uuid 4207aaaa-0000
    running: 'Name:           a\n  Power state:  poweredOn'
    stopped: 'Name:           a\n  Power state:  poweredOff'
    others: ["", '  Power state:  suspended', '  Power state:  poweredOff\n  Power state:  poweredOn']
proxmox:
  power_off: ssh * root@pve-1 qm stop 104
  inventory: pve-1 104
  states:
  - asks: ssh * root@pve-1 qm status 104
    running: 'status: running'
    stopped: 'status: stopped'
    others: ["", 'status: paused', Configuration file 'nodes/pve-1/qemu-server/104.conf' does not exist, stopped]
aws:
  power_off: aws ec2 stop-instances --force --instance-ids i-0a1 --output text
  provider: aws:///eu-central-1a/i-0a1
  states:
  - asks: aws ec2 describe-instances --query * --instance-ids i-0a1 --output text
    running: running
    stopped: stopped
    others: [stopping, pending, running, terminating, "", shutting-down, None]
gce:
  power_off: gcloud compute instances stop --async vm-a --zone=europe-west1-b --project=shop-1 --quiet
  provider: gce://shop-1/europe-west1-b/vm-a
  states:
  - asks: gcloud compute instances describe * vm-a --zone=europe-west1-b --project=shop-1 --quiet
    running: RUNNING
    stopped: TERMINATED
    others: ["", STOPPING, SUSPENDED, SUSPENDING, PROVISIONING, REPAIRING]
azure:
  power_off: az rest * --method post --url /subscriptions/*/virtualMachines/a/powerOff?skipShutdown=true&api-version=*
  provider: azure:///subscriptions/0-1/resourceGroups/g/providers/Microsoft.Compute/virtualMachines/a
  states:
  - asks: az rest * --method get --url /subscriptions/*/virtualMachines/a/instanceView?api-version=* --query *
    running: PowerState/running
    stopped: PowerState/stopped
    others: ["", PowerState/stopping, PowerState/deallocating, PowerState/starting, PowerState/unknown]
openstack:
  power_off: openstack server stop 1f-2e
  provider: openstack:///1f-2e
  states:
  - asks: openstack server show 1f-2e -f value -c status
    running: ACTIVE
    stopped: SHUTOFF
    others: ["", ERROR, UNKNOWN, SUSPENDED, PAUSED, No server with a name or ID of '1f-2e' exists.]
nfs:
  power_off: ssh * root@nfs-1 rm -f /etc/exports.d/node-a.exports && exportfs -r && exportfs -f
  inventory: nfs-1 10.8.0.13
  states:
  - asks: ssh * root@nfs-1 exportfs -s
    running: /srv/a  10.8.0.12(rw,sync)\n/srv/b  10.8.0.1(rw)\n/srv/a  10.8.0.13(rw,sync)
    stopped: /srv/a  10.8.0.12(rw,sync)\n/srv/b  10.8.0.1(rw)
    others: ['/srv/a  10.8.0.12(rw,sync)\n/srv/b  10.8.0.1(rw)\n/srv/c  *(rw)',
      '/srv/a  10.8.0.12(rw,sync)\n/srv/b  10.8.0.1(rw)\n/srv/c  10.8.0.0/24(rw)',
      '/srv/a  10.8.0.12(rw,sync)\n/srv/b  10.8.0.1(rw)\n/srv/c  @nodes(rw)',
      '/srv/a  10.8.0.12(rw,sync)\n/srv/b  10.8.0.1(rw)\n/srv/c  node-a.example.com(rw)',
      '/srv/a  10.8.0.12(rw,sync)\n/srv/b  10.8.0.1(rw)\n/srv/c']
iscsi:
  power_off: ssh * root@san-1 targetcli /iscsi/iqn.2003-01.org.example:t/tpg1/acls delete iqn.2004-10.com.example:node-a
  inventory: san-1 iqn.2003-01.org.example:t iqn.2004-10.com.example:node-a
  also: [ssh * root@san-1 targetcli saveconfig]
  states:
  - asks: ssh * targetcli /iscsi/iqn.2003-01.org.example:t/tpg1 get attribute generate_node_acls
    running: generate_node_acls=1
    stopped: 'generate_node_acls=0 '
    others: ["", generate_node_acls=01]
  - asks: ssh * targetcli /iscsi/*/tpg1/acls ls
    running: 'o- acls ... [ACLs: 1]\n  o- iqn.2004-10.com.example:node-b ...
      [Mapped LUNs: 1]\n  o- iqn.2004-10.com.example:node-a ... [Mapped LUNs: 1]'
    stopped: 'o- acls ... [ACLs: 1]\n  o- iqn.2004-10.com.example:node-b ... [Mapped LUNs: 1]'
    others: [""]
  - asks: ssh * targetcli sessions detail
    running: 'alias: a sid: 1 type: Normal session-state: LOGGED_IN\nname: iqn.2004-10.com.example:node-a
      (authenticated)'
    stopped: (no open sessions)
    others: [""]
ceph:
  power_off: ceph --id fence osd blocklist add 10.8.0.13:0/0 31536000
  inventory: 10.8.0.13
  states:
  - asks: ceph --id fence osd blocklist ls
    running: 10.8.0.1:0/3710147553 2026-12-01T00:00:00+0000
    stopped: 10.8.0.13:0/0 2027-11-29T00:00:00+0000
    others: ["", 10.8.0.13:0/3710147553 2026-12-01T00:00:00+0000, 110.8.0.13:0/0 2027-11-29, 10.8.0.13:0/01 x]
"""
RECIPES: Final = msgspec.yaml.decode(CALLS, type=dict[str, Recipe])
STATES: Final = [(name, index) for name, recipe in RECIPES.items() for index in range(len(recipe.states))]
OTHERS: Final = [
    pytest.param(name, index, other, id=f"{name}-{index}-{number}")
    for name, index in STATES
    for number, other in enumerate(RECIPES[name].states[index].others)
]


class Ran(NamedTuple):
    """The actions of a script."""

    code: int
    err: str
    calls: tuple[tuple[str, ...], ...]
    """Tools with their arguments, in order; the last word is the time limit."""
    seconds: int
    """Its maximum duration."""
    powered_off: bool
    """Whether it ran the power command."""
    unknown: str
    """Unexpected calls."""


class Lab(NamedTuple):
    """A folder with a script and its stand-ins."""

    folder: Path
    name: str

    def run(
        self,
        *,
        before: Mapping[int, Sequence[str]] | None = None,
        after: Mapping[int, Sequence[str]] | None = None,
        power: str = "",
        hangs: bool = False,
        node: str = "node-a",
        inventory: str | None = None,
        provider: str | None = None,
    ) -> Ran:
        """Run it once.

        Args:
            before: Answers to each query before the power command, by its number; by default the machine is on.
            after: The answers after it; by default the machine is off.
            power: The answer of the power command.
            hangs: Whether no tool answers in time.
            node: The argument.
            inventory: The file of `/etc/fence`; by default a line for node-a, between others.
            provider: ``spec.providerID``; by default that of the recipe.
        """
        recipe = RECIPES[self.name]
        shutil.rmtree(self.folder, ignore_errors=True)
        rules, tools = self.folder / "rules", self.folder / "tools"
        tools.mkdir(parents=True)
        for number, pattern in enumerate(recipe.also):
            _write_rule(rules / f"also{number}", pattern, before=("done",))
        _write_rule(rules / "off", recipe.power_off, before=(power,))
        (rules / "off" / "is-off").touch()
        for number, state in enumerate(recipe.states):
            at_first, then = (before or {}).get(number, (state.running,)), (after or {}).get(number, (state.stopped,))
            _write_rule(rules / f"state{number}", state.asks, before=at_first, after=then)
        stand_ins = {"timeout": TIMEOUT, "sleep": SLEEP}
        for tool in {recipe.power_off.split()[0], "timeout", "sleep"}:
            (tools / tool).write_text(stand_ins.get(tool, STAND_IN))
            (tools / tool).chmod(0o755)
        for tool in BASICS:
            (tools / tool).symlink_to(shutil.which(tool) or tool)
        lines = f"node-a1 x y z\nnode-a {recipe.inventory}\nother-node-a x y z\n"
        (self.folder / self.name).write_text(lines if inventory is None else inventory)
        (self.folder / "ipmi-password").write_text(SECRET)
        script = self.folder / f"fence-{self.name}"
        script.write_text(SCRIPTS[self.name].replace("/etc/fence", str(self.folder)))
        script.chmod(0o755)
        log = self.folder / "log"
        environment = {
            **{f"{word}_PASSWORD": SECRET for word in ("IPMI", "GOVC", "OS")},
            "AWS_SECRET_ACCESS_KEY": SECRET,
            "PATH": str(tools),
            "LOG": str(log),
            "RULES": str(rules),
            "HANGS": "1" if hangs else "",
            "KUBECTL_QOS_PROVIDER_ID": recipe.provider if provider is None else provider,
        }
        done = subprocess.run(
            [script, node], env=environment, capture_output=True, text=True, stdin=subprocess.DEVNULL, check=False
        )
        calls = [tuple(line.split("\037")) for line in log.read_text().split("\n")[:-1]] if log.exists() else []
        unknown = Path(f"{log}.unknown")
        return Ran(
            done.returncode,
            done.stderr,
            tuple(call for call in calls if call[0] not in stand_ins),
            sum(int(call[1]) for call in calls if call[0] in stand_ins),
            Path(f"{log}.off").exists(),
            unknown.read_text() if unknown.exists() else "",
        )


def _write_rule(rule: Path, pattern: str, **answers: Sequence[str]) -> None:
    rule.mkdir(parents=True)
    escaped = re.sub(r"([?&]|\|)", r"\\\1", pattern)
    (rule / "pattern").write_text(escaped)
    for when, texts in answers.items():
        (rule / when).mkdir()
        (rule / when / "answers").write_text("".join(f"{text}\n" for text in texts))


@pytest.fixture
def lab(request: pytest.FixtureRequest, tmp_path: Path) -> Lab:
    return Lab(tmp_path / "lab", request.param)


every_recipe = pytest.mark.parametrize("lab", RECIPES, indirect=True)


def test_every_recipe_of_the_page_is_tested() -> None:
    assert set(SCRIPTS) == set(RECIPES)
    assert PAGE.read_text(encoding="utf-8").count("```sh\n") == len(RECIPES)


@every_recipe
def test_F6_second_run_changes_nothing(lab: Lab) -> None:
    states = RECIPES[lab.name].states
    off = {number: (state.stopped,) for number, state in enumerate(states)}
    ran = lab.run(before=off, power=ERROR)
    if lab.name in {"nfs", "ceph"}:
        # They store the same value again.
        ran = lab.run(before=off)
    assert (ran.code, ran.err, ran.unknown) == (0, "", "")
    assert ran.powered_off == (lab.name in {"nfs", "ceph"})


@pytest.mark.parametrize(("lab", "index"), STATES, indirect=["lab"])
def test_F6_machine_that_stays_on_is_not_fenced(lab: Lab, index: int) -> None:
    on = RECIPES[lab.name].states[index].running
    ran = lab.run(after={index: (on,)})
    assert ran.code == 1
    assert ran.err.startswith("node-a: ")
    assert ran.powered_off
    assert ran.seconds <= LIMIT


@pytest.mark.parametrize(("lab", "index", "other"), OTHERS, indirect=["lab"])
def test_F6_other_power_state_is_not_off(lab: Lab, index: int, other: str) -> None:
    answers = {index: (other,)}
    assert lab.run(before=answers, after=answers).code == 1


@pytest.mark.parametrize(("lab", "index"), STATES, indirect=["lab"])
def test_F6_late_power_state_counts(lab: Lab, index: int) -> None:
    state = RECIPES[lab.name].states[index]
    ran = lab.run(after={index: (state.running, ERROR, *state.others[:1], state.stopped)})
    assert (ran.code, ran.unknown) == (0, "")


@pytest.mark.parametrize(("lab", "index"), STATES, indirect=["lab"])
def test_F6_no_answer_fences_nothing(lab: Lab, index: int) -> None:
    ran = lab.run(before={index: (ERROR,)}, after={index: (ERROR,)})
    assert ran.code == 1
    assert ran.seconds <= LIMIT


@every_recipe
def test_F6_power_command_that_fails_is_no_proof(lab: Lab) -> None:
    states = RECIPES[lab.name].states
    ran = lab.run(power=ERROR, after={number: (state.running,) for number, state in enumerate(states)})
    assert ran.code == 1


@every_recipe
def test_F6_hanging_tools_time_out(lab: Lab) -> None:
    ran = lab.run(hangs=True)
    assert ran.code == 1
    assert ran.calls == ()
    assert 60 < ran.seconds <= LIMIT


@every_recipe
def test_F6_every_call_has_a_time_limit_and_no_secret(lab: Lab) -> None:
    ran = lab.run()
    assert (ran.code, ran.err, ran.unknown, ran.powered_off) == (0, "", "", True)
    for call in ran.calls:
        assert call[-1] == "timed=15"
        assert SECRET not in " ".join(call)
    assert not re.search(r"\s--?(P|pass|password|secret|token)\b", SCRIPTS[lab.name])


@every_recipe
def test_F6_unknown_machine_is_not_changed(lab: Lab) -> None:
    recipe = RECIPES[lab.name]
    twice = f"node-a {recipe.inventory}\nnode-a {recipe.inventory}\n"
    wrong = [{"provider": text} for text in ("", "kind://docker/kind/a", f"x{recipe.provider}")]
    if recipe.inventory:
        wrong = [{"inventory": text} for text in ("", "node-b x y z\n", twice, "node-a\n", "#node-a x y z\n")]
        wrong += [{"node": name} for name in ("", "node", "node-a.example.com", "*", "node-a;touch${IFS}x", "-h")]
    for one in wrong:
        ran = lab.run(**one)  # type: ignore[arg-type]
        assert ran.code == 1, one
        assert (ran.calls, ran.powered_off) == ((), False), one


@pytest.mark.parametrize(
    ("name", "given", "code", "unknown"),
    [
        ("ceph", {"inventory": "node-a fd00::13\n"}, 1, "add [fd00::13]:0/0 31536000"),
        ("iscsi", {"after": {2: (NUMBERED,)}}, 0, ""),
        (
            "azure",
            {"provider": RECIPES["azure"].provider.replace("virtual", "virtualMachineScaleSets/s/virtual")},
            0,
            "",
        ),
    ],
    ids=["an address of version 6", "an initiator with a longer name", "a scale set"],
)
def test_F6_other_machines(name: str, given: dict[str, Any], code: int, unknown: str, tmp_path: Path) -> None:
    ran = Lab(tmp_path / "lab", name).run(**given)
    assert ran.code == code
    assert unknown in ran.unknown


@pytest.mark.parametrize(("state", "code"), [("stopped", 4), ("stopping", 9)])
def test_F6_fence_follows_the_recipe(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, state: str, code: int) -> None:
    """4: the taint was sent, and this API server refuses it; 9: the taint was not sent."""
    lab = Lab(tmp_path / "lab", "aws")
    lab.run(after={0: (state,)})
    log, objects = lab.folder / "log", demo_objects()
    Path(f"{log}.off").unlink()
    for one in objects:
        if (one["kind"], one["metadata"]["name"]) == ("Node", "node-c3"):
            one["spec"] = {**one.get("spec", {}), "providerID": "aws:///eu-central-1a/i-0a1"}
    monkeypatch.setattr("tests.kubectl_plugin.scripted.demo_objects", lambda: objects)
    monkeypatch.setenv("PATH", str(lab.folder / "tools"), prepend=os.pathsep)
    for name, value in (("LOG", log), ("RULES", lab.folder / "rules"), ("HANGS", "")):
        monkeypatch.setenv(name, str(value))
    # It contains the machine of the fenced Node, whatever it contained before.
    monkeypatch.setenv("KUBECTL_QOS_PROVIDER_ID", "aws:///eu-central-1a/i-0another")
    log.unlink()
    command = f"--fence-command={lab.folder / 'fence-aws'}"
    ran = change("fence", "node/node-c3", command, "--confirm", given={"PATCH": [refusal(403, "no")]})
    assert ran.code == code, ran.err
    assert "stop-instances\037--force\037--instance-ids\037i-0a1" in log.read_text()
