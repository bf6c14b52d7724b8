"""Independent tasks in worker processes that end with the process that started them, and leave Ctrl-C to it."""

from heldout.workers.ending import guard, interrupts_held
from heldout.workers.surroundings import Surroundings
from heldout.workers.tasks import Shared, Stopped, Tell, in_threads, n_workers, run_tasks

__all__ = [
    "Shared",
    "Stopped",
    "Surroundings",
    "Tell",
    "guard",
    "in_threads",
    "interrupts_held",
    "n_workers",
    "run_tasks",
]
