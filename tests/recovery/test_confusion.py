"""Simulated data from each model: the criteria find the model that made them more often than chance would."""

from __future__ import annotations

import pytest

try:
    import confusion as study
except ModuleNotFoundError:
    from tests.recovery import confusion as study


@pytest.mark.slow
def test_models_are_told_apart():
    found = study.study(60)
    print(found.round(3).to_string(index=False))
    assert study.right(found, "bic") > 0.85
    assert study.right(found, "held_out") > 0.7
