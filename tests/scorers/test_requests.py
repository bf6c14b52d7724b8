"""What is kept belongs to one model, and to one way of asking it."""

from heldout.scorers import EndpointChooser
from tests.scorers.asking import model, questions
from tests.scorers.standin import StandIn


def test_what_is_kept_belongs_to_one_address_model_and_way_of_asking(tmp_path):
    shown = questions(2)
    with StandIn() as server, StandIn() as other:
        model(server, tmp_path).choose(shown)
        assert model(server, tmp_path).plan(shown).calls == 0
        ways = [
            {"temperature": 1.0},
            {"max_tokens": 3},
            {"template": "{question} {options}"},
            {"extra": {"top_p": 0.5}},
        ]
        assert all(model(server, tmp_path, **way).plan(shown).calls == 4 for way in [*ways, {"api": "completions"}])
        assert model(other, tmp_path).plan(shown).calls == 4
        first, second = (
            EndpointChooser(f"{server.url}?deployment={name}&api-key={name}", "stand-in", cache=tmp_path)
            for name in "ab"
        )
        first.choose(shown)
        assert (first.plan(shown).calls, second.plan(shown).calls) == (0, 4), "what the query names is another model"
        rotated = EndpointChooser(f"{server.url}?deployment=a&api-key=c", "stand-in", cache=tmp_path)
        assert rotated.plan(shown).calls == 0, "a new key is not"
        digests = {model(server, **way).digest() for way in [{}, *ways, {"concurrency": 3}, {"rate": 5}]}
        assert len(digests) == 1 + len(ways), "how fast it is asked does not matter"
