"""Tables of the shop's teams: shop, payments."""

from __future__ import annotations

from typing import Final

from tests.demo_cluster.rows import ON_MEMORY, ON_SPOT, SIDECAR, Container, Replica, spread, workload
from tests.demo_cluster.states import TAINT_EVICTION_AT, evicted_by_taint_manager, oom_killed, pending

# What a real kube-scheduler says of this very cluster.
_CHECKOUT_PENDING: Final = (
    "0/12 nodes are available: 1 node(s) were unschedulable, 2 Insufficient memory, 3 node(s) didn't match pod "
    "topology spread constraints, 6 node(s) had untolerated taint(s). no new claims to deallocate, preemption: 0/12 "
    "nodes are available: 1 Insufficient memory, 4 node(s) didn't match pod topology spread constraints, 7 Preemption "
    "is not helpful for scheduling."
)
_FRAUD_SCORE_PENDING: Final = (
    "0/12 nodes are available: 1 node(s) were unschedulable, 2 Insufficient memory, 4 node(s) had untolerated "
    "taint(s), 5 node(s) didn't match Pod's node affinity/selector. no new claims to deallocate, preemption: not "
    "eligible due to a terminating pod on the nominated node."
)

_CHECKOUT: Final = (
    # Trouble: the injected istio-proxy has no limits, which keeps every pod of checkout from Guaranteed.
    # Trouble: a zone spread that cannot be met. Zone c is owed the sixth replica since node-c3 went silent; of its
    # nodes one is cordoned, one has no memory left, one is silent and one is for spot work.
    workload(
        "Deployment shop/checkout",
        Container(
            "checkout",
            "shop/checkout:4.18.2",
            "500m 1Gi",
            "500m 1Gi",
            {
                "lifecycle": {"preStop": {"sleep": {"seconds": 5}}},
                "livenessProbe": {"httpGet": {"path": "/live", "port": "main", "scheme": "HTTP"}},
                "readinessProbe": {"httpGet": {"path": "/ready", "port": "main", "scheme": "HTTP"}},
            },
        ),
        on="a1 a2 b1 b2 c2",
        odd=(
            Replica("c3", "g8h5k", state=evicted_by_taint_manager),
            Replica("", "x2x7p", TAINT_EVICTION_AT, pending(_CHECKOUT_PENDING, TAINT_EVICTION_AT)),
        ),
        init=(Container("istio-proxy", "mesh/proxyv2:1.28.1", "100m 128Mi", more=SIDECAR),),
        priority_class="shop-high",
        age="6d",
        spec=spread("checkout", "DoNotSchedule"),
        port=8080,
    ),
)

_CLASSES: Final = (
    # Trouble: an init container without limits, long finished, keeps cart from Guaranteed.
    workload(
        "Deployment shop/cart",
        Container("cart", "shop/cart:2.9.1", "250m 512Mi", "250m 512Mi"),
        on="a1 b1 b2 c1",
        init=(Container("migrate", "shop/cart-migrate:2.9.1", "100m 128Mi"),),
        priority_class="shop-high",
        age="13d",
        port=8080,
    ),
    # Pod-level resources decide alone: Guaranteed, though neither container sets anything.
    workload(
        "Deployment shop/catalog",
        Container("catalog", "shop/catalog:7.3.0"),
        Container("warmer", "shop/catalog-warmer:7.3.0"),
        on="a1 a2 b1 c1",
        qos="Guaranteed",
        age="9d",
        spec={"resources": {"limits": {"cpu": "1", "memory": "2Gi"}, "requests": {"cpu": "1", "memory": "2Gi"}}},
        port=8080,
    ),
    # Trouble: its class legacy-vip was deleted; these pods keep priority 5000, a new one would be refused.
    workload(
        "Deployment shop/loyalty",
        Container("loyalty", "shop/loyalty:1.12.4", "200m 512Mi", "400m 768Mi"),
        on="b1 c1",
        priority_class="legacy-vip",
        age="88d",
        port=8080,
    ),
    workload(
        "Deployment shop/recommend",
        Container("recommend", "shop/recommend:5.0.7", "500m 2Gi", "2 3Gi"),
        on="a1 b2",
        age="4d",
        port=8080,
    ),
)

