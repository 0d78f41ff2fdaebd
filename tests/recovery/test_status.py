"""Cells of known kind: the status says what was planted, or a fine grid of other code sides with the fit.

Fifty cells of each kind; `python -m tests.recovery.status_table` looks at two hundred of each.
"""

from __future__ import annotations

import pytest

try:
    import status_table as study
except ModuleNotFoundError:
    from tests.recovery import status_table as study


EACH = 50


@pytest.fixture(scope="module")
def result():
    return study.study(EACH)


@pytest.mark.slow
def test_statuses_of_planted_cells(result):
    print(study.table(result))
    assert (result.groupby("kind").size() == EACH).all()
    assert result["kind"].nunique() == len(study.KINDS)
    unexplained = [r for r in result.itertuples() if r.said != r.planted and r.said not in r.grid]
    assert not unexplained, [(r.kind, r.said, r.grid, r.unit.parts) for r in unexplained]


@pytest.mark.slow
def test_flat_ridges_and_all_the_same_are_never_mistaken(result):
    for kind in ("uniform", "2x2 ridge"):
        assert set(result.loc[result["kind"] == kind, "said"]) == {"flat"}


@pytest.mark.slow
def test_no_point_of_the_grid_is_better(result):
    assert (result["short"] <= 1e-6).mean() >= 0.999
