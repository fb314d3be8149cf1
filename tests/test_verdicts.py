import pytest

from nrcdt.paper.cells import (
    ADDED,
    AGREES,
    DIFFERS,
    HELD,
    NOT_HELD,
    NOT_RUN,
    OTHER_STARTS,
    REPORTED,
    RULE,
    Cell,
    Measurement,
    decisive,
    describe_verdicts,
    held_by_splits,
    share_held,
    wanted_share_holds,
)
from nrcdt.paper.summaries import run_outcome
from nrcdt.paper.tables import TABLES, Number
from nrcdt.paper.verdicts import LAST_DIGIT, N_SPLITS, holds_by_median, judge, tolerance


def verdict_on(printed, measured, **settings):
    return judge(printed, measured, tolerance(printed, measured, measured.n or 1), **settings)


@pytest.mark.parametrize(
    ("printed", "measured", "verdict"),
    [
        (1.0, 1.0, HELD),
        (1.0, 29 / 30, HELD),  # one sample of thirty
        (1.0, 26 / 30, NOT_HELD),  # four of them, more than twice the error of a proportion
        (0.5, 1.0, HELD),  # better than printed is never a failure
        (0.9, 0.5, NOT_HELD),
    ],
)
def test_features_may_be_better_but_not_much_worse(printed, measured, verdict):
    assert verdict_on(Number(printed), Measurement(measured, n=30), baseline=False) == verdict


@pytest.mark.parametrize(("measured", "verdict"), [(0.4, AGREES), (0.5, AGREES), (0.9, DIFFERS), (0.0, DIFFERS)])
def test_baselines_are_compared_both_ways(measured, verdict):
    assert verdict_on(Number(0.4), Measurement(measured, n=30), baseline=True) == verdict


def test_splits_use_the_error_of_the_mean_where_it_is_larger():
    printed, measured = Number(0.9, 0.2), Measurement(0.8, 0.2, n=2700, repeats=20)
    assert tolerance(printed, measured, 2700) == pytest.approx(2 * (2 * 0.2**2 / 20) ** 0.5)
    assert verdict_on(printed, measured, baseline=False) == HELD
    assert verdict_on(printed, measured._replace(value=0.7), baseline=False) == NOT_HELD


def test_splits_of_one_dataset_do_not_average_out_its_samples():
    printed, measured = Number(0.9, 0.02), Measurement(0.86, 0.02, n=270, repeats=20)
    assert tolerance(printed, measured, 270) == pytest.approx(2 * (0.9 * 0.1 / 270 + 0.86 * 0.14 / 270) ** 0.5)
    assert tolerance(printed, measured, 270, samples=False) == pytest.approx(2 * (2 * 0.02**2 / 20) ** 0.5)
    assert verdict_on(printed, measured, baseline=False) == HELD
    assert verdict_on(printed, measured._replace(value=0.83), baseline=False) == NOT_HELD


def test_a_quick_run_does_not_widen_the_papers_error():
    printed, measured = Number(0.9, 0.0), Measurement(0.9, 0.0, n=30, repeats=5)
    assert tolerance(printed, measured, 900) == pytest.approx(2 * (0.09 / 900 + 0.09 / 30) ** 0.5)


def test_many_draws_average_out_our_samples():
    printed, measured = Number(0.9, 0.02), Measurement(0.9, 0.1, n=270, repeats=20, n_draws=20)
    assert tolerance(printed, measured, 270) == pytest.approx(2 * (0.09 / 270 + 0.1**2 / 20) ** 0.5)


def test_without_any_spread_one_sample_is_still_allowed():
    printed, measured = Number(1.0, 0.0), Measurement(1 - 1 / 900, 0.0, n=900, repeats=20)
    assert verdict_on(printed, measured, baseline=False) == HELD
    assert verdict_on(printed, measured._replace(value=1 - 6 / 900), baseline=False) == NOT_HELD


