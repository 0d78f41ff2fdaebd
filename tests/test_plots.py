"""Figures carry labels, units, legends and every status; they come out the same every time."""

from __future__ import annotations

import xml.etree.ElementTree as ET

import numpy as np
import pytest
from scipy.stats import binomtest

from fake_fits import CASES, NASTY, FakeFits, fake, one, one_parameter
from levelkit.errors import UsageError
from levelkit.report import plots
from levelkit.report.plots.style import Compact, image


def legend(figure):
    return [text.get_text() for found in figure.legends for text in found.get_texts()]


def titles(figure):
    return " ".join([figure.get_suptitle(), *(axes.get_title(loc="left") for axes in figure.axes)])


def test_estimates_have_units_a_legend_of_statuses_and_a_row_for_each_cell():
    figure = plots.estimates(fake(8))
    assert [axes.get_xlabel() for axes in figure.axes] == [
        "reasoning level tau (levels)",
        "context precision gamma (1/payoff)",
    ]
    assert legend(figure) == ["ok", "multimodal", "boundary", "flat: not determined", "no upper bound"]
    assert [label.get_text() for label in figure.axes[0].get_yticklabels()] == [
        f"model {c}, {g}" for c, g in zip("ABCDEFGH", ["sw10", "pd"] * 4, strict=True)
    ]


def test_statuses_differ_in_shape_not_only_in_colour():
    lines = plots.estimates(fake(8), "tau").axes[0].get_lines()
    marks = {line.get_marker() for line in lines} - {"None", "|", "<", ">", None}
    assert marks == {"o", "s", "D"}


def test_flat_cells_are_bands_over_the_whole_axis_and_nothing_else():
    axes = plots.estimates(fake(8), "tau").axes[0]
    bands = [patch for patch in axes.patches if patch.get_width() > 0]
    assert [round(band.get_y() + band.get_height() / 2) for band in bands] == [3, 7]
    assert {(band.get_x(), band.get_x() + band.get_width()) for band in bands} == {axes.get_xlim()}
    assert not [line for line in axes.get_lines() if 3 in line.get_ydata()]


def test_intervals_without_an_upper_bound_end_in_arrows():
    lines = plots.estimates(fake(8), "tau").axes[0].get_lines()
    assert [line.get_ydata()[0] for line in lines if line.get_marker() == ">"] == [4]


def test_many_cells_go_into_columns_and_the_rest_is_counted():
    figure = plots.estimates(fake(300), "tau")
    assert len(figure.axes) == 2
    assert "220 more cells not shown" in titles(figure)
    assert sum(len(axes.get_yticklabels()) for axes in figure.axes) == 80


def test_cells_can_be_sorted_with_the_flat_ones_last():
    figure = plots.estimates(fake(8), "tau", sort=True)
    names = [label.get_text().split(",")[0][-1] for label in figure.axes[0].get_yticklabels()]
    assert names == list("EGBAFCDH")


def test_a_parameter_that_was_not_estimated_is_refused():
    with pytest.raises(UsageError, match="tau, gamma"):
        plots.estimates(fake(2), "lam")


def test_surface_shows_limits_best_fit_ridge_and_both_sets():
    figure = plots.surface(fake(8), {"model": "model A", "game": "sw10"})
    axes, bar = figure.axes
    assert axes.get_xlabel() == "reasoning level tau (levels)"
    assert axes.get_ylabel() == "context precision gamma (1/payoff)"
    assert "log-likelihood" in bar.get_ylabel()
    assert legend(figure) == [
        "best fit",
        "best gamma for each tau (ridge)",
        "95%, one parameter (-1.92)",
        "95%, both together (-3.00)",
    ]
    assert "model A, sw10 (n = 12, ok)" in titles(figure)


def test_a_surface_that_is_near_the_best_everywhere_has_zero_and_infinity_on_its_axes(monkeypatch):
    import fake_fits

    monkeypatch.setattr(
        fake_fits,
        "hill",
        lambda tau, gamma: np.full(np.broadcast_shapes(np.shape(tau), np.shape(gamma)), -40.0),
    )
    axes = plots.surface(fake(8), 0).axes[0]
    assert axes.get_xticklabels()[0].get_text() == "0"
    assert [axes.get_yticklabels()[k].get_text() for k in (0, -1)] == ["0", "∞"]


def test_one_parameter_gives_a_profile_with_its_cutoff():
    figure = plots.surface(one_parameter(), 0)
    (axes,) = figure.axes
    assert "95% cutoff (-1.92)" in legend(figure)
    assert axes.get_xlabel() == "reasoning level tau (levels)"
    cutoff = next(line for line in axes.get_lines() if "cutoff" in line.get_label())
    np.testing.assert_allclose(cutoff.get_ydata(), -1.9207, atol=1e-4)


