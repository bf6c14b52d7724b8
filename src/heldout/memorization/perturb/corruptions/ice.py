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
    """Ferns of ice over cloudy glass, lit from one side, of a given mean and standard deviation of grey."""
    ferns = Image.new("L", (WIDTH, HEIGHT))
    draw = ImageDraw.Draw(ferns)
    for _ in range(260):
        start = (rng.uniform(0, WIDTH), rng.uniform(0, HEIGHT))
        fern(draw, start, rng.uniform(0, 2 * math.pi), rng.uniform(25, 110), rng=rng)
    ice = ndimage.gaussian_filter(np.asarray(ferns, dtype=np.float64), 0.6)
    relief = ice - ndimage.shift(ndimage.gaussian_filter(ice, 1), (1, 1), order=1, mode="nearest")
    cloud = sum(
        weight * normed(ndimage.gaussian_filter(rng.standard_normal((HEIGHT, WIDTH)), sigma))
        for weight, sigma in ((1.0, 40), (0.4, 12), (0.3, 4), (0.3, 1))
    )
    grey = mean + sd * normed(0.7 * normed(ice) + 0.3 * normed(relief) + 0.9 * cloud)
    tint = np.array([0.92, 1.0, 1.07])  # bluish
    return np.asarray(np.clip(np.round(grey[:, :, None] * tint), 0, 255), dtype=np.uint8)


def normed(x: Any) -> NDArray[np.float64]:
    """Mean 0, standard deviation 1."""
    return np.asarray((x - x.mean()) / x.std())


def fern(
    draw: ImageDraw.ImageDraw, start: tuple[float, float], angle: float, length: float, *, rng: np.random.Generator
) -> None:
    """A stem that bends a little, with needles on both sides that shorten towards the tip."""
    x, y = start
    step, bend, opening = 3.0, rng.normal(0, 0.02), rng.uniform(0.5, 1.05)
    light, reach = rng.uniform(60, 230), length * rng.uniform(0.2, 0.45)
    steps = int(length / step)
    shades = np.clip(light + rng.normal(0, 30, (steps, 3)), 0, 255).astype(int).tolist()
    for i, (stem, *needles) in enumerate(shades):
        angle += bend
        to = (x + step * math.cos(angle), y + step * math.sin(angle))
        far = reach * (1 - i / steps)
        for side, shade in zip((-1, 1), needles, strict=True):
            turn = angle + side * opening
            draw.line([to, (to[0] + far * math.cos(turn), to[1] + far * math.sin(turn))], fill=shade)
        draw.line([(x, y), to], fill=stem)
        x, y = to
