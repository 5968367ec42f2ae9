"""`python -m events`: one publisher."""

import sys

from events.publisher.process import main

sys.exit(main())
