"""Reading the `rate` of a port: what kernels and vendors print, and what must not be taken for a capacity."""

import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nic_metrics import LinkRate, LinkRateError, LinkRateProblem, NicMetricsError, parse_link_rate

# Texts that machines print, with their capacity in bytes per second and direction.
PRINTED = [
    ("800 Gb/sec (4X XDR)", 100_000_000_000, 4, "XDR"),
    ("400 Gb/sec (4X NDR)", 50_000_000_000, 4, "NDR"),
    ("200 Gb/sec (2X NDR)", 25_000_000_000, 2, "NDR"),
    ("200 Gb/sec (4X HDR)", 25_000_000_000, 4, "HDR"),
    ("100 Gb/sec (4X EDR)", 12_500_000_000, 4, "EDR"),
    ("25 Gb/sec (1X EDR)", 3_125_000_000, 1, "EDR"),
    ("56 Gb/sec (4X FDR)", 7_000_000_000, 4, "FDR"),
    ("14 Gb/sec (1X FDR)", 1_750_000_000, 1, "FDR"),
    ("40 Gb/sec (4X FDR10)", 5_000_000_000, 4, "FDR10"),
    ("40 Gb/sec (4X QDR)", 5_000_000_000, 4, "QDR"),
    ("120 Gb/sec (12X QDR)", 15_000_000_000, 12, "QDR"),
    ("5 Gb/sec (1X DDR)", 625_000_000, 1, "DDR"),
    ("10 Gb/sec (4X SDR)", 1_250_000_000, 4, "SDR"),
    ("10 Gb/sec (4X)", 1_250_000_000, 4, None),
    ("2.5 Gb/sec (1X SDR)", 312_500_000, 1, "SDR"),
    ("2.5 Gb/sec (1X)", 312_500_000, 1, None),
]


@pytest.mark.parametrize(("text", "bytes_per_second", "lanes", "speed"), PRINTED)
def test_d04_d24_what_machines_print_is_read(text: str, bytes_per_second: int, lanes: int, speed: str | None) -> None:
    rate = parse_link_rate(text)
    assert rate == LinkRate(bytes_per_second * 8, lanes, speed)
    assert rate.bytes_per_second == bytes_per_second


@pytest.mark.parametrize(
    ("text", "bits_per_second"),
    [
        ("400 Gb/s", 400_000_000_000),
        ("400 Gb/sec", 400_000_000_000),
        ("200 gb/sec", 200_000_000_000),
        ("100000 Mb/sec", 100_000_000_000),
        ("100Gb/sec", 100_000_000_000),
    ],
)
def test_other_spellings_of_the_unit_are_read_and_say_nothing_of_the_lanes(text: str, bits_per_second: int) -> None:
    assert parse_link_rate(text) == LinkRate(bits_per_second, lanes=None, speed=None)


@pytest.mark.parametrize(
    ("text", "lanes", "speed"),
    [
        ("1600 Gb/sec (8X XDR)", 8, "XDR"),
        ("1600 Gb/sec (8x xdr)", 8, "xdr"),
        ("1600 Gb/sec (4X speed-512)", 4, "speed-512"),
        ("1600 Gb/sec (four lanes)", None, None),
        ("1600 Gb/sec (4X XDR or so)", None, None),
        ("1600 Gb/sec ()", None, None),
    ],
)
def test_d24_the_number_counts_whatever_stands_in_the_brackets(text: str, lanes: int | None, speed: str | None) -> None:
    assert parse_link_rate(text) == LinkRate(1_600_000_000_000, lanes, speed)


@pytest.mark.parametrize("around", ["{}", "{}\n", "{}\n\n", "{}\r\n", " {} \n"])
def test_line_ends_make_no_difference(around: str) -> None:
    assert parse_link_rate(around.format("400 Gb/sec (4X NDR)")) == LinkRate(400_000_000_000, 4, "NDR")


