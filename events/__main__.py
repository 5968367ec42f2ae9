"""Run one publisher: `python -m events`."""

import sys

from events.publisher.process import main

sys.exit(main())
