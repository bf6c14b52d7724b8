"""Questions for an endpoint, and a model behind one."""

from heldout.scorers import EndpointChooser
from heldout.scorers.choices import Shown

KEY = "sk-very-secret-7f3a"


def questions(n=12, k=4):
    """Each in its printed order and turned by one."""
    options = [tuple(f"option {i} {j}" for j in range(k)) for i in range(n)]
    return [Shown(f"Question {i}?", o) for i in range(n) for o in (options[i], options[i][1:] + options[i][:1])]


def items(n=12, k=4):
    return [
        {"question": one.question, "options": one.options, "answer": i % k}
        for i, one in enumerate(questions(n, k)[::2])
    ]


def model(server, cache=False, **options):
    return EndpointChooser(server.url, "stand-in", cache=cache, **options)
