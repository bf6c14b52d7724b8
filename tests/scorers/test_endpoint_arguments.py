"""What an endpoint is asked with is checked before anything is sent."""

import pytest

from heldout.errors import InputError
from heldout.scorers import EndpointChooser


@pytest.mark.parametrize(
    ("url", "options", "sentence"),
    [
        ("localhost:8000", {}, r"`url`: 'localhost:8000' is not an address"),
        ("ftp://me:secret@host", {}, r"`url`: the given one is not an address"),
        ("localhost:8000?api-key=Q", {}, r"`url`: the given one is not an address"),
        ("http://host", {"key_variable": "sk-7f3a"}, "`key_variable` is a name, but that environment variable is not"),
        ("http://host/v1/completions", {}, "`url` ends in /v1/completions, but `api` is 'chat'"),
        ("http://host", {"rate": "fast"}, "`rate` is 'fast'; give requests per second"),
        ("http://host", {"rate": 0}, "`rate` is 0"),
        ("http://host", {"timeout": 0}, "`timeout` is 0; it must be a number of seconds above 0"),
        ("http://host", {"concurrency": 0}, "`concurrency` is 0"),
        ("http://host", {"temperature": -1}, "`temperature` is -1"),
        ("http://host", {"price": (1.0,)}, "`price` is .* two prices per million tokens"),
        ("http://host", {"extra": {"model": "x"}}, "`extra` holds 'model'"),
        ("http://host", {"extra": {"best_of": 5}}, "`extra` holds 'best_of'"),
        ("http://host", {"extra": {"max_completion_tokens": 9}}, "an argument of its own; use `max_tokens`"),
        ("http://host", {"extra": {"top_logprobs": 2}}, "an argument of its own; use `logprobs`"),
        ("http://host", {"template": "{options}"}, r"`template` holds \{question\} 0 times"),
    ],
)
def test_arguments(url, options, sentence):
    with pytest.raises(InputError, match=sentence):
        EndpointChooser(url, "m", cache=False, **options)
