"""The translations into normal form, as pure array functions: what each agent earns at every profile.

Arrays in and out; all two-player matrices are indexed [action of player 1][action of player 2].
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np


def prior_mean(prior: Sequence[float] | np.ndarray, states: Sequence[np.ndarray]) -> np.ndarray:
    """Payoffs when nobody knows the state: the prior-weighted mean of the states' payoffs, one shape each."""
    mean = np.zeros_like(states[0])
    for probability, state in zip(prior, states, strict=True):
        mean += probability * state
    return mean


def leader_and_followers(row: np.ndarray, col: np.ndarray) -> tuple[np.ndarray, ...]:
    """Agent form of leader and informed follower: leader first, then one follower agent per leader action.

    At (a, f_0, f_1, ...) the leader earns row[a][f_a]; the follower agent after a earns col[a][f_a] whatever
    the leader does, so that it weighs its own node only.
    """
    leads, follows = row.shape
    shape = (leads,) + (follows,) * leads
    leader = np.empty(shape)
    followers = []
    for a in range(leads):
        along = np.ones(leads, dtype=int)
        along[a] = follows
        leader[a] = row[a].reshape(along)
        followers.append(np.broadcast_to(col[a].reshape(along), shape))
    return (leader, *followers)


def sender_and_receiver(true_row: np.ndarray, shown_row: np.ndarray, shown_col: np.ndarray) -> tuple[np.ndarray, ...]:
    """Sender (true payoffs), receiver and imagined sender (shown payoffs), axes in that order.

    The sender faces the receiver; receiver and imagined sender face each other.
    """
    sent, received = true_row.shape
    shape = (sent, received, sent)
    return (
        np.broadcast_to(true_row[:, :, None], shape),
        np.broadcast_to(shown_col.T[None, :, :], shape),
        np.broadcast_to(shown_row.T[None, :, :], shape),
    )
