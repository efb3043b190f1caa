"""``python -m kubectl_plugin``."""

import sys

from kubectl_plugin.start import main

sys.exit(main())
