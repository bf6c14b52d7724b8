"""`heldout audit`."""

from __future__ import annotations

import argparse
from pathlib import Path

from heldout.checks import called
from heldout.cli import unfinished
from heldout.cli.audit_gate import GATE, check_gate, close, reasons
from heldout.cli.audit_needed import NEEDED_FORMATS, add_needed_options, check_needed, run_audit_needed
from heldout.cli.audit_scores import SCORE_FORMATS, add_score_options, check_either, run_audit_scores
from heldout.cli.common import add_n_jobs, check_folder, refuse_alone, refuse_idle, say
from heldout.cli.ending import add_ending, finish
from heldout.cli.parser import Parser
from heldout.cli.pictures import add_model_options, add_pixel_options, check_effect, models_of, pictures
from heldout.cli.streams import user_prints_to_stderr
from heldout.errors import InputError
from heldout.independence.audit import audit_many
from heldout.independence.result import AuditResult
from heldout.orbit import RULES
from heldout.orbit.named import ORBITS, PictureOrbit, named_orbit, spelled_orbit
from heldout.orbit.square import has_turns

FORMATS = """\
pictures (--images, --control):
  a folder with one subfolder per class   test/cat/1.png, test/dog/7.jpg
  a folder and a CSV (--labels)          file,label  /  1.png,0  /  2.png,cat
  an .npz file                           images (n, height, width[, 3]) uint8 or float, labels (n,)
models (--model, --reference):
  an ONNX file                           resnet.onnx (one input of 4 dimensions, logits out)
  a Python factory                       package.module:make_model (torch, scikit-learn or a function)
references (--reference), with --control: models of the same classes that take the same pictures, made without the
  test set: older ones, from elsewhere, trained on the rest; three are better than one, those trained alike best, and
  another architecture will do. One that knows the test set hides a leak; one that knows the control can make a
  false alarm
room to move in, one of:
  --resize 256 --crop 224                resize the short side, cut the centre (ImageNet)
  --pad reflect                          small pictures (CIFAR-10): continue them beyond their edges, or zero, edge;
                                         the untouched picture stays in the middle; needs --control
  --wrap                                 cyclic shifts, for pictures on a torus
  --upsample 44 --crop 32                enlarge, cut the old size out of the middle: only for models that were
                                         trained on enlarged pictures; others see them for the first time
  room around the crop: 3 times the radius on each side (2 times for the random rules); --pad and --wrap have it
moves (--orbit), which keep a picture's label and how likely it is:
  translations                           up to --radius pixels down, up, left and right
  flip, dihedral                         mirror images; all eight views by quarter-turns and mirror images (square
                                         pictures). They need no room and no --radius. Without --control the test is
                                         exact, but only where every view of a picture was as likely as the others:
                                         pictures that were mirrored or turned at random, perhaps cells, tissue and land
                                         from above; not digits, text, clothes, faces or streets, nor where north is at
                                         the top, light comes from one side or a scanner has an orientation. Tiles of
                                         one slide or scene need --groups
  translations+flip, +dihedral           both together
dependent pictures (--groups), one of:
  a column                               an array (n,) in the .npz, or a column of the --labels CSV
  a CSV                                  id,group  /  1.png,ann  /  2.png,ann
  a regular expression                   '^([^_]*)_' on file names or ids; its first bracket is the group
"""
EXAMPLES = """\
  heldout audit --model resnet.onnx --images val/ --control fresh/ --resize 256 --crop 224 \\
      --mean 0.485 0.456 0.406 --std 0.229 0.224 0.225 --radius 5 --out audit
  heldout audit --model new.onnx --reference old.onnx other.onnx --images test.npz --control fresh.npz --pad reflect
  heldout audit --model mymodels:load --images test.npz --control fresh.npz --pad reflect --fail-under 0.01
  heldout audit --model m.onnx --images tiles/ --orbit dihedral --out audit
  heldout audit --scores model.csv --control-scores control.csv --reference-scores old.csv other.csv --out audit
  heldout audit --scores lm-eval/new-model/ --control-ids after-cutoff.txt --reference-scores lm-eval/old-model/
  heldout audit --needed --control-scores control.csv --reference-scores old.csv other.csv
"""
EXIT_CODES = """\
exit codes: 0 fine, 1 p (times --planned-audits) is below --fail-under, 2 bad input,
            3 a bug in heldout, 130 stopped (go on with --resume)
"""


