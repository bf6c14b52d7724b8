"""What is done to a picture before a model sees it, in words."""

from __future__ import annotations

from typing import Any


def preprocessing_text(steps: dict[str, Any]) -> str:
    """What is done to a picture before the model sees it, in words.

    Examples
    --------
    >>> crop = {"frame": "crop", "size": 224, "resize": 256, "interpolation": "bilinear"}
    >>> preprocessing_text({**crop, "mean": [0.5], "std": [0.25], "scale": None, "bgr": False})
    'resize the short side to 256 (bilinear), crop 224; bytes scaled by 1/255; mean 0.5; std 0.25'
    >>> preprocessing_text({"frame": "wrap", "mean": [0.0], "std": [1.0], "scale": 1.0, "bgr": True})
    'cyclic shifts of the whole picture; BGR channel order; pixels times 1; mean 0; std 1'
    """
    left = dict(steps)
    words = []
    frame = left.pop("frame", None)
    if frame == "whole":
        words.append("the whole picture")
    elif frame == "wrap":
        words.append("cyclic shifts of the whole picture")
    elif frame == "pad":
        words.append(f"padded ({left.pop('mode', None)}), the whole picture in the middle")
    elif frame in ("crop", "upsample") and "size" in left:
        resize, how, size = left.pop("resize", None), left.pop("interpolation", None), left.pop("size")
        words.append(f"resize the short side to {resize} ({how}), crop {size}" if resize else f"crop {size}")
    elif frame is not None:
        words.append(f"frame {frame}")
    if left.pop("bgr", False):
        words.append("BGR channel order")
    if "scale" in left:
        scale = left.pop("scale")
        words.append("bytes scaled by 1/255" if scale is None else f"pixels times {scale:g}")
    for name in ("mean", "std"):
        if name in left:
            words.append(f"{name} " + ", ".join(f"{v:g}" for v in left.pop(name)))
    left = {name.replace("_", " "): value for name, value in left.items() if value is not None}
    words += [f"{name} {value}" for name, value in sorted(left.items())]  # nothing is left out
    return "; ".join(words)
