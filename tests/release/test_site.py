"""The documentation as a site: every link and every page holds."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

from release.build import ROOT
from release.reference import write_reference


def test_site_is_built_without_a_warning(tmp_path: Path) -> None:
    docs = tmp_path / "docs"
    shutil.copytree(ROOT / "docs", docs, ignore=shutil.ignore_patterns("reference"))
    before = dict(os.environ)
    write_reference(docs / "reference")
    assert dict(os.environ) == before
    command = [sys.executable, "-m", "sphinx", "--fail-on-warning", "--keep-going", "--quiet", "-b", "html"]
    done = subprocess.run([*command, docs, tmp_path / "site"], capture_output=True, text=True, check=False, cwd=ROOT)
    assert done.returncode == 0, done.stderr
    pages = sorted(path.relative_to(docs).with_suffix(".html") for path in docs.rglob("*.md"))
    assert all((tmp_path / "site" / page).is_file() for page in pages)
    index = (tmp_path / "site" / "index.html").read_text(encoding="utf-8")
    assert '<span class="sgr31">x 35 of 126 pods have something wrong.</span>' in index
    assert "\x1b" not in index
    assert "copybutton.js" in index
    assert "kubectl qos explain --timeline" in (tmp_path / "site" / "timeline.html").read_text(encoding="utf-8")
    # Nothing is fetched when a page is read.
    loaded = [page for page in pages if 'src="http' in (tmp_path / "site" / page).read_text(encoding="utf-8")]
    assert not loaded
