"""Questions that are refused by themselves are wrong answers; many of them are an error."""

import pytest

from heldout.errors import InputError
from heldout.scorers.choices import UNPARSED
from tests.scorers.asking import KEY, model, questions
from tests.scorers.standin import StandIn


def test_refusals_are_answers_and_are_wrong():
    with StandIn(says="I'm sorry, but I can't help with that.") as server:
        assert {c.chosen for c in model(server).choose(questions(3))} == {UNPARSED}
    with StandIn(mood="filter") as server:
        assert {c.chosen for c in model(server).choose(questions(3))} == {UNPARSED}


def test_questions_that_are_refused_by_themselves_are_wrong(tmp_path):
    shown = questions(30)
    refuses = {"Question 7?": 400, "Question 11?": 403, "Question 19?": 413, "Question 23?": 422}
    with StandIn(refuses=refuses) as server:
        chooser = model(server, tmp_path, api_key=KEY)
        choices = chooser.choose(shown)
        refused = [one.question in refuses for one in shown]
        assert [c.chosen == UNPARSED for c in choices] == refused
        assert chooser.refused == sum(refused) == 8
        assert all(c.log_probs is not None for c, not_told in zip(choices, refused, strict=True) if not not_told)
        asked = len(server.began)
        again = model(server, tmp_path, api_key=KEY)
        assert again.choose(shown) == choices
        assert (again.refused, len(server.began)) == (8, asked + 2), "kept as well, but for 403: it may be the key"


def test_a_model_that_names_no_option_is_asked_no_more_the_second_time(tmp_path):
    with StandIn(says="Who knows?") as server:
        for _ in range(2):
            with pytest.raises(InputError, match=r"named no option in any of 50 answers.*`template`\.$"):
                model(server, tmp_path, concurrency=1).choose(questions(60))
            assert server.answered.total() == 50