@pytest.mark.parametrize(
    ("printed", "smaller_is_better", "baseline", "verdict"),
    [
        (0.95, False, False, NOT_HELD),  # a Rand index above all of ours
        (0.85, False, False, HELD),
        (0.70, False, False, HELD),  # below all of ours: we are better
        (0.70, False, True, DIFFERS),
        (0.70, True, False, NOT_HELD),  # a variation of information below all of ours
        (0.95, True, False, HELD),
        (0.90005, False, False, HELD),  # four printed digits
        (0.90015, False, False, NOT_HELD),
    ],
)
def test_clusterings_are_compared_with_the_interval_of_the_seeds(printed, smaller_is_better, baseline, verdict):
    measured = Measurement(0.85, 0.03, n=20, low=0.8, high=0.9)
    assert verdict_on(Number(printed), measured, baseline=baseline, smaller_is_better=smaller_is_better) == verdict


def cell(verdict, directions):
    return Cell("row", "column", 1.0, 1.0, None, 30, verdict, directions)


def test_only_judged_features_with_enough_directions_decide():
    cells = [cell(HELD, 16), cell(NOT_HELD, 8), cell(AGREES, None), cell(REPORTED, 64), cell(NOT_RUN, 64)]
    assert decisive(cells) == cells[:1]
    assert share_held(cells) == 1
    assert share_held(cells[1:]) is None
    assert describe_verdicts(cells) == "5 cells: 1 held, 1 not held, 1 agrees, 1 reported, 1 not run"


def test_what_the_paper_does_not_have_is_counted_apart():
    added = cell(ADDED, 64)._replace(printed=None, measured=0.1)
    assert decisive([cell(HELD, 16), added, added]) == [cell(HELD, 16)]
    assert share_held([added]) is None
    assert describe_verdicts([cell(HELD, 16), added, added]) == "1 cells: 1 held; 2 added"
    assert (
        describe_verdicts([cell(HELD, 16), added, cell(OTHER_STARTS, None)])
        == "1 cells: 1 held; 1 added; 1 other starts"
    )


def test_the_rule_tells_every_slack_and_how_often_the_dataset_is_drawn():
    rule = " ".join(RULE.split())
    assert "the largest of twice the joint standard error, one sample, and one printed digit (0.001)" in rule
    assert f"by more than one printed digit ({LAST_DIGIT:.4f})" in rule
    draws = {table.dataset: table.n_draws for table in TABLES.values() if table.experiment == "k-means"}
    assert draws == {"academic": N_SPLITS, "linmnist": N_SPLITS, "polygon": 5, "faust": 1}
    assert "the runs share the draws of the dataset evenly: 20 draws, but 5 of polygons and the one there is of" in rule


def test_cells_that_hold_by_the_error_over_splits_are_counted():
    narrow, wide = cell(HELD, 16)._replace(printed_std=0.1, split_tolerance=0.1), cell(HELD, 16)
    far = narrow._replace(measured=0.8)
    assert held_by_splits([narrow, far, wide, cell(NOT_HELD, 16), cell(HELD, 8)]) == 2


@pytest.mark.parametrize(("n_held", "n_not_held", "enough"), [(19, 1, True), (18, 1, False), (0, 0, True)])
def test_nineteen_of_twenty_must_hold(n_held, n_not_held, enough):
    assert wanted_share_holds([cell(HELD, 16)] * n_held + [cell(NOT_HELD, 16)] * n_not_held) is enough


@pytest.mark.parametrize(
    ("row", "printed", "held"),
    [
        ("RI train", 0.8, True),
        ("RI test", 0.80009, True),
        ("RI test", 0.81, False),
        ("VI test", 0.81, True),
        ("VI train", 0.79, False),
    ],
)
def test_clusterings_are_compared_with_the_median_as_well(row, printed, held):
    one = Cell(row, "max", printed, 0.8, 0.1, 20, HELD, 64, low=0.5, high=0.9)
    assert holds_by_median(one) is held
    outcome = run_outcome([one, cell(HELD, 16)])
    assert outcome.endswith(f"Of 1 k-means cells, {int(held)} would hold by the median of our runs.")
    assert "k-means" not in run_outcome([cell(HELD, 16)])
