"""Textures of ice: window frost grown along branches, in place of photographs."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw
from scipy import ndimage

HEIGHT, WIDTH = 400, 600
# Mean and standard deviation of grey of each texture: the range that photographs of frost on windows span.
TONES = ((130, 20), (207, 22), (152, 28), (123, 43), (90, 42))


@lru_cache(maxsize=1)
def ice_textures() -> tuple[NDArray[np.uint8], ...]:
    """Five textures of (400, 600, 3), the same for ever."""
    return tuple(ice_texture(mean, sd, rng=np.random.default_rng(20190301 + i)) for i, (mean, sd) in enumerate(TONES))


def ice_texture(mean: float, sd: float, *, rng: np.random.Generator) -> NDArray[np.uint8]:
    """Ferns of ice over cloudy glass, of a given mean and standard deviation of grey."""
    ferns = Image.new("L", (WIDTH, HEIGHT))
    draw = ImageDraw.Draw(ferns)
    for _ in range(45):
        start = (rng.uniform(0, WIDTH), rng.uniform(0, HEIGHT))
        branch(draw, start, rng.uniform(0, 2 * math.pi), rng.uniform(60, 180), 3, rng=rng)
    lines = np.asarray(ferns, dtype=np.float64) / 255
    cloud = sum(
        weight * normed(ndimage.gaussian_filter(rng.standard_normal((HEIGHT, WIDTH)), sigma))
        for weight, sigma in ((1.0, 40), (0.7, 12), (0.45, 4), (0.3, 1))
    )
    grain = normed(lines + ndimage.gaussian_filter(lines, 2) + ndimage.gaussian_filter(lines, 8))
    grey = mean + sd * normed(grain + 0.6 * cloud)
    tint = np.array([0.92, 1.0, 1.07])  # bluish
    return np.asarray(np.clip(np.round(grey[:, :, None] * tint), 0, 255), dtype=np.uint8)


def normed(x: Any) -> NDArray[np.float64]:
    """Mean 0, standard deviation 1."""
    return np.asarray((x - x.mean()) / x.std())


def branch(
    draw: ImageDraw.ImageDraw,
    start: tuple[float, float],
    angle: float,
    length: float,
    depth: int,
    *,
    rng: np.random.Generator,
) -> None:
    """A stem that bends a little, with side branches at 60 degrees, as ice grows."""
    x, y = start
    step = 6.0
    bend = rng.normal(0, 0.02)
    steps = int(length / step)
    for i in range(steps):
        left = 1 - i / steps
        angle += bend
        to = (x + step * math.cos(angle), y + step * math.sin(angle))
        light = int(120 + 110 * left * depth / 3 + rng.uniform(-25, 25))
        draw.line([(x, y), to], fill=min(light, 255), width=max(1, round(depth * left)))
        x, y = to
        if depth > 1 and i % 2 == 0:
            for side in (-1, 1):
                branch(draw, to, angle + side * math.pi / 3, length * left * rng.uniform(0.2, 0.4), depth - 1, rng=rng)
