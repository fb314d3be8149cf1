"""Make the picture of the README: ``python docs/make_pictures.py``."""

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

from nrcdt import NRCDT
from nrcdt.datasets import distorted, watermarks
from nrcdt.plot import COLOURS, feature_curves

N_CLASSES, N_SAMPLES = 6, 3


def show(ax, image, colour):
    rows, columns = np.nonzero(image)
    centre = [(rows.min() + rows.max()) // 2, (columns.min() + columns.max()) // 2]
    image = np.roll(image, [128 - centre[0], 128 - centre[1]], axis=(0, 1))[38:218, 38:218]
    ax.imshow(image, cmap="gray_r", interpolation="bilinear")
    ax.set(xticks=[], yticks=[])
    for side in ax.spines.values():
        side.set(color=colour, linewidth=2)


def main():
    templates, names = watermarks(N_CLASSES)
    samples, labels = distorted(templates, N_SAMPLES, random_state=1)
    transform = NRCDT().fit(templates)
    figure = plt.figure(figsize=(12, 4.3), layout="constrained")
    left, right = figure.subfigures(1, 2, width_ratios=[6, 6.5])
    axes = left.subplots(N_SAMPLES + 1, N_CLASSES)
    for k, name in enumerate(names):
        show(axes[0, k], templates[k], COLOURS[k])
        axes[0, k].set_title(name, fontsize=10)
        for i, sample in enumerate(samples[labels == k]):
            show(axes[i + 1, k], sample, COLOURS[k])
    axes[0, 0].set_ylabel("drawing", fontsize=10)
    axes[2, 0].set_ylabel("distorted copies", fontsize=10)
    curves, own = transform.transform(samples), transform.transform(templates)
    average = own.mean(axis=0)
    ax = feature_curves(curves - average, labels, names, own - average, right.subplots())
    ax.set(ylabel="feature, minus the average", title="one curve per picture: copies fall on their drawing")
    figure.savefig(Path(__file__).parent / "images" / "readme.png", dpi=110, facecolor="white")


if __name__ == "__main__":
    main()
