"""``make fuzz``: bodies chosen by the lines of the handlers that they reach (atheris), until the time is over.

Exit code 0: nothing was found. A body that makes a handler fail ends the run with its traceback; it is written to the
current folder as ``crash-…``, and read again when it is given as an argument.
"""

from __future__ import annotations

import logging
import random
import sys
import tempfile
from pathlib import Path
from typing import Final

import atheris
from hypothesis import given, settings

with atheris.instrument_imports(include=["webhook", "podrules", "cluster_io"]):
    from tests.webhook.conftest import start_demo
    from tests.webhook.fuzz.bodies import bodies, reviews
    from tests.webhook.fuzz.test_fuzz import review_once


_DRAWN: Final = b"\x80"
"""The prefix of bytes that Hypothesis draws a body from; a body that is used unchanged has a smaller one."""
_SEEDS: Final = 50
_SEED_BYTES: Final = 2048


def main() -> None:
    """Run libFuzzer with its own arguments, such as ``-max_total_time=60``."""
    # The log of a handler about a broken pod, once per body.
    logging.disable(logging.WARNING)
    cluster = start_demo().cluster
    for body in reviews():
        review_once(body, cluster)

    @settings(database=None)
    @given(body=bodies())
    def review(body: bytes) -> None:
        review_once(body, cluster)

    def test_one_input(data: bytes) -> None:
        """Every second input is used as a body unchanged: Hypothesis's bodies are more like reviews."""
        if data[:1] < _DRAWN:
            review_once(data[1:], cluster)
        else:
            review.hypothesis.fuzz_one_input(data[1:])  # type: ignore[attr-defined]  # Hypothesis adds it

    with tempfile.TemporaryDirectory(prefix="fuzz-") as corpus:
        _write_seeds(Path(corpus))
        known = [] if any(Path(argument).is_file() for argument in sys.argv[1:]) else [corpus]
        # Long inputs from the start: a review has some thousand bytes.
        atheris.Setup([*sys.argv, "-len_control=0", "-max_len=16384", *known], test_one_input)
        atheris.Fuzz()


def _write_seeds(corpus: Path) -> None:
    """Good reviews, and bytes that bodies are drawn from."""
    some = random.Random(0)  # noqa: S311 - no secret
    drawn = [_DRAWN + some.randbytes(_SEED_BYTES) for _ in range(_SEEDS)]
    for number, seed in enumerate((*(b"\x00" + body for body in reviews()), *drawn)):
        (corpus / str(number)).write_bytes(seed)


if __name__ == "__main__":
    main()
