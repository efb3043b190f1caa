"""Tables of the data, batch and ml teams."""

from __future__ import annotations

from typing import Final

from tests.demo_cluster.rows import ON_MEMORY, ON_SPOT, SIDECAR, TOLERATE_MEMORY, Container, Replica, workload
from tests.demo_cluster.states import (
    evicted,
    evicted_by_taint_manager,
    gated,
    pending,
    preempted_and_failed,
    preempted_and_terminating,
    resize_deferred,
    succeeded,
)

# What a real kube-scheduler says of this very cluster.
_TRAINER_PENDING: Final = (
    "0/12 nodes are available: 1 node(s) were unschedulable, 2 Insufficient memory, 4 node(s) had untolerated "
    "taint(s), 5 node(s) didn't match Pod's node affinity/selector. no new claims to deallocate, preemption: not "
    "eligible due to preemptionPolicy=Never."
)

RESIZE_MESSAGE: Final = (
    "Node didn't have enough resource: memory, requested: 42949672960, used: 30702305280, capacity: 65705873408"
)

EVICTED_MESSAGE: Final = (
    "The node was low on resource: memory. Threshold quantity: 100Mi, available: 73216Ki. "
    "Container export was using 9437588Ki, request is 1Gi, has larger consumption of memory. "
)

_DATA: Final = (
    # A database with 300 s of grace, a sidecar that must outlive it, and a liveness probe with a grace of its own.
    workload(
        "StatefulSet data/postgres",
        Container(
            "postgres",
            "data/postgres:18.1",
            "2 8Gi",
            "4 8Gi",
            {
                "livenessProbe": {
                    "exec": {"command": ["pg_isready", "-q"]},
                    "terminationGracePeriodSeconds": 60,
                    "timeoutSeconds": 5,
                },
                "lifecycle": {"preStop": {"exec": {"command": ["pg_ctl", "stop", "-m", "fast"]}}},
            },
        ),
        Container("exporter", "data/postgres-exporter:0.19.0", "50m 64Mi", "50m 64Mi"),
        on="a3 b3 c2",
        init=(Container("wal-archiver", "data/wal-archiver:1.8.0", "100m 256Mi", "- 256Mi", SIDECAR),),
        priority_class="data-critical",
        age="198d",
        spec={"terminationGracePeriodSeconds": 300, "tolerations": [TOLERATE_MEMORY]},
        port=5432,
        claim="fast-block 500Gi",
    ),
    # broker-2 depends on the silent node as shop/db-1 does, but its block volume stays locked to that node.
    workload(
        "StatefulSet data/broker",
        Container("broker", "data/broker:4.1.1", "1 4Gi", "2 4Gi"),
        on="a1 b1",
        odd=(Replica("c3", state=evicted_by_taint_manager),),
        priority_class="data-critical",
        age="198d",
        spec={"terminationGracePeriodSeconds": 90},
        port=9092,
        claim="fast-block 250Gi",
    ),
    # Fills node-c2, and nothing of the shop may preempt it.
    workload(
        "StatefulSet data/cache",
        Container("cache", "data/cache:8.4.0", "500m 13Gi", "1 13Gi"),
        on="c2",
        priority_class="data-critical",
        age="102d",
        port=6379,
    ),
)

_BATCH: Final = (
    # A Job's pod that ended well.
    workload(
        "CronJob batch/nightly-report",
        Container("report", "batch/nightly-report:1.31.0", "500m 1Gi", "1 2Gi"),
        odd=(Replica("a2", "", "03:00:00", succeeded("03:06:41")),),
        priority_class="batch-low",
        age="11m",
        settings={"schedule": "0 3 * * *"},
    ),
    # Trouble: preempted by shop/search at 03:07:56 and stopped; its replacement runs on node-a1.
    workload(
        "Job batch/nightly-index",
        Container("index", "batch/nightly-index:2.2.0", "1 12Gi", "2 12Gi"),
        odd=(
            Replica(
                "b1",
                "w5k9d",
                "02:30:00",
                preempted_and_failed("03:07:56", "03:08:02", "batch.example.com/keep-output"),
            ),
            Replica("a1", "q7n2s", "03:07:57"),
        ),
        priority_class="batch-low",
        age="41m",
    ),
    workload(
        "Job batch/video-encode",
        Container("encode", "batch/video-encode:0.44.1", "1 3Gi", "2 4Gi"),
        on="b4 b4 c4",
        priority_class="batch-low",
        age="1h22m",
        spec=ON_SPOT,
        settings={"parallelism": 3, "completions": 12},
    ),
    # Trouble: evicted by the kubelet for memory; the object stays until somebody deletes it.
    workload(
        "Deployment batch/report-export",
        Container("export", "batch/report-export:1.2.2", "100m 1Gi"),
        on="b2",
        odd=(Replica("a1", "zr4gw", "1d2h", evicted("01:47:33", EVICTED_MESSAGE)),),
        priority_class="batch-low",
        age="1h23m27s",
    ),
)

_ML: Final = (
    # Trouble: no node has 56Gi left, and its class never preempts.
    workload(
        "Job ml/trainer",
        Container("trainer", "ml/trainer:22.10", "1 56Gi", "6 56Gi"),
        odd=(Replica("", "v9c4m", "02:12:08", pending(_TRAINER_PENDING, "02:12:08")),),
        priority_class="batch-low",
        age="58m52s",
        spec=ON_MEMORY,
    ),
    # Trouble: a scheduling gate keeps it out of the queue until its data is there.
    workload(
        "Job ml/evaluate",
        Container("evaluate", "ml/evaluate:22.10", "1 8Gi", "2 8Gi"),
        odd=(Replica("", "j3xhf", "02:12:09", gated("ml.example.com/dataset-ready")),),
        priority_class="batch-low",
        age="58m51s",
    ),
    # Trouble: an in-place resize from 24Gi to 40Gi waits, as node-a3 has not so much left.
    workload(
        "StatefulSet ml/feature-store",
        Container("store", "ml/feature-store:3.0.5", "1 24Gi", "2 24Gi"),
        odd=(Replica("a3", state=resize_deferred("02:51:20", "40Gi", RESIZE_MESSAGE)),),
        age="19d",
        spec=ON_MEMORY,
        port=6566,
    ),
    # Trouble: preempted by payments/fraud-score at 03:10:18 and still using its 120 s of grace.
    workload(
        "Job ml/embed",
        Container("embed", "ml/embed:1.9.0", "2 24Gi", "4 24Gi"),
        odd=(Replica("b3", "n6d8t", state=preempted_and_terminating("03:10:18")),),
        priority_class="batch-low",
        age="6h40m",
        spec={**ON_MEMORY, "terminationGracePeriodSeconds": 120},
        settings={"podReplacementPolicy": "Failed"},
    ),
    workload(
        "Deployment ml/model-server",
        Container("server", "ml/model-server:2.7.3", "1 16Gi", "4 16Gi"),
        on="b3",
        age="8d",
        spec=ON_MEMORY,
        port=8500,
    ),
    workload(
        "Pod ml/notebook",
        Container("notebook", "ml/notebook:7.5.0", "500m 2Gi", "- 6Gi"),
        on="c4",
        age="17h",
        spec=ON_SPOT,
    ),
)

BACKENDS: Final = (*_DATA, *_BATCH, *_ML)