_ENDINGS: Final = (
    # Trouble: the preStop hook sleeps 60 s, the grace period is 30 s: SIGTERM never gets its turn in time.
    workload(
        "Deployment shop/web",
        Container(
            "web",
            "shop/web:11.4.0",
            "250m 256Mi",
            "- 512Mi",
            {"lifecycle": {"preStop": {"exec": {"command": ["/bin/sh", "-c", "sleep 60"]}}}},
        ),
        on="a1 a2 b1 b2 c1",
        odd=(
            Replica("c3", "m7lqd", state=evicted_by_taint_manager),
            Replica("a2", "r4tzc", TAINT_EVICTION_AT),
        ),
        priority_class="shop-high",
        age="2d",
        port=8080,
    ),
    # search-…-h9nfw took the place of a replica on the silent node and preempted batch/nightly-index for it.
    workload(
        "Deployment shop/search",
        Container("search", "shop/search:3.7.7", "1 18Gi", "2 18Gi"),
        on="a2 c1",
        odd=(
            Replica("c3", "k5wvb", state=evicted_by_taint_manager),
            Replica("b1", "h9nfw", TAINT_EVICTION_AT),
        ),
        priority_class="shop-high",
        age="16d",
        port=9200,
    ),
    # Trouble: a grace period of 0: every deletion of this pod is a forced one.
    workload(
        "Pod shop/price-feed",
        Container("feed", "shop/price-feed:0.9.3", "50m 64Mi", "100m 128Mi"),
        on="a2",
        age="31d",
        spec={"terminationGracePeriodSeconds": 0},
    ),
    # Trouble: db-1 has been Terminating on the silent node since its grace period ended at 03:08:26; its volume is
    # ReadWriteOnce on NFS, which locks nothing: force deleting it may put two writers on one data folder.
    workload(
        "StatefulSet shop/db",
        Container("db", "shop/db:9.1.5", "500m 2Gi", "1 2Gi"),
        on="b2",
        odd=(Replica("c3", state=evicted_by_taint_manager),),
        priority_class="shop-high",
        age="151d",
        port=3306,
        claim="shared-nfs 80Gi",
    ),
    # Trouble: OOM-killed again and again: its limit is too small for some pictures.
    workload(
        "Deployment shop/image-resizer",
        Container("resizer", "shop/image-resizer:1.4.4", "250m 256Mi", "1 256Mi"),
        on="c4",
        odd=(Replica("b4", "t6pxj", state=oom_killed("03:08:47", 23)),),
        age="1d",
        spec=ON_SPOT,
        port=8080,
    ),
)

_PAYMENTS: Final = (
    # A truly Guaranteed pod: requests equal limits in its only container.
    workload(
        "StatefulSet payments/ledger",
        Container("ledger", "payments/ledger:6.2.0", "1 6Gi", "1 6Gi"),
        on="a2 b2 c2",
        qos="Guaranteed",
        priority_class="data-critical",
        age="77d",
        spec={"terminationGracePeriodSeconds": 120},
        port=7000,
        claim="fast-block 50Gi",
    ),
    # Limits only: API defaulting copies them to the requests, so it is stored as Guaranteed.
    workload(
        "Deployment payments/payout-api",
        Container("payout-api", "payments/payout-api:2.0.11", caps="500m 1Gi"),
        on="a1 b1",
        qos="Guaranteed",
        priority_class="shop-high",
        age="11d",
        port=8080,
    ),
    # Trouble: preempts ml/embed on node-b3 and waits for the victim's grace period to end at 03:12:18.
    workload(
        "Deployment payments/fraud-score",
        Container("model", "payments/fraud-score:14.1.0", "1 20Gi", "2 20Gi"),
        on="a3",
        odd=(Replica("", "c8z2n", "03:10:17", pending(_FRAUD_SCORE_PENDING, "03:10:17", "node-b3")),),
        priority_class="shop-high",
        age="5d",
        spec=ON_MEMORY,
        port=8080,
    ),
    workload(
        "Deployment payments/card-vault",
        Container("vault", "payments/card-vault:3.3.3", "200m 384Mi", "200m 384Mi"),
        on="a2 b1",
        qos="Guaranteed",
        priority_class="shop-high",
        age="54d",
        port=8443,
    ),
)

SHOP: Final = (*_CHECKOUT, *_CLASSES, *_ENDINGS, *_PAYMENTS)
