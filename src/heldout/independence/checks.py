"""What can be refused before anything is scored."""

from __future__ import annotations

import math
from collections.abc import Sequence

from heldout.checks import check_count, check_seed, check_share
from heldout.errors import InputError
from heldout.images import LabelledImages
from heldout.orbit import Rule
from heldout.orbit.rules import check_rule
from heldout.orbit.table import Orbit
from heldout.statistics.betting import fewest_examples
from heldout.statistics.checks import Alternative, check_alternative, check_tolerance


def check_options(
    orbit: Orbit,
    rule: Rule,
    alternative: Alternative,
    tolerance: float,
    seed: int,
    limit: int | None,
    batch_size: int | None,
    has_control: bool,
) -> None:
    """Each option by itself, and those that exclude each other."""
    check_rule(rule)
    check_alternative(alternative)
    check_seed(seed)
    lower, upper = orbit.statistic_range(rule)
    check_tolerance(tolerance, lower=lower, upper=upper)
    if tolerance and orbit.is_group:
        raise InputError(
            f"`tolerance` is for shifts, which cost something on average; with the orbit {orbit.name!r} errors are "
            "counted in all views, so leave it out."
        )
    if tolerance and has_control:
        raise InputError("`tolerance` is for audits without a control: the control already takes up what moves cost.")
    for name, value in (("limit", limit), ("batch_size", batch_size)):
        if value is not None:
            check_count(value, name)


def check_neutral(images: LabelledImages, control: LabelledImages | None, orbit: Orbit) -> None:
    """Refuse shifts that surely cost something where no control takes that up."""
    if images.frame.needs_control and control is None and orbit.radius > 0:
        raise InputError(
            "padded pictures cannot be audited without a control: a shift brings in pixels that were never "
            "photographed, so shifts are surely not neutral, and the test would find just that. Give a "
            "`control`, or move pictures within themselves (`crop`, `wrap`)."
        )


def check_enough(n_units: int, n: int, orbit: Orbit, rule: Rule, alternative: Alternative, level: float) -> None:
    """Refuse so few pictures that no answer of the model could be evidence."""
    lower, upper = orbit.statistic_range(rule)
    fewest = fewest_examples(level, lower=lower, upper=upper, alternative=alternative)
    if orbit.is_group:  # no p of the orbit test is below that of errors that all fell on, or all missed, one view each
        fewest = math.ceil(math.log((1 if alternative == "greater" else 2) / level) / math.log(len(orbit) + 1) - 1e-9)
    if n_units < fewest:
        given = "1 picture is" if n == 1 else f"{n:,} pictures are"
        if n_units < n:
            given = f"{n:,} pictures in {n_units:,} group{'s' * (n_units > 1)} are"
        raise InputError(
            f"{given} too few: whatever the model says, nothing can be found at level {level:g} with fewer than "
            f"{fewest} pictures that do not depend on each other; hundreds are usual."
        )


def check_level(level: float, planned_audits: int, n_resamples: int | None, halves: int = 2) -> None:
    """Refuse a level outside (0, 1), or one that no p could reach; `halves` p-values are one verdict."""
    check_share(level, "level")
    check_count(planned_audits, "planned_audits")
    if n_resamples is not None and halves * planned_audits / (n_resamples + 1) > level:
        raise InputError(
            f"with {n_resamples:,} resamplings no p against a control is below {halves / (n_resamples + 1):.2g}, so "
            f"that nothing could ever be found at `level` {level:g} with `planned_audits` {planned_audits}; "
            f"`n_resamples` must be at least {math.ceil(halves * planned_audits / level)}, and ten times "
            "that to see anything."
        )


def one_per_model(expected: float | str | Sequence[float | str] | None, n_models: int) -> Sequence[float | str | None]:
    """The accuracy that is expected of each model."""
    if expected is None or isinstance(expected, (int, float, str)):
        return [expected] * n_models
    if len(expected) not in (1, n_models):
        raise InputError(f"{len(expected)} expected accuracies for {n_models} models; give one, or one for each.")
    return list(expected) * (n_models if len(expected) == 1 else 1)
