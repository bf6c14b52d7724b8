"""What a result says, as data: a headline, key figures, and sections of a few kinds of blocks.

A verb's `summary.py` turns its result into one `Summary`; `heldout.report` renders any of them as text, Markdown or
HTML. Nothing here knows a verb, and nothing in a `Summary` is computed when it is rendered. A verb writes
`from heldout import summary as page` and finds all of it there: `page.Table`, `page.percent`, `page.quoted`.
"""

# ruff: noqa: F403  # one namespace made of five modules
from heldout.summary.blocks import *
from heldout.summary.charts import *
from heldout.summary.names import *
from heldout.summary.numbers import *
from heldout.summary.summary import *