def add_options(verb: Parser) -> None:
    """What can be asked."""
    verb.describe(
        "Is this model independent of this test set?",
        usage="heldout audit --model M --images PATH [--control PATH] [--reference M ...] [options]\n"
        "       heldout audit --scores FILE --control-scores FILE [--reference-scores FILE ...] [options]",
        essential="--model --images --control --reference --resize --crop --pad --orbit --radius --scores "
        "--control-scores --reference-scores --needed --fail-under --out --format --resume",
        examples=EXAMPLES,
        details=f"{FORMATS}\n{SCORE_FORMATS}\n{NEEDED_FORMATS}\n{EXIT_CODES}",
    )
    data = verb.add_argument_group("what is audited")
    data.add_argument(
        "--model",
        nargs="+",
        metavar="M",
        help="ONNX file or package.module:factory; several are averaged: trainings of one architecture",
    )
    data.add_argument("--images", metavar="PATH", help="the test set")
    data.add_argument("--labels", metavar="FILE", help="CSV of file names and labels, or .npy beside an .npz")
    data.add_argument(
        "--control", metavar="PATH", help="fresh pictures of the same source, never trained or selected on"
    )
    data.add_argument(
        "--reference",
        nargs="+",
        default=[],
        metavar="M",
        help="other models, each as --model, that cannot have seen more of the test set than of the control: the "
        "verdict is then how far the audited model beats what they lead one to expect (needs --control)",
    )
    data.add_argument("--control-labels", metavar="FILE", help="as --labels, for the control")
    data.add_argument("--images-key", metavar="KEY", help="array in the .npz that holds the pictures")
    data.add_argument("--labels-key", metavar="KEY", help="array in the .npz that holds the labels")
    data.add_argument("--control-images-key", metavar="KEY", help="the same for the control (default: as for the test)")
    data.add_argument("--control-labels-key", metavar="KEY", help="the same for the control (default: as for the test)")
    data.add_argument(
        "--groups",
        metavar="SPEC",
        help="examples that depend on each other: a column, a CSV id,group, or a pattern on ids",
    )
    data.add_argument("--control-groups", metavar="SPEC", help="the same for the control (default: as --groups)")
    data.add_argument("--limit", type=int, metavar="N", help="audit a random subset (seeded), of the control too")

    add_pixel_options(verb, pad=True)

    test = verb.add_argument_group("the test")
    test.add_argument(
        "--orbit",
        type=spelled_orbit,
        choices=ORBITS,
        default="translations",
        help="how pictures are moved (default translations); flip and dihedral declare that every view of a picture "
        "was as likely as the others",
    )
    test.add_argument("--radius", type=int, default=2, metavar="PX", help="largest shift (default 2)")
    test.add_argument("--rule", choices=RULES, default="strongest", help="how a move is chosen (default strongest)")
    test.add_argument("--alternative", choices=("two-sided", "greater"),
                      help="'greater' looks for overfitting only; choose before you look (default: greater with "
                      "references or scores, else two-sided)")  # fmt: skip
    test.add_argument("--tolerance", type=float, default=0.0, metavar="X", help="without a control: allow |E T| <= X")
    test.add_argument("--level", type=float, default=0.05, metavar="A", help="of the verdict, per audit (default 0.05)")
    test.add_argument(
        "--planned-audits",
        type=int,
        default=1,
        metavar="K",
        help="audits that share the level, as on every commit of a pipeline: p is multiplied by K (Bonferroni)",
    )
    test.add_argument("--seed", type=int, default=0, metavar="S", help="of subsets, moves and permutations (default 0)")
    test.add_argument(
        "--expect-accuracy",
        nargs="+",
        metavar="A",
        help="stop unless the accuracy on untouched test pictures is this, to the digits typed",
    )
    test.add_argument(
        "--resamples", type=int, default=9999, metavar="B", help="permutations against the control (default 9999)"
    )
    test.add_argument("--allow-chance", action="store_true", help="go on although the model is no better than chance")
    test.add_argument(
        "--allow-frame-drop", action="store_true", help="go on although the frame costs the model accuracy"
    )

    running = verb.add_argument_group("running and reporting")
    running.add_argument("--batch-size", type=int, metavar="N", help="pictures at once (default: chosen for the model)")
    add_n_jobs(running, "worker processes; with --scores, threads")
    running.add_argument(
        "--cluster",
        metavar="ADDRESS",
        help="share the scores with a Ray cluster: auto (RAY_ADDRESS, or the one on this machine) or host:port",
    )
    add_model_options(running)
    add_ending(running, GATE, out="heldout-audit")
    running.add_argument("--resume", action="store_true", help="go on with the unfinished audit in --out")
    add_score_options(verb)
    add_needed_options(verb)
    verb.set_defaults(command=run, parser=verb)


