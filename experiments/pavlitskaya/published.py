"""The numbers of tables III, V, VII, VIII and IX of Pavlitskaya, Oswald and Zöllner 2022, as printed."""

from __future__ import annotations

EPOCHS = 250  # said of the ResNets, of no other; a job of a plan may have fewer
GAPS = {"lenet-mnist": 0.0062, "lenet-cifar": 0.4300}  # Acc(S) - Acc(V), section IV.C


def epochs(name: str) -> str:
    return str(EPOCHS) if name.startswith("resnet") else "not said"


def learning_rate(name: str) -> float | None:
    """The first learning rate of `vgg-C1` to `resnet-C8` (odd ones are regularised); None where it is not said."""
    family, _, number = name.partition("-C")
    if family not in ("vgg", "resnet") or (family == "resnet" and int(number) % 2 == 1):
        return None
    return 0.1 if int(number) % 2 == 1 else 1e-4


# Acc(S), Acc(V), Acc(T), in per cent. ResNet C2's 08.54 on the test set is a slip of the paper's own; VGG's Acc(V) are
# those that fit the printed gaps.
ACCURACY = {
    "vgg": {
        "C1": (98.65, 91.70, 91.50), "C2": (99.98, 70.62, 70.70), "C3": (99.99, 89.92, 89.52),
        "C4": (100.0, 77.22, 76.05), "C5": (99.77, 69.06, 68.99), "C6": (99.94, 54.32, 55.00),
        "C7": (100.0, 57.74, 58.75), "C8": (100.0, 45.80, 46.00),
    },
    "resnet": {
        "C1": (98.67, 90.98, 90.31), "C2": (91.05, 82.78, 8.54), "C3": (100.0, 87.92, 87.34),
        "C4": (99.05, 82.26, 82.12), "C5": (99.98, 51.26, 51.95), "C6": (97.73, 53.64, 53.36),
        "C7": (99.98, 50.40, 51.06), "C8": (99.88, 54.34, 54.00),
    },
}  # fmt: skip

METRICS = (
    ("pmv", "k_S"), ("ptv", "k_PTV"), ("spatial", "k_max"), ("spatial", "SSE"),
    ("fgsm", "k_max"), ("fgsm", "SSE"), ("gaussian", "k_max"), ("gaussian", "SSE"),
)  # fmt: skip

VALUES = {
    "vgg": {
        "C1": (0.9438, 0.3481, 0.2642, 0.0396, 0.2795, 0.1699, 0.5315, 0.7806),
        "C2": (0.0015, 0.9714, 0.5932, 0.3457, 0.2758, 0.6320, 0.2980, 0.6818),
        "C3": (1.0487, 1.0934, 0.2857, 0.1070, 0.0988, 0.0215, 0.3112, 0.4456),
        "C4": (1.4231, 0.8710, 0.6146, 0.3085, 0.2487, 0.0385, 0.2432, 0.6487),
        "C5": (1.0849, 0.9073, 0.5102, 0.2567, 0.2762, 0.0625, 0.3234, 0.7879),
        "C6": (0.0405, 0.9959, 0.7268, 0.4248, 0.6030, 0.3749, 0.2986, 0.6558),
        "C7": (0.9927, 1.0345, 0.4966, 0.3597, 0.3410, 0.3314, 0.0622, 0.0204),
        "C8": (0.0023, 0.9996, 0.8416, 0.5007, 0.4546, 0.0676, 0.1208, 0.0417),
    },
    "resnet": {
        "C1": (0.9654, 0.4374, 0.3875, 0.1687, 0.1832, 0.3029, 0.3519, 0.5859),
        "C2": (0.6087, 0.9229, 0.2542, 0.0810, 0.1789, 0.3493, 0.2987, 0.4821),
        "C3": (0.9942, 0.3737, 0.3180, 0.0873, 0.2598, 0.4353, 0.3886, 0.6115),
        "C4": (0.1295, 0.9925, 0.3889, 0.1749, 0.1601, 0.2925, 0.3778, 0.7452),
        "C5": (0.4505, 0.9186, 0.4900, 0.3876, 0.3432, 0.8625, 0.3350, 0.5964),
        "C6": (0.0280, 1.0078, 0.7528, 0.4233, 0.2956, 0.3149, 0.2566, 0.5374),
        "C7": (0.0002, 0.9998, 0.5950, 0.4030, 0.3380, 0.8391, 0.3528, 0.6499),
        "C8": (0.0237, 0.9984, 0.5360, 0.3770, 0.2368, 0.4468, 0.2254, 0.4988),
    },
    "others": {  # table IX has the first four only
        "lenet-mnist": (1.0022, 0.0273, 0.5782, 0.3624),
        "lenet-cifar": (0.6458, 1.0164, 0.5196, 0.2651),
        "mobilenet-mnist": (0.9914, 0.0730, 0.4260, 0.2034),
        "mobilenet-cifar": (0.3288, 1.0870, 0.6318, 0.3752),
    },
}  # fmt: skip

FACTORS = {  # table I: +1 is what is said to memorise more
    "less data": {f"C{i}": 1 if i > 4 else -1 for i in range(1, 9)},
    "no regularisation": {f"C{i}": 1 if i % 2 == 0 else -1 for i in range(1, 9)},
    "fat": {f"C{i}": 1 if i in (3, 4, 7, 8) else -1 for i in range(1, 9)},
}