def test_a_surface_wants_one_cell():
    with pytest.raises(UsageError, match="8 fitted cells"):
        plots.surface(fake(8))


def test_few_cells_get_a_panel_each():
    figure = plots.frequencies(fake(8))
    shown = [axes for axes in figure.axes if axes.get_visible()]
    assert len(shown) == 8
    assert [label.get_text() for label in shown[0].get_xticklabels()] == ["top", "middle <b>", "bottom"]
    assert legend(figure) == ["predicted", "observed, 95% Wilson interval"]
    assert shown[0].get_ylabel() == "share of choices"
    assert shown[-1].get_xlabel() == "action"


def test_many_cells_are_set_against_the_diagonal():
    figure = plots.frequencies(fake(40))
    (axes,) = figure.axes
    assert (axes.get_xlabel(), axes.get_ylabel()) == (
        "predicted share of choices",
        "observed share of choices",
    )
    assert legend(figure)[0] == "perfect prediction"
    shown = sum(
        len(points.get_offsets())
        for points in axes.collections
        if hasattr(points, "get_sizes") and len(points.get_sizes())
    )
    assert shown == 120


def test_players_nobody_observed_have_no_panel():
    fits = fake(2)
    whole = fits.predict()
    unseen = whole.assign(player="player 2", n=0.0, observed=np.nan)

    class Half(FakeFits):
        def predict(self):
            import pandas as pd

            return pd.concat([whole, unseen], ignore_index=True)

    assert len(plots.frequencies(Half(fits.keys, fits.cases)).axes) == 2


@pytest.mark.parametrize(("k", "n"), [(0, 12), (3, 12), (12, 12), (7, 1000), (1, 1)])
@pytest.mark.parametrize("level", [0.8, 0.95])
def test_wilson_intervals_against_scipy(k, n, level):
    low, high = plots.wilson(np.array([k / n]), np.array([n]), level)
    expected = binomtest(k, n).proportion_ci(level, method="wilson")
    np.testing.assert_allclose([low[0], high[0]], [expected.low, expected.high], atol=1e-12)


def test_no_choices_no_interval():
    low, high = plots.wilson(np.array([np.nan]), np.array([0.0]))
    assert np.isnan([low[0], high[0]]).all()


@pytest.mark.parametrize(
    "draw",
    [plots.estimates, lambda f: plots.surface(f, 0), plots.frequencies],
    ids=["estimates", "surface", "frequencies"],
)
def test_the_same_figure_has_the_same_bytes_and_no_date(draw):
    first, second = (image(draw(fake(3, NASTY)), "svg") for _ in range(2))
    assert first == second
    assert b"<dc:date>" not in first
    ET.fromstring(first)
    assert image(draw(fake(3)), "png") == image(draw(fake(3)), "png")


def test_drawing_leaves_the_users_settings_and_pyplot_alone():
    import matplotlib
    import matplotlib.pyplot as plt

    before = dict(matplotlib.rcParams)
    plots.estimates(fake(8))
    plots.surface(fake(8), 0)
    assert dict(matplotlib.rcParams) == before
    assert plt.get_fignums() == []


def test_figures_are_saved_by_suffix(tmp_path):
    figure = plots.estimates(one())
    assert plots.save(figure, tmp_path / "a.svg").read_bytes().startswith(b"<?xml")
    assert plots.save(figure, tmp_path / "a.png").read_bytes().startswith(b"\x89PNG")
    assert plots.save(figure, tmp_path / "a.pdf").read_bytes().startswith(b"%PDF")
    with pytest.raises(UsageError, match=r"\.svg, \.png or \.pdf"):
        plots.save(figure, tmp_path / "a.jpg")


def test_an_unknown_plot_is_answered_with_what_is_close():
    with pytest.raises(UsageError, match="did you mean surface"):
        plots.plot(fake(1), "surfaces")


def test_axis_positions_rise_and_hold_the_limits():
    axis = Compact.around([0.02, 30.0])
    at = axis([0, 0.02, 0.1, 1, 30, np.inf])
    assert (np.diff(at) > 0).all()
    assert axis.limits == (at[0], at[-1])
    labels = [label for _, label in axis.ticks()]
    assert labels[0] == "0"
    assert labels[-1] == "∞"
    assert "1" in labels


@pytest.mark.parametrize("case", CASES)
def test_each_case_can_be_drawn_alone(case):
    import pandas as pd

    figure = plots.estimates(FakeFits(pd.DataFrame({"game": ["pd"]}), [case]))
    assert len(image(figure, "svg")) > 1000
