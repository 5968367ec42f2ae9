"""Makes any Celery application a runner of a pod pool: `install(app)`, before its tasks are first used.

The worker then reads the queue of its own pod with as many processes as the pod has slots, asks the slot ledger before
each start, and reports everything that it holds: `celery -A your_app worker`.
"""

from berthmaster.runner.install import install
from berthmaster.runner.settings import RunnerSettings
from berthmaster.runner.task import Current, current

__all__ = ["Current", "RunnerSettings", "current", "install"]
