"""Where things stand in a file: the names that arrays and columns usually go by, one table for both."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import Any

from heldout.checks import EXAMPLE, LABEL, Role, plain_name
from heldout.errors import InputError
from heldout.predictions.trials import Scaling
from heldout.predictions.values import Codes, listing

MODEL = Role("names_key", ("model", "models", "model_name", "model_names", "names"))
PREDICTION = Role("predictions_key", ("prediction", "predictions", "pred", "preds", "y_pred"), ("answer", "answers"))
CORRECT = Role(
    "correct_key",
    ("correct", "is_correct", "scores"),
    ("acc", "exact_match", "resolved", "is_resolved", "passed", "success", "score", "pass1", "pass@1"),
)
# Which of several trials a row is; counts of trials go by other names.
TRIAL = Role("trials_key", ("trial", "epoch", "attempt", "repetition", "repeat", "replicate", "trial_index"))
COUNT = Role("trials_key", ("trials", "n_trials", "num_trials", "n_attempts", "attempts"))
SUCCESSES = Role("correct_key", ("successes", "n_correct", "num_correct", "n_passed", "n_resolved", "n_successes"))
INDEX = re.compile(r"|unnamed:_\d+(\.\d+)?")  # what pandas calls the index that it writes
RESET = ("level_0", "index")  # and one that it makes a column
ROLE_NAMES = frozenset(n for role in (MODEL, EXAMPLE, PREDICTION, LABEL, CORRECT) for n in role.usual + role.weak)
STRONG_NAMES = frozenset(n for role in (MODEL, EXAMPLE, PREDICTION, LABEL, CORRECT) for n in role.usual)
# Columns that are no model's where there are no labels; `answer` is the label of many data sets.
NEVER_MODELS = frozenset(("correct_answer", "actual", "solution"))
LABEL_LIKE = frozenset(LABEL.usual + LABEL.weak + PREDICTION.weak) | NEVER_MODELS
_NO_MODELS = """
split fold index idx row line subset category categories subject topic task dataset domain language difficulty level
group cluster source weight rank seed run epoch version date time timestamp question prompt text input sentence title
comment comments remark remarks note notes url file filename file_name path image n count length tokens score
confidence probability loss trial attempt repetition repeat replicate trial_index platform repo
trials n_trials num_trials n_attempts attempts successes n_correct num_correct n_passed n_resolved n_successes
year month week day age sex gender patient user annotator annotators rater raters votes n_raters n_annotators
n_tokens num_tokens n_words n_chars depth hops n_hops n_choices num_choices n_options num_options site hospital region
batch chunk section agreement consensus
second_label second_labels label2 label_2 old_label new_label coarse_label fine_label
superclass is_hard
"""
METADATA = frozenset(_NO_MODELS.split())  # columns that stand beside those of models
# Headings of ids, where the values are all different and most of them nobody's label.
NUMBERING = re.compile(
    r"#|nr\.?|no\.?|n|num|number|key|pk|uid|uuid|guid|[pqrs]id|rowid|items?|example|case|record|entry|problem|sample"
    r"|position|order|seq|sequence|level_\d+|q|.+#|row|line|question|doc|document|sentence|utterance|frame|task"
    r"|(file|image|img|picture|photo|audio|video|clip)(_?(id|file|name|path))?|path|url"
    r"|.*_(id|uid|uuid|no\.?|nr|num|number|idx|index|key)"
)
FILES = re.compile(r"(file|image|img|picture|photo|audio|video|clip)(_?(id|file|name|path))?|path|url")
CAMEL = re.compile(r"(?<=[a-z0-9])(?=(?:I[dD]|No|Nr|Num|Number|Idx|Index|Key)$)")  # where imageId, QuestionNo are cut
# What sums up the models of an example, or the examples of a model.
SUMMARIES = frozenset(("accuracy", "average", "avg", "mean", "median", "overall", "total", "sum", "std", "pass_rate"))
_ASKED = """
question prompt text input sentence problem instruction query context passage premise hypothesis choices options doc
"""
# What is known of the examples, or of one model's prediction, and is no model by its name: is_long, has_code, prob_1.
# Who is right is none of it: is_correct_b.
FEATURES = re.compile(
    r"(is|has|prob|proba)_(?!(.+_)?(correct|right|resolved|solved|passed|pass|success|successful)(_|$)).+"
)
BESIDE = "column:"  # before the name of a column of examples in files that `save` writes
_TOLD = """
category categories subject topic task dataset domain language difficulty level date contest_date repo repository
platform source split subset
"""
ITEMS = frozenset(_TOLD.split())  # what else a table may say of its examples; kept where it is text
TEXTS = frozenset(_ASKED.split())  # what an example asks: two that are equal in all of these are one and the same


SCORED = "scored by"  # the column that says by which metric, scorer or column each example was scored
LONGEST_TEXT = 500  # characters of a text that a log's column keeps; the digest is of all of it
TRIALS = "trials"
AllIds = tuple[str, ...] | None  # ids of all examples, where a file lists the solved ones only


_NO_TABLE = "files of this kind say themselves where things stand"
PURPOSES = {  # options, and why one that was not used has no effect
    "predictions_key": _NO_TABLE,
    "labels_key": _NO_TABLE,
    "correct_key": _NO_TABLE,
    "names_key": _NO_TABLE,
    "ids_key": _NO_TABLE,
    "trials_key": "only a long table, one row for each model and example, has a column of trials",
    "models_axis": "it is clear where the models are",
    "metric": "there is one score to read, and no choice",
    "scale": "the table has right and wrong, and no scores",
    "repeats": "no model has several predictions for one example",
    "all_ids": "the files list every example themselves",
}


class Exclude:
    """Models to leave out, by name or pattern; knows in the end which patterns fitted nothing.

    Examples
    --------
    >>> exclude = Exclude("fv_*")
    >>> [name for name in ("a", "fv_b") if exclude.keeps(name)]
    ['a']
    >>> exclude.check()
    """

    def __init__(self, patterns: str | Iterable[str] | None = None) -> None:
        self.patterns = [patterns] if isinstance(patterns, str) else list(patterns or ())
        self._idle = set(self.patterns)
        self._seen: set[str] = set()

    def fitting(self, name: str) -> set[str]:
        """Patterns that fit a name."""
        return {pattern for pattern in self.patterns if pattern == name or fnmatchcase(name, pattern)}

    def keeps(self, name: str) -> bool:
        """Whether a model stays."""
        self._seen.add(name)
        fitting = self.fitting(name)
        self._idle -= fitting
        return not fitting

    def kept(self, names: Iterable[str]) -> list[str]:
        """The models that stay, of which there must be one."""
        kept = [name for name in names if self.keeps(name)]
        if not kept:
            raise InputError("`exclude` leaves no model.")
        return kept

    def kept_columns(self, names: Iterable[str]) -> list[str]:
        """Columns that stay, of which there must be one."""
        kept = [name for name in names if self.keeps(name)]
        if not kept:
            raise InputError("`exclude` leaves no example.")
        return kept

    def check(self) -> None:
        """A pattern that fits nothing is a slip."""
        for pattern in self.patterns:
            if pattern in self._idle:
                raise InputError(
                    f"`exclude={pattern!r}` fits none of the {len(self._seen):,} models, such as "
                    f"{listing(sorted(self._seen))}."
                )


@dataclass(frozen=True, kw_only=True)
class Options:
    """How a file is to be read; None: by the usual names. `columns` stand beside the models', where they are there."""

    predictions_key: str | None = None
    labels_key: str | None = None
    correct_key: str | None = None
    names_key: str | None = None
    ids_key: str | None = None
    models_axis: int | None = None
    codes: Codes = field(default_factory=Codes)
    metric: str | None = None
    exclude: Exclude = field(default_factory=Exclude)
    columns: frozenset[str] = frozenset()
    scale: Scaling = None
    tasks: tuple[str, ...] = ()
    trials_key: str | None = None
    repeats: str | None = None
    all_ids: AllIds = None
    classes: Any = None  # as `check_numbering` takes them
    used: set[str] = field(default_factory=set)  # options that a reader had a use for

    def __post_init__(self) -> None:
        if self.repeats not in (None, TRIALS):
            raise InputError(f'`repeats` is {self.repeats!r}; "{TRIALS}" is all it can be.')

    def use(self, *names: str) -> None:
        """Note that options had an effect."""
        self.used.update(names)

    def check_used(self, source: str) -> None:
        """An option that says nothing about these files is a slip, and its owner believes that it did something."""
        for name, purpose in PURPOSES.items():
            value = getattr(self, name)
            if value is None or name in self.used:
                continue
            typed = f"{name}={value!r}" if name != "all_ids" else name
            raise InputError(f"{source}: `{typed}` has no effect here, since {purpose}; leave it out.")

    @property
    def repeats_are_trials(self) -> bool:
        """Whether several predictions of a model for one example are trials."""
        return self.repeats == TRIALS

    def own_keys(self) -> set[str | None]:
        """Columns that were named as something else."""
        named = (self.predictions_key, self.labels_key, self.correct_key, self.names_key, self.ids_key, self.trials_key)
        return set(named)

    def may_choose(self, task: str) -> bool:
        """Whether a task was asked for, or all are."""
        return not self.tasks or any(task == pattern or fnmatchcase(task, pattern) for pattern in self.tasks)

    def chosen_tasks(self, names: Sequence[str], *, source: str) -> set[str]:
        """The tasks that were asked for, by name or pattern; one that fits none is a slip."""
        chosen: set[str] = set()
        for pattern in self.tasks:
            found = {name for name in names if name == pattern or fnmatchcase(name, pattern)}
            if not found:
                known = list(dict.fromkeys(names))
                raise InputError(f"{source} has no task {pattern!r} (`task`); it has {listing(known, len(known))}.")
            chosen |= found
        return chosen

    def beside(self, key: str) -> bool:
        """Whether a column tells of the examples and not of a model: asked for, or a text by its name."""
        return key in self.columns or (plain_name(key) in TEXTS and self.exclude.keeps(key))

    def saved(self, keys: Iterable[str]) -> dict[str, str]:
        """Columns of the examples in a file that `save` wrote, by their keys there, less those to leave out.

        Examples
        --------
        >>> Options(exclude=Exclude("topic")).saved(["id", "column:repo", "column:topic"])
        {'column:repo': 'repo'}
        """
        names = {key: key.removeprefix(BESIDE) for key in keys if key.startswith(BESIDE)}
        return {key: name for key, name in names.items() if name in self.columns or self.exclude.keeps(name)}

    def told(self, facts: Mapping[str, Any]) -> dict[str, Any]:
        """What was asked for of all that a log tells of an example, lists and the like left out."""
        return {name: facts[name] for name in self.columns if isinstance(facts.get(name), (str, int, float))}

    def refuse_metric(self, source: str) -> None:
        """Only logs have scores to choose from."""
        if self.metric is not None:
            raise InputError(
                f"{source} is not a log of lm-evaluation-harness or inspect_ai, so that `metric={self.metric!r}` "
                "chooses nothing; leave it out, or name the column of right and wrong with `correct_key`."
            )


def as_columns(facts: Sequence[Mapping[str, Any]]) -> dict[str, list[Any]]:
    """Facts of each example to one column a name; None where an example has none."""
    return {name: [fact.get(name) for fact in facts] for name in dict.fromkeys(key for fact in facts for key in fact)}


def digest_column(name: str) -> str:
    """The column that holds digests of whole texts, where the column of that name holds their beginnings."""
    return f"digest of {name}"


def digest_of(content: Any) -> str:
    """A short name of an input, the same for the same input."""
    return hashlib.sha256(json.dumps(content, sort_keys=True, default=str).encode()).hexdigest()[:16]


def id_lines(text: str) -> list[str]:
    """Ids from text, one on each line, less blank lines, comments and a header.

    A comment begins with `# `: without the blank it is an id, as `#17` is in many a tracker.

    Examples
    --------
    >>> id_lines("# all of them\\ninstance_id\\na-1\\n\\n#17\\n")
    ['a-1', '#17']
    """
    lines = [line.strip() for line in text.splitlines()]
    ids = [line for line in lines if line and line != "#" and not line.startswith("# ")]
    return ids[1:] if ids and plain_name(ids[0]) in EXAMPLE.usual else ids
