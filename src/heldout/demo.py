"""The embedded demo: two models, one of which had the test set in its training data."""

from __future__ import annotations

from importlib.resources import as_file, files
from typing import Any

from heldout.images import LabelledImages, Wrap, from_npz
from heldout.independence.audit import audit
from heldout.independence.result import AuditResult
from heldout.orbit import Translations
from heldout.scorers import OnnxScorer

RADIUS = 2
SEED = 0
MODELS = ("honest", "leaked")
REFERENCES: dict[str, tuple[str, ...]] = {"honest": (), "leaked": ("honest",)}


def run_demo(**options: Any) -> dict[str, AuditResult]:
    """Audit both demo models against the control; options go to `heldout.audit`.

    The leaked model has the honest one as a reference, which never saw the test set. (The other way round would not do:
    a reference that knows the test set makes it look hard.)

    2,000 test and 2,000 control pictures of Fashion-MNIST stand at random positions on a 32 x 32
    torus, so that shifting them is exactly neutral. `experiments/demo` made models and data.
    """
    with as_file(files("heldout") / "data") as folder:
        test, control = (
            LabelledImages(
                from_npz(folder / "demo.npz", images_key=f"{part}_images", labels_key=f"{part}_labels"),
                Wrap(),
            )
            for part in ("test", "control")
        )
        models = {name: OnnxScorer(folder / f"{name}.onnx") for name in MODELS}
        return {
            name: audit(
                model,
                test,
                orbit=Translations(RADIUS),
                control=control,
                references=[models[other] for other in REFERENCES[name]],
                seed=SEED,
                **options,
            )
            for name, model in models.items()
        }
