"""The lines of a plan (train.py says how one is written), and what is left of them."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass

import trained
from networks import Setting
from trained import Trained

RATES = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5)
ENGINES = ("", "plain", "float32")  # what train.py takes by itself; each network by itself; that in float32 throughout


@dataclass(frozen=True)
class Place:
    """Networks that are made ready once, for all jobs that ask for them."""

    network: str
    groups: int  # trained as one
    engine: str = ""


@dataclass(frozen=True)
class Job:
    """One line of the plan: networks of one kind, each seed at each rate of label noise."""

    network: str
    seeds: tuple[int, ...]
    epochs: int
    seconds: float | None
    rates: tuple[float, ...] = RATES
    rate: float | None = None
    label: str = ""
    curves: bool = True
    engine: str = ""  # of ENGINES

    @classmethod
    def read(cls, row: list) -> Job:
        network, seeds, epochs, seconds, *more = row
        seeds = tuple(seeds) if isinstance(seeds, list) else (seeds,)
        options = {"curves": seeds == (0,)} | (more[0] if more else {})
        options["rates"] = tuple(float(r) for r in options.get("rates", RATES))
        engine = options.get("engine", "")
        if engine not in ENGINES:
            raise ValueError(f"{network}: `engine` must be one of {', '.join(ENGINES[1:])}, not {engine}")
        if engine and not options.get("label"):
            raise ValueError(
                f"{network}: a job with an `engine` needs a `label`, or it would be one of the usual seeds"
            )
        return cls(network, seeds, epochs, seconds, **options)

    @property
    def name(self) -> str:
        return f"{self.network}-{self.label}" if self.label else self.network

    @property
    def key(self) -> tuple[str, tuple[int, ...]]:
        return self.name, self.seeds

    @property
    def title(self) -> str:
        return f"{self.name}/{'+'.join(map(str, self.seeds))}"

    @property
    def networks(self) -> list[tuple[int, float]]:
        """Seed and rate of label noise of each; those of a seed stand together."""
        return [(seed, rate) for seed in self.seeds for rate in self.rates]

    def setting(self, settings: dict[str, Setting]) -> Setting:
        s = settings[self.network]
        return dataclasses.replace(s, rate=self.rate or s.rate)

    def left(self, kept: list[Trained], settings: dict[str, Setting]) -> Job | None:
        """The seeds of which no such training is kept; None if there are none."""
        asked = {"epochs": self.epochs, "rate": self.setting(settings).rate, "rates": self.rates, "curves": self.curves}
        seeds = tuple(s for s in self.seeds if not trained.done(kept, self.name, s, **asked))
        return dataclasses.replace(self, seeds=seeds) if seeds else None
