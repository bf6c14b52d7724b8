"""What v1 prints of CIFAR-10 (arXiv:1903.02380v1, 5.3): numbers to stand beside ours."""

from __future__ import annotations

RANGE = (-1.0, 0.5)  # that v1 takes for T, after (9): U = 3/2
N = 1250  # VGG-like networks
ERROR, ERROR_ON_TRAINING, ERROR_ON_ORIGINAL = 7.85, 0.014, 5.52  # %, of the VGG-like ones (5.3.3)

# p of single networks (5.3.1)
MEAN_P, MEDIAN_P, SHARE_AT_1 = 0.56, 0.53, 0.25
MEAN_P_ON_TRAINING = 0.023
CORRELATION = {"test": 49.41, "train": 1.49}  # of p on the test set with an error, %

# CIFAR-10.1
N_NEW = 2_000  # pictures
NEW_MEAN_P, NEW_AT_1, NEW_LEAST = 0.93, 998, 0.06

# table 1: N -> p on CIFAR-10, on CIFAR-10.1
TABLE_1 = {
    250: ((0.0266, 0.0274, 0.0283, 0.0292, 0.0359), (0.6723, 0.6890, 0.7037, 0.7185, 0.7602)),
    625: ((0.0267, 0.0303), (0.6911, 0.7115)),
    1250: ((0.0281,), (0.6989,)),
}
P_ALL, NEW_P_ALL = (p[0] for p in TABLE_1[N])

# table 2: error of the rescaled pictures, of the original ones (Zagoruyko and Komodakis 2016), %, and p, N = 125
N_WIDE = 125
TABLE_2 = {
    "28x10": (5.73, 4.17, 0.024),
    "22x10": (5.80, 4.44, 0.021),
    "16x8": (6.45, 4.81, 0.033),
    "40x2": (7.24, 5.33, 0.014),
}

# VGG16 of Keras, the share wrong of CIFAR-10 and of CIFAR-10.1 (v6), %: Recht et al. 2018, from their predictions
HARDER = 14.40 / 6.41
