"""``python -m kubectl_plugin``."""

import sys

from kubectl_plugin.cli import main

sys.exit(main())
