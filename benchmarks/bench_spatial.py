"""121 shifts of every picture: our engine against foolbox's SpatialAttack and ART's SpatialTransformation.

python benchmarks/bench_spatial.py [--images 64] [--rounds 9] [--no-art]

The same model, pictures and whole-pixel shifts of at most 5, black outside the picture. All three look
for a shift that changes the model's answer; what each really evaluates is counted at the model.
"""

from __future__ import annotations

import argparse
import logging
import warnings
from functools import partial

import numpy as np
from common import alternate, resnet20, verdict

from heldout import LabelledImages, Translations
from heldout.images import Crop, from_arrays
from heldout.independence.plan import Decision, Plan
from heldout.independence.rounds import Rounds, Shard
from heldout.scorers import TorchScorer
from heldout.scorers.prepared import WAYS

RADIUS = 5
N_SHIFTS = (2 * RADIUS + 1) ** 2
MEAN, STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)


class WholeWindow(Plan):
    """Score all 121 shifts and say whether any is wrong."""

    def decide(self, maps, ask):
        window = np.append(self.table.reached[self.table.centre], self.table.centre)
        asked = np.zeros(maps.shape, dtype=bool)
        asked[:, window] = np.isnan(maps[:, window])
        worst, n = np.where(asked, 0.0, maps)[:, window].max(axis=1), len(maps)
        return Decision(
            settled=~asked.any(axis=1),
            statistic=np.zeros(n),
            weight=np.full(n, np.nan),
            kind=np.zeros(n, dtype=int),
            move=np.full(n, -1),
            moved_loss=(worst > 0).astype(float),
            moved_score=worst,
            asked=asked,
            open=np.zeros(n, dtype=int),
        )


def main(n_images: int, rounds: int, *, with_art: bool) -> None:
    import torch

    warnings.simplefilter("ignore")
    logging.disable(logging.WARNING)
    import foolbox

    if with_art:
        from art.attacks.evasion import SpatialTransformation
        from art.estimators.classification import PyTorchClassifier

    rng = np.random.default_rng(0)
    # smooth pictures: neighbouring pixels of real ones are alike
    coarse = rng.random((n_images, 8, 8, 3))
    pictures = (255 * np.kron(coarse, np.ones((1, 4, 4, 1)))).astype(np.uint8)
    model = resnet20()
    with torch.no_grad():  # one class a little likelier: about half of the pictures can be fooled
        model.linear.bias[9] += 0.05
    seen = [0]
    model.register_forward_hook(lambda module, args, out: seen.__setitem__(0, seen[0] + len(args[0])))
    inputs = (pictures / 255).astype(np.float32).transpose(0, 3, 1, 2)
    mean, std = (torch.tensor(v)[:, None, None] for v in (MEAN, STD))
    with torch.inference_mode():
        labels = model((torch.from_numpy(inputs) - mean) / std).argmax(1).numpy()

    success = {}

    def foolbox_side() -> int:
        fmodel = foolbox.PyTorchModel(
            model, bounds=(0, 1), preprocessing={"mean": list(MEAN), "std": list(STD), "axis": -3}, device="cpu"
        )
        attack = foolbox.attacks.SpatialAttack(
            max_translation=RADIUS, max_rotation=0, num_translations=2 * RADIUS + 1, num_rotations=1, grid_search=True
        )
        seen[0] = 0
        with torch.no_grad():
            _, _, found = attack(fmodel, torch.from_numpy(inputs), torch.from_numpy(labels), epsilons=None)
        success["foolbox"] = float(found.float().mean())
        return seen[0]

    def art_side() -> int:
        classifier = PyTorchClassifier(
            model, loss=torch.nn.CrossEntropyLoss(), input_shape=(3, 32, 32), nb_classes=10, clip_values=(0, 1),
            preprocessing=(np.array(MEAN, np.float32)[:, None, None], np.array(STD, np.float32)[:, None, None]),
            device_type="cpu",
        )  # fmt: skip
        attack = SpatialTransformation(
            classifier, max_translation=100 * RADIUS / 32, num_translations=2 * RADIUS + 1, max_rotation=0.0,
            num_rotations=1, verbose=False,
        )  # fmt: skip
        seen[0] = 0
        moved = attack.generate(inputs, labels)
        evaluated = seen[0]
        success["ART"] = float((classifier.predict(moved).argmax(1) != labels).mean())  # one shift for all pictures
        return evaluated

    ours = resnet20()  # the same weights, without the counter
    ours.load_state_dict(model.state_dict())
    scorers = {"heldout": TorchScorer(ours), "heldout, auto": TorchScorer(ours, compile="auto")}
    margin = Translations(RADIUS).margin("random")
    padded = np.pad(pictures, ((0, 0), (margin, margin), (margin, margin), (0, 0)))
    images = LabelledImages(from_arrays(padded, labels), Crop(32), mean=MEAN, std=STD)

    def our_side(name: str) -> int:
        table, scorer = Translations(RADIUS).table("random"), scorers[name]
        rounds = Rounds(Shard(scorer, images, np.arange(n_images), table, "random", scorer.batch_size))
        rounds.plan = WholeWindow(table, "random")
        rounds.run()
        success[name] = float(rounds.outcomes.moved_loss.mean())
        return rounds.evaluations

    ready = np.stack([images.canvas(i, 0, "nchw") for i in range(32)])
    for name, scorer in scorers.items():  # prepare the model once, as a user's first batch does
        scorer.logits(ready)
        print(f"{name}: run by {WAYS[scorer.way]}")
    peers = {"foolbox": foolbox_side, "ART": art_side}
    if not with_art:
        del peers["ART"]
    rates = alternate({**{name: partial(our_side, name) for name in scorers}, **peers}, rounds=rounds)
    for name, rate in rates.items():
        print(f"{name:14s} {np.median(rate):8,.0f} evaluations/s, success rate {success[name]:.3f}")
    for name, least in (("heldout", 1.2), ("heldout, auto", 1.4)):
        ratio = float(np.median(rates[name] / np.max([rates[peer] for peer in peers], axis=0)))
        verdict(f"{name}: evaluations/s over the faster of {' and '.join(peers)}", ratio, f">= {least}", ratio >= least)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--images", type=int, default=64)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--no-art", action="store_true", help="foolbox alone, which is the faster one")
    arguments = parser.parse_args()
    main(arguments.images, arguments.rounds, with_art=not arguments.no_art)
