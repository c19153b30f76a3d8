"""Percentiles, intervals and fits on numbers whose answer is known."""

from __future__ import annotations

import random

import pytest

from configurator.bench.statistics import bootstrap_difference, fit_alpha_beta, percentile, summarise


@pytest.mark.parametrize(("share", "expected"), [(0, 1), (0.5, 2.5), (1, 4), (0.25, 1.75)])
def test_percentiles_interpolate(share, expected):
    assert percentile([4, 1, 3, 2], share) == expected


def test_p99_needs_two_hundred_samples():
    assert summarise(range(199)).p99_us is None
    assert summarise(range(1, 201)).p99_us == pytest.approx(198.01)


def test_no_samples_give_no_numbers():
    summary = summarise([])
    assert (summary.n, summary.p50_us, summary.rel_iqr) == (0, None, None)


def test_spread_is_relative_to_the_median():
    assert summarise([8, 9, 10, 11, 12]).rel_iqr == pytest.approx(0.2)


def rounds(middle, count=20, each=5, spread=1.0, seed=0):
    draw = random.Random(seed)  # noqa: S311 - samples, not secrets
    return [[middle + draw.uniform(-spread, spread) for _ in range(each)] for _ in range(count)]


def test_a_real_difference_is_shown_with_its_sign():
    difference, (low, high) = bootstrap_difference(rounds(10), rounds(15, seed=1))
    assert 4.5 < difference < 5.5
    assert low > 0
    assert low <= difference <= high
    swapped, (_, below) = bootstrap_difference(rounds(15, seed=1), rounds(10))
    assert swapped == pytest.approx(-difference)
    assert below < 0


def test_equal_cases_seldom_show_a_difference():
    """A 95 % interval misses the truth once in twenty; of twenty pairs, four or more would be a fault."""
    pairs = [(rounds(10, seed=2 * i), rounds(10, seed=2 * i + 1)) for i in range(20)]
    intervals = [bootstrap_difference(first, second)[1] for first, second in pairs]
    assert sum(not low <= 0 <= high for low, high in intervals) < 4


def test_a_drift_that_both_share_cancels():
    """The machine slows down fivefold meanwhile; the second case is 1 slower in every round."""
    first = [[10.0 * (1 + i / 5)] * 3 for i in range(20)]
    second = [[x + 1 for x in part] for part in first]
    difference, (low, high) = bootstrap_difference(first, second)
    assert (difference, low, high) == pytest.approx((1, 1, 1))


def test_the_same_seed_gives_the_same_interval():
    arguments = rounds(10), rounds(10.1, seed=1)
    assert bootstrap_difference(*arguments, seed=3) == bootstrap_difference(*arguments, seed=3)


@pytest.mark.parametrize(("first", "second"), [([[1]], [[1], [2]]), ([], [])])
def test_rounds_must_pair(first, second):
    with pytest.raises(ValueError, match="cannot be paired"):
        bootstrap_difference(first, second)


def test_a_line_is_found_again():
    points = [(size, 20 + size / 50e3) for size in (8, 1024, 2**20, 2**26)]  # 20 us and 50 GB/s
    alpha, beta = fit_alpha_beta(points)
    assert alpha == pytest.approx(20, rel=1e-6)
    assert beta == pytest.approx(50, rel=1e-6)


@pytest.mark.parametrize("points", [[], [(8, 1.0)], [(8, 1.0), (8, 2.0)], [(8, 2.0), (1024, 1.0)]])
def test_points_without_a_positive_slope_give_no_line(points):
    assert fit_alpha_beta(points) is None
