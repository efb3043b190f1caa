"""``kubectl qos rights``: the Roles that commands need."""

from __future__ import annotations

from cluster_io.source import Source
from kubectl_plugin.options import Streams
from kubectl_plugin.options.rights_command import RightsOptions
from kubectl_plugin.printing import Printer
from kubectl_plugin.render.command import Target
from kubectl_plugin.reports.rights import read_only, roles


def run(options: RightsOptions, source: Source, streams: Streams) -> int:
    """Print them."""
    del source
    commands = options.commands or read_only()
    found = tuple(roles(commands, options.namespace, kubelets=options.kubelets))
    if options.output.in_words:
        from kubectl_plugin.views.rights import manifest

        text = manifest(commands, found, kubelets=options.kubelets)
        streams.out.write(f"```yaml\n{text}```\n" if options.output.format == "markdown" else text)
        return 0
    printer = Printer(options.output, streams, colour=False, target=Target(), source=None)
    for role in found:
        printer.add(role, [f"{role.kind.lower()}.rbac.authorization.k8s.io/{role.metadata['name']}"])
    printer.finish()
    return 0
