"""An adversary for bounds: it moves the points of a cloud, none further than eps, to push `max` features one way."""

import numpy as np


def attack(model, cloud, push, eps, n_steps=12):
    """Return a cloud within eps whose features have a large inner product with `push`, by projected gradient ascent.

    For a fitted NRCDT("euclidean") with standardised slices, the aggregation `max`, and points of equal weight.
    """
    levels, directions = model.levels_, model.directions_
    ranks = np.floor(levels * len(cloud) + 1e-9).astype(int)
    best, most, offset = cloud, -np.inf, np.zeros_like(cloud)
    for step in range(n_steps + 1):
        gain = model.transform([cloud + offset])[0] @ push
        if gain > most:
            best, most = cloud + offset, gain
        gradient = _gradient(cloud + offset, directions, ranks, push)
        lengths = np.linalg.norm(gradient, axis=1, keepdims=True)
        offset = offset + 2 * eps / (1 + step) * gradient / np.where(lengths > 0, lengths, 1)
        offset = offset * np.minimum(1, eps / np.linalg.norm(offset, axis=1, keepdims=True).clip(1e-300))
    return best


def _gradient(points, directions, ranks, push):
    """Slices whose quantile is the largest pull the point that it is, and by mean and spread all the others."""
    order = np.argsort(directions @ points.T, axis=1)[:, ranks]  # the point that each quantile is
    quantiles = np.take_along_axis(directions @ points.T, order, axis=1)
    spreads = quantiles.std(axis=1, keepdims=True)
    normalized = (quantiles - quantiles.mean(axis=1, keepdims=True)) / spreads
    pulled = np.zeros_like(normalized)
    pulled[normalized.argmax(axis=0), np.arange(len(ranks))] = push
    means = pulled.mean(axis=1, keepdims=True)
    pulled = (pulled - means - normalized * (pulled * normalized).mean(axis=1, keepdims=True)) / spreads
    gradient = np.zeros_like(points)
    np.add.at(gradient, order, pulled[:, :, np.newaxis] * directions[:, np.newaxis])
    return gradient
