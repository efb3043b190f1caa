"""ImageLocality: upstream's cases (TestImageLocalityPriority, TestNormalizedImageName)."""

from __future__ import annotations

from typing import Any

from podrules.api.model.node import Node
from podrules.scheduling.scheduler.plugins.image_locality import ImageLocality, PresentImage, normalized_image_name
from tests.podrules.scheduling.scheduler.plugins.building_nodes import make_cycle, node_of, pod_of, scores_of
from tests.table import row, table

MIB = 1024 * 1024


def with_images(name: str, *images: str) -> Node:
    """A node with images, each written ``MiB:tag,tag``."""
    entries = []
    for image in images:
        size, _, tags = image.partition(":")
        names = [f"gcr.io/{size}:{tag}" for tag in (tags or "latest").split(",")]
        entries.append({"names": names, "sizeBytes": int(size) * MIB})
    return node_of(name, status={"images": entries})


N_40_300_2000 = with_images("a", "40:latest,v1,v1", "300:latest,v1", "2000")
N_250_10 = with_images("b", "250", "10:latest,v1")
N_600_40_900 = with_images("c", "600", "40", "900")
N_300_600_900 = with_images("d", "300", "600", "900")
N_4000_30 = with_images("e", "4000", "30")
N_20_30_40 = with_images("f", "20", "30", "40")
NONE = node_of("g")


def images(*sizes: int) -> list[dict[str, Any]]:
    return [{"image": f"gcr.io/{size}"} for size in sizes]


@table(
    "spec, nodes, expected",
    {
        "two images spread on two nodes, prefer the larger image one": row(
            {"containers": images(40, 250)}, [N_40_300_2000, N_250_10], [0, 5]
        ),
        "two images on one node, prefer this node": row(
            {"containers": images(40, 300)}, [N_40_300_2000, N_250_10], [7, 0]
        ),
        "if exceed limit, use limit": row({"containers": images(10, 4000)}, [N_4000_30, N_250_10], [100, 0]),
        "if exceed limit, use limit (with node which has no images present)": row(
            {"containers": images(10, 4000)}, [N_4000_30, N_250_10, NONE], [66, 0, 0]
        ),
        "pod with multiple large images, node2 is preferred": row(
            {"containers": images(300, 600, 900)}, [N_600_40_900, N_300_600_900, NONE], [32, 36, 0]
        ),
        "pod with multiple small images": row({"containers": images(30, 40)}, [N_20_30_40, N_4000_30], [1, 0]),
        "pod with ImageVolume": row(
            {"containers": images(30), "volumes": [{"name": "imageVolume", "image": {"reference": "gcr.io/300"}}]},
            [N_300_600_900, N_4000_30],
            [6, 0],
        ),
        "include InitContainers: two images spread on two nodes, prefer the larger image one": row(
            {"containers": images(30), "initContainers": images(300)}, [N_40_300_2000, N_20_30_40], [6, 0]
        ),
    },
)
def test_score(spec: dict[str, Any], nodes: list[Node], expected: list[int]) -> None:
    assert scores_of(ImageLocality(), make_cycle(pod_of(spec), nodes)) == expected


def test_share_is_of_all_nodes_and_not_of_feasible_ones() -> None:
    context = make_cycle(pod_of({"containers": images(4000)}), [N_4000_30, *[NONE] * 7])
    assert scores_of(ImageLocality(), context, [0]) == [100 * (500 - 23) // (1000 - 23)]


def test_name_that_a_node_lists_twice_is_on_one_node() -> None:
    context = make_cycle(pod_of({"containers": images(300)}), [with_images("a", "300:latest,latest"), NONE])
    assert scores_of(ImageLocality(), context) == [100 * (150 - 23) // (1000 - 23), 0]


def test_first_node_decides_the_size() -> None:
    first = node_of("a", status={"images": [{"names": ["x:latest"], "sizeBytes": 900 * MIB}]})
    second = node_of("b", status={"images": [{"names": ["x:latest"], "sizeBytes": 90 * MIB}]})
    context = make_cycle(pod_of({"containers": [{"image": "x"}]}), [first, second])
    assert scores_of(ImageLocality(), context) == [89, 89]


@table(
    "name, expected",
    {
        "add :latest postfix 1": row("root", "root:latest"),
        "add :latest postfix 2": row("gcr.io:5000/root", "gcr.io:5000/root:latest"),
        "keep it as is 1": row("root:tag", "root:tag"),
        "keep it as is 2": row("root@" + "sha256:e3", "root@" + "sha256:e3"),
    },
)
def test_normalized_image_name(name: str, expected: str) -> None:
    assert normalized_image_name(name) == expected


def test_explain_shows_the_terms() -> None:
    spec = {"containers": images(40, 300), "initContainers": images(300)}
    context = make_cycle(pod_of(spec), [N_40_300_2000, N_600_40_900])
    found = ImageLocality().explain(context, None, 0)
    large = PresentImage("gcr.io/300:latest", 300 * MIB, 1, 150 * MIB)
    assert found.present == (large, PresentImage("gcr.io/40:latest", 40 * MIB, 2, 40 * MIB), large)
    assert (found.total_nodes, found.sum, found.least, found.most) == (2, 340 * MIB, 23 * MIB, 3000 * MIB)