@pytest.mark.parametrize("text", ["", "\n", " \t\r\n"])
def test_a_driver_that_wrote_nothing_is_told_apart(text: str) -> None:
    with pytest.raises(LinkRateError) as caught:
        parse_link_rate(text)
    assert caught.value.problem is LinkRateProblem.EMPTY


@pytest.mark.parametrize("text", ["0 GB/sec", "0 Gb/sec", "0 Gb/sec (4X)", "0.0 Gb/sec (1X SDR)", "0 Mb/s"])
def test_zero_is_an_unknown_capacity_and_not_a_rate(text: str) -> None:
    with pytest.raises(LinkRateError) as caught:
        parse_link_rate(text)
    assert caught.value.problem is LinkRateProblem.ZERO


@pytest.mark.parametrize("text", ["50 GB/sec", "50 gB/sec (4X NDR)"])
def test_a_rate_in_bytes_is_refused_and_not_guessed(text: str) -> None:
    with pytest.raises(LinkRateError) as caught:
        parse_link_rate(text)
    assert caught.value.problem is LinkRateProblem.BYTES


@pytest.mark.parametrize(
    "text",
    [
        "garbage",
        "N/A (no PMA)",
        "<unknown>",
        "-5 Gb/sec",
        "+5 Gb/sec",
        "1e3 Gb/sec",
        "1,5 Gb/sec",
        "2. Gb/sec",
        ".5 Gb/sec",
        "0x10 Gb/sec",
        "nan Gb/sec",
        "inf Gb/sec",
        "٤٠٠ Gb/sec",
        "400",
        "400 Gb",
        "400 b/sec",
        "400 Kb/sec",
        "400 Gb/minute",
        "400 Gb/sec (4X NDR",
        "400 Gb/sec (4X NDR) (4X NDR)",
        "400 Gb/sec 4X NDR",
        "rate: 400 Gb/sec (4X NDR)",
        "400 Gb/sec (4X NDR)\n200 Gb/sec (2X NDR)",
        "9" * 10_000 + " Gb/sec",
    ],
)
def test_anything_else_is_refused_whole(text: str) -> None:
    with pytest.raises(LinkRateError) as caught:
        parse_link_rate(text)
    assert caught.value.problem is LinkRateProblem.FORMAT
    assert caught.value.text == text


def test_the_error_says_what_was_read_and_what_is_readable() -> None:
    with pytest.raises(LinkRateError) as caught:
        parse_link_rate("0 GB/sec\n")
    assert str(caught.value) == (
        r"link rate '0 GB/sec\n' names no capacity (zero): "
        "readable is a number above 0 in Gb/sec or Mb/sec, such as '400 Gb/sec (4X NDR)'"
    )
    assert isinstance(caught.value, NicMetricsError)
    assert isinstance(caught.value, ValueError)


def test_a_long_text_does_not_make_a_long_message() -> None:
    with pytest.raises(LinkRateError) as caught:
        parse_link_rate("x" * 100_000)
    assert len(str(caught.value)) < 300


def test_the_error_survives_a_process_boundary() -> None:
    error = pickle.loads(pickle.dumps(LinkRateError("0 GB/sec", LinkRateProblem.ZERO)))  # noqa: S301
    assert (error.text, error.problem) == ("0 GB/sec", LinkRateProblem.ZERO)


@given(tenths=st.integers(min_value=1, max_value=10**9), lanes=st.sampled_from([1, 2, 4, 8, 12]))
def test_tenths_of_a_gigabit_are_exact(tenths: int, lanes: int) -> None:
    text = f"{tenths // 10}.{tenths % 10} Gb/sec ({lanes}X NDR)"
    assert parse_link_rate(text) == LinkRate(tenths * 100_000_000, lanes, "NDR")


@given(st.text() | st.from_regex(r"[0-9.eE+-]{1,12} ?[GMKT]?[bB]/s(ec)?.{0,8}"))
def test_any_text_is_a_rate_above_zero_or_a_link_rate_error(text: str) -> None:
    try:
        rate = parse_link_rate(text)
    except LinkRateError:
        return
    assert rate.bits_per_second > 0
