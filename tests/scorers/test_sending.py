"""A request is sent again where that may help."""

from tests.scorers.asking import model, questions
from tests.scorers.standin import StandIn


def test_busy_and_failing_endpoints_are_asked_again():
    shown = questions(20)
    with StandIn(every={5: 500, 7: 429, 11: 0}) as server:
        assert len(model(server).choose(shown)) == 40
    assert server.answered.total() == 40
    assert all(server.statuses[status] for status in (500, 429, 0))


def test_patience_with_a_rate_limit():
    with StandIn(limit=(4, 0.1)) as server:
        model(server, max_retries=2).choose(questions(10))  # being told to wait is no failure while others get through
    assert server.answered.total() == 20
    assert server.statuses[429] > 0
