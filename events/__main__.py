"""`python -m events`: one publisher."""

import sys

from events.run import main

sys.exit(main())
