"""Pulling the ink of one picture onto that of another by Gauss-Newton steps."""

from __future__ import annotations

import math

import numpy as np
from numba import njit

# Ink that lies on ink has no slope: these keep the equations of `settle` solvable.
DAMPING, FLOOR = 1.001, 1e-9
SLACK = 1e-9  # pixels: those on the rim stay inside when a map is rounded


@njit(cache=True, nogil=True)
def _look_up(field, x, y):
    """Value and slopes of a field between its pixels; beyond its rim the value grows with the distance from it."""
    height, width = field.shape
    inside_x = min(max(x, 0.0), width - 1.0)
    inside_y = min(max(y, 0.0), height - 1.0)
    j = min(int(inside_x), width - 2)
    i = min(int(inside_y), height - 2)
    fx, fy = inside_x - j, inside_y - i
    top = field[i, j + 1] - field[i, j]
    bottom = field[i + 1, j + 1] - field[i + 1, j]
    upper = field[i, j] + fx * top
    lower = field[i + 1, j] + fx * bottom
    beyond = math.hypot(x - inside_x, y - inside_y)
    return upper + fy * (lower - upper) + beyond, top + fy * (bottom - top), lower - upper


@njit(cache=True, nogil=True)
def pull(points, matrix, field, corner, centre, radius, back, out):
    scale = 1.0 / math.sqrt(abs(matrix[0, 0] * matrix[1, 1] - matrix[0, 1] * matrix[1, 0])) if back else 1.0
    row = np.empty(7)
    cost = 0.0
    for n in range(points.shape[0]):
        x = matrix[0, 0] * points[n, 0] + matrix[0, 1] * points[n, 1] + matrix[0, 2]
        y = matrix[1, 0] * points[n, 0] + matrix[1, 1] * points[n, 1] + matrix[1, 2]
        distance, gx, gy = _look_up(field, x - corner[0], y - corner[1])
        if back:
            distance *= scale
            hx = -scale * (gx * matrix[0, 0] + gy * matrix[1, 0])
            hy = -scale * (gx * matrix[0, 1] + gy * matrix[1, 1])
            gx, gy, x, y = hx, hy, points[n, 0], points[n, 1]
        x -= centre[0]
        y -= centre[1]
        row[0], row[1], row[2], row[3], row[4], row[5], row[6] = gx * x, gx * y, gy * x, gy * y, gx, gy, distance
        weight = 1.0 / (1.0 + (distance / radius) ** 2) ** 2 / points.shape[0]
        for i in range(6):
            for j in range(i, 7):
                out[i, j] += weight * row[i] * row[j]
        cost += min(distance, radius)
    for i in range(6):
        for j in range(i):
            out[i, j] = out[j, i]
    return cost / points.shape[0]


@njit(cache=True, nogil=True)
def settle(matrix, points_a, field_a, corner_a, points_b, field_b, corner_b, centre, radius, n_steps):
    cost = 0.0
    back = np.empty((2, 3))
    for _ in range(n_steps):
        a, b, c, d = matrix[0, 0], matrix[0, 1], matrix[1, 0], matrix[1, 1]
        area = a * d - b * c
        back[0, 0], back[0, 1], back[1, 0], back[1, 1] = d / area, -b / area, -c / area, a / area
        back[0, 2] = -(back[0, 0] * matrix[0, 2] + back[0, 1] * matrix[1, 2])
        back[1, 2] = -(back[1, 0] * matrix[0, 2] + back[1, 1] * matrix[1, 2])
        equations = np.zeros((6, 7))
        cost = pull(points_a, matrix, field_b, corner_b, centre, radius, False, equations)
        cost += pull(points_b, back, field_a, corner_a, centre, radius, True, equations)
        for i in range(6):
            equations[i, i] = DAMPING * equations[i, i] + FLOOR
        step = np.linalg.solve(equations[:, :6].copy(), -equations[:, 6].copy())
        moved = np.empty((2, 3))
        for i in range(2):
            for j in range(3):
                moved[i, j] = matrix[i, j] - (centre[i] if j == 2 else 0.0)
        for j in range(3):
            x, y = moved[0, j], moved[1, j]
            moved[0, j] += step[0] * x + step[1] * y
            moved[1, j] += step[2] * x + step[3] * y
        for i in range(2):
            moved[i, 2] += centre[i] + step[4 + i]
        matrix = moved
    return matrix, cost


@njit(cache=True, nogil=True)
def resample(image, matrix, out):
    height, width = image.shape
    for i in range(out.shape[0]):
        for j in range(out.shape[1]):
            x = matrix[0, 0] * j + matrix[0, 1] * i + matrix[0, 2]
            y = matrix[1, 0] * j + matrix[1, 1] * i + matrix[1, 2]
            if not (-SLACK <= x <= width - 1 + SLACK and -SLACK <= y <= height - 1 + SLACK):
                out[i, j] = 0.0
                continue
            x, y = min(max(x, 0.0), width - 1.0), min(max(y, 0.0), height - 1.0)
            left, top = int(x), int(y)
            right, bottom = min(left + 1, width - 1), min(top + 1, height - 1)
            upper = image[top, left] + (x - left) * (image[top, right] - image[top, left])
            lower = image[bottom, left] + (x - left) * (image[bottom, right] - image[bottom, left])
            out[i, j] = upper + (y - top) * (lower - upper)
    return out