def run(args: argparse.Namespace) -> int:
    """`heldout audit`."""
    check_needed(args)
    if args.needed:
        return run_audit_needed(args)
    check_either(args)
    if args.scores is not None:
        return run_audit_scores(args)
    orbit = orbit_of(args)
    # without references the verdict is twice the smaller of two p-values
    check_gate(args, halves=1 if args.reference else 2, has_control=bool(args.control))
    if args.reference and not args.control:
        raise InputError(
            "--reference goes with --control: what is compared is how far the model beats the references on the test "
            "set, and on fresh pictures of the same source."
        )
    if not args.control:
        refuse_alone(
            args, ("control_labels", "control_groups", "control_images_key", "control_labels_key"), "--control"
        )
        refuse_idle(args, ("resamples",), "without a --control, with which the test set is permuted")
    check_effect(args, args.images, args.control)
    check_folder(args.out)
    checkpoints = unfinished.folder(args)
    with user_prints_to_stderr():
        result = audit_pictures(args, orbit, checkpoints)
    failed = reasons(args, result.evidence.adjusted_p_value, result)
    return finish(result, args, failed=failed, close=close(args, result), unfinished=checkpoints)


def orbit_of(args: argparse.Namespace) -> PictureOrbit:
    """What --orbit and --radius name; refused is what would have no effect."""
    if "translations" in args.orbit:
        return named_orbit(args.orbit, args.radius)
    refuse_idle(args, ("radius", "wrap", "pad"), f"with --orbit {args.orbit}, which shifts nothing")
    return named_orbit(args.orbit)


def audit_pictures(args: argparse.Namespace, orbit: PictureOrbit, checkpoints: Path | None) -> AuditResult:
    """Models and pictures are read and audited; both may be code of the user's."""
    models, references = models_of(args)
    need_room, need_square = orbit.margin(args.rule) > 0, has_turns(orbit.elements)
    test = pictures(
        args,
        models[0],
        args.images,
        labels=args.labels,
        images_key=args.images_key,
        labels_key=args.labels_key,
        groups=args.groups,
        need_room=need_room,
        need_square=need_square,
    )
    control = None
    if args.control:
        control = pictures(
            args,
            models[0],
            args.control,
            labels=args.control_labels,
            images_key=args.control_images_key or args.images_key,
            labels_key=args.control_labels_key or (None if args.control_images_key else args.labels_key),
            groups=args.control_groups or args.groups,
            first=test.source,
            need_room=need_room,
            need_square=need_square,
            prefix="control_",
        )
    return audit_many(
        models,
        test,
        orbit=orbit,
        rule=args.rule,
        control=control,
        references=references,
        alternative=args.alternative,
        tolerance=args.tolerance,
        seed=args.seed,
        limit=args.limit,
        batch_size=args.batch_size,
        n_jobs=args.n_jobs,
        cluster=args.cluster,
        n_resamples=args.resamples,
        level=args.level,
        planned_audits=args.planned_audits,
        expect_accuracy=args.expect_accuracy,
        allow_chance=args.allow_chance,
        allow_frame_drop=args.allow_frame_drop,
        checkpoint=checkpoints,
        resume=args.resume,
        sources=tuple(
            called(path, getattr(given.source, "keys", ()))
            for path, given in ((args.images, test), (args.control, control))
            if given is not None
        ),
        notify=say,
        progress=not args.quiet,
    )
