"""`heldout audit --needed`: what leak would be found, and with how many examples, before anything is audited."""

from __future__ import annotations

import argparse

from heldout.cli.audit_scores import PICTURE_OPTIONS, SCORE_OPTIONS, read_scores
from heldout.cli.common import check_folder, refuse_alone, refuse_idle, say, typed
from heldout.cli.ending import finish
from heldout.cli.pictures import check_effect, models_of, pictures
from heldout.cli.streams import user_prints_to_stderr
from heldout.errors import InputError
from heldout.independence.needed import SHARES, AuditNeeds, audit_scores_needed
from heldout.independence.pictures_needed import audit_needed
from heldout.statistics.leak import ALTERNATIVE
from heldout.statistics.leak_power import PULLS

NEEDED_FORMATS = """\
power before the run (--needed), from a control alone; nothing is audited, and written only with --out:
  heldout audit --needed --model new.onnx --control fresh/ --reference old.onnx --resize 256 --crop 224
  a table: share of the test set that was seen, and how far a seen example moves towards the 95 % quantile of the
  scores, against the chance to find it and the examples it takes to find it four times in five
"""

_OF_RUNS = """
scores images labels images_key labels_key control_ids reference_control_scores rule orbit radius tolerance resamples
expect_accuracy allow_frame_drop n_jobs cluster resume fail_under
"""


def add_needed_options(verb: argparse.ArgumentParser) -> None:
    """Options of forecasts."""
    group = verb.add_argument_group("power before the run")
    group.add_argument(
        "--needed",
        action="store_true",
        help="print what leak would be found with n examples, from --control or --control-scores alone",
    )
    group.add_argument("--examples", type=int, metavar="N", help="test examples (default: as many as in the control)")
    group.add_argument("--share", type=float, metavar="S", help="this share of the test set seen, not a table of them")
    group.add_argument("--pull", type=float, metavar="P", help="a seen example moves this share of the way")


def check_needed(args: argparse.Namespace) -> None:
    """Refuse options of audits among those of forecasts, and the other way round."""
    if not args.needed:
        refuse_alone(args, ("examples", "share", "pull"), "--needed")
        return
    wrong = typed(args, _OF_RUNS.split())
    if wrong:
        raise InputError(
            f"{', '.join(wrong)} {'says' if len(wrong) == 1 else 'say'} how an audit is run; --needed runs none. It "
            "looks at the control alone: --control-scores, or --model and --control."
        )
    if (args.control is None) == (args.control_scores is None):
        many = "both are given" if args.control is not None else "neither is given"
        raise InputError(
            "--needed forecasts from a control: give --control-scores (scores of any kind), or --model and --control "
            f"(pictures); {many}."
        )
    of_pictures = args.control is not None
    if not of_pictures:
        refuse_alone(args, PICTURE_OPTIONS, "--control")
        refuse_idle(args, ("seed",), "on scores, of which nothing is drawn")
        return
    refuse_alone(args, SCORE_OPTIONS, "--control-scores")
    if args.model is None:
        raise InputError("--control holds pictures: --needed takes a --model to look at them with.")
    refuse_idle(args, ("wrap", "pad"), "with --needed, which looks at pictures that nothing has moved")


def run_audit_needed(args: argparse.Namespace) -> int:
    """`heldout audit --needed`."""
    if not typed(args, ("out",)):
        args.out = None
    else:
        check_folder(args.out)
    with user_prints_to_stderr():
        found = _of_pictures(args) if args.control is not None else _of_scores(args)
    return finish(found, args)


def _cells(args: argparse.Namespace) -> tuple[tuple[float, ...], tuple[float, ...]]:
    shares = SHARES if args.share is None else (args.share,)
    return shares, PULLS if args.pull is None else (args.pull,)


def _of_scores(args: argparse.Namespace) -> AuditNeeds:
    control = read_scores(args, args.control_scores)
    say(f"control: {control}")
    shares, pulls = _cells(args)
    return audit_scores_needed(
        control,
        references=[read_scores(args, path, reference=True) for path in args.reference_scores],
        groups=args.groups,
        chance=args.chance,
        allow_chance=args.allow_chance,
        examples=args.examples,
        shares=shares,
        pulls=pulls,
        alternative=args.alternative or ALTERNATIVE,
        level=args.level,
        planned_audits=args.planned_audits,
    )


def _of_pictures(args: argparse.Namespace) -> AuditNeeds:
    check_effect(args, args.control)
    models, references = models_of(args)
    control = pictures(
        args,
        models[0],
        args.control,
        labels=args.control_labels,
        images_key=args.control_images_key,
        labels_key=args.control_labels_key,
        groups=args.control_groups or args.groups,
        need_room=False,
        prefix="control_",
    )
    shares, pulls = _cells(args)
    return audit_needed(
        models,
        control,
        references=references,
        examples=args.examples,
        shares=shares,
        pulls=pulls,
        limit=args.limit,
        batch_size=args.batch_size,
        alternative=args.alternative,
        level=args.level,
        planned_audits=args.planned_audits,
        allow_chance=args.allow_chance,
        seed=args.seed,
        source=args.control,
        notify=say,
        progress=not args.quiet,
    )
