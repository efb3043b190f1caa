"""The bill of materials of the whole image, Debian's and Python's packages, as CycloneDX.

The Dockerfile runs it inside the image that is built: ``bill.py PYTHON.cdx.json``, with the list that cyclonedx-py
made of Python's packages. It prints the list with Debian's packages and, where it is not one of them, the interpreter.
"""

from __future__ import annotations

import json
import platform
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator

_FIELDS: Final = ("binary:Package", "Version", "Architecture", "source:Package", "source:Version")
_FORMAT: Final = "${db:Status-Status}\\t" + "\\t".join(f"${{{field}}}" for field in _FIELDS) + "\\n"


def main() -> None:
    """Print the whole list.

    Raises:
        SystemExit: the list does not fit CycloneDX's schema.
    """
    bill = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    system = platform.freedesktop_os_release()
    bill["components"] += [_operating_system(system), *_debian_packages(system), *_interpreter()]
    text = json.dumps(bill, indent=1)
    wrong = JsonStrictValidator(SchemaVersion.from_version(bill["specVersion"])).validate_str(text)
    if wrong is not None:
        raise SystemExit(f"the bill of materials is not CycloneDX {bill['specVersion']}: {wrong}")
    print(text)


def _operating_system(system: dict[str, str]) -> dict[str, Any]:
    version = system.get("VERSION_ID", "")
    return {"type": "operating-system", "bom-ref": "os", "name": system["ID"], "version": version}


def _debian_packages(system: dict[str, str]) -> Iterator[dict[str, Any]]:
    distribution = f"{system['ID']}-{system.get('VERSION_ID', '')}"
    for line in sorted(_output("dpkg-query", "--show", f"--showformat={_FORMAT}").splitlines()):
        state, name, version, architecture, source, source_version = line.split("\t")
        if state != "installed":
            continue
        plain = name.partition(":")[0]
        purl = (
            f"pkg:deb/{system['ID']}/{quote(plain)}@{quote(version, safe='.~-')}"
            f"?arch={architecture}&distro={distribution}"
        )
        yield {
            "type": "library",
            "bom-ref": f"deb:{name}",
            "name": plain,
            "version": version,
            "purl": purl,
            "properties": [{"name": "debian:source", "value": f"{source} {source_version}"}],
        }


def _interpreter() -> Iterator[dict[str, Any]]:
    """Python itself, if it is not one of Debian's packages."""
    owned = subprocess.run(
        ("dpkg-query", "--search", str(Path(sys.executable).resolve())), capture_output=True, check=False
    )
    if owned.returncode != 0:
        version = platform.python_version()
        purl = f"pkg:generic/python@{version}"
        yield {"type": "application", "bom-ref": purl, "name": "python", "version": version, "purl": purl}


def _output(*command: str) -> str:
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


if __name__ == "__main__":
    main()
