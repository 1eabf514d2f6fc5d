"""What endpoints read from a request, and what they answer."""

import json

import pytest
from starlette.requests import Request

from pathlab.errors import StoreError, UsageError
from pathlab.serve.answers import RequestRefused, answer_json, describe_refusal, read_count, read_number


def ask_with(query: str) -> Request:
    return Request({"type": "http", "query_string": query.encode(), "headers": []})


@pytest.mark.parametrize(
    ("given", "number"), [("1", 1.0), ("-2.5", -2.5), ("1e1", 10.0), ("", 7.0), (None, 7.0)]
)
def test_a_number_is_read(given: str | None, number: float) -> None:
    request = ask_with("" if given is None else f"n={given}")
    assert read_number(request, "n", low=-3, high=10, default=7) == number


@pytest.mark.parametrize("given", ["x", "nan", "inf", "-inf", "1e999", "11", "-4", "1,5", "0x1", "9" * 400])
def test_a_number_out_of_range_is_refused_with_its_range(given: str) -> None:
    for read in (read_number, read_count):
        with pytest.raises(RequestRefused, match=r"'n' is a (whole )?number from -3 to 10") as raised:
            read(ask_with(f"n={given}"), "n", low=-3, high=10)
        assert raised.value.status == 400


def test_a_count_has_no_fraction_and_what_is_missing_is_named() -> None:
    assert read_count(ask_with("n=3"), "n", low=0, high=5) == 3
    with pytest.raises(RequestRefused, match="'n' is a whole number from 0 to 5"):
        read_count(ask_with("n=2.5"), "n", low=0, high=5)
    with pytest.raises(RequestRefused, match="'n' is missing in the address"):
        read_number(ask_with("m=1"), "n", low=0, high=1)


def test_json_holds_any_text_and_no_infinity() -> None:
    text = "\ud800 é </script> \u2028"
    answer = answer_json({"a": text})
    assert json.loads(bytes(answer.body))["a"].endswith(" é </script> \u2028")
    assert answer.media_type == "application/json"
    for value in (float("nan"), float("inf")):
        with pytest.raises(ValueError, match="JSON"):
            answer_json([value])


def test_an_error_of_the_results_is_a_conflict_and_a_wrong_argument_a_wrong_request() -> None:
    assert describe_refusal(UsageError("x", hint="y")).status == 400
    found = describe_refusal(StoreError("x", hint="y"))
    assert (found.status, found.message, found.hint) == (409, "x", "y")
