"""`runpy.run_module('pip')`."""

import sys

from pip import main

sys.exit(main())
