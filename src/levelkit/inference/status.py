"""What an estimate is worth: ok, boundary, flat or multimodal. No number is printed without it."""

from __future__ import annotations

from enum import IntEnum

import numpy as np

from levelkit.inference.kernels import Array

# Smaller than this share of the largest eigenvalue, information in a direction is rounding.
_SINGULAR = 1e-10


class Status(IntEnum):
    """In order of gravity; the status of a fit is the gravest of its parameters."""

    OK = 0
    MULTIMODAL = 1
    BOUNDARY = 2
    FLAT = 3

    @property
    def word(self) -> str:
        """As printed."""
        return self.name.lower()

    @property
    def meaning(self) -> str:
        """A sentence to act on."""
        return _MEANING[self]


_MEANING = {
    Status.OK: "One optimum inside the range; estimate and interval can be used.",
    Status.MULTIMODAL: (
        "Another optimum, elsewhere, fits almost as well (within the interval's log-likelihood drop); "
        "look at both before choosing, or pool more data."
    ),
    Status.BOUNDARY: (
        "The likelihood is highest at an end of the range (0, infinity, or the largest tau searched): "
        "the data only bound the parameter from one side."
    ),
    Status.FLAT: (
        "The data do not tell this parameter: every value, or a whole ridge of values, fits about as well. "
        "Do not use the number; pool games, fix the other parameter, or collect other games."
    ),
}


def void_directions(informations: Array) -> Array:
    """Which parameters lie along directions that choices never reveal, (F, m), from expected information (T, F, F,
    m) at T points.

    At an optimum the expected information may be singular by accident (it is wherever predicted frequencies fold
    over); a direction is void only if it is void everywhere, so the best-conditioned of the points decides.
    """
    matrix = np.moveaxis(informations, -1, 0)
    values, vectors = np.linalg.eigh(matrix)
    relative = values / np.maximum(values[..., -1:], 1e-300)
    point = (relative > _SINGULAR).sum(axis=-1) + relative[..., 0] * 0.5
    here = np.arange(len(matrix))
    best = point.argmax(axis=1)
    relative, vectors = relative[here, best], vectors[here, best]
    loading = np.abs(vectors) > 1e-3
    return np.asarray((loading & (relative < _SINGULAR)[:, None, :]).any(axis=2).T)


def judge(*, edge: Array, spans: Array, ridge: Array, nothing: Array, rivals: Array) -> Array:
    """Status codes (F, m). edge, spans, ridge (F, m): at an end; profile set covers the range; no information.

    nothing (m,): no better than uniform play. rivals (m,): another optimum within the drop.
    """
    status = np.where(rivals[None], Status.MULTIMODAL, Status.OK) + np.zeros(edge.shape, int)
    status = np.where(edge, Status.BOUNDARY, status)
    return np.where(spans | ridge | nothing[None], Status.FLAT, status).astype(np.int8)
