"""`kubectl qos` with one additional scheduler plugin: one module, one registration, one entry of texts."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import podrules.scheduling.scheduler.plugins
from podrules.scheduling.scheduler.in_tree import IN_TREE, ExtensionPoint, InTreePlugin

if TYPE_CHECKING:
    from tests.kubectl_plugin.toy_plugin.licensed_nodes import NoLicence


def _words(fact: NoLicence) -> str:
    return f"has {fact.licences} licences"


podrules.scheduling.scheduler.plugins.__path__.append(str(Path(__file__).parent))
IN_TREE["LicensedNodes"] = InTreePlugin(
    "LicensedNodes", frozenset({ExtensionPoint.FILTER, ExtensionPoint.SCORE}), "licensed_nodes:LicensedNodes", 7
)

if __name__ == "__main__":
    # These modules read the plugin set when they load, so they load after the registration.
    from kubectl_plugin.start import main
    from kubectl_plugin.views.scheduling.scheduler_plugins import PLUGIN_PHRASES, PluginPhrases

    PLUGIN_PHRASES["LicensedNodes"] = PluginPhrases(
        "licence", "has no licence", "have no licence", {"NoLicence": _words}
    )
    sys.exit(main())
