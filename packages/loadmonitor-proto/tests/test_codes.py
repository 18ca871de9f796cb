"""The words that end a stream."""

import pytest

from loadmonitor_proto import StreamError, StreamErrorCode, is_terminal

TERMINAL = {
    "INVALID_FIRST_FRAME": True,
    "INVALID_ARGUMENT": True,
    "PERMISSION_DENIED": True,
    "SESSION_REPLACED": False,
    "LEASE_EXPIRED": False,
    "RESOURCE_EXHAUSTED": False,
    "SHUTTING_DOWN": False,
}


def test_the_words_are_those_of_the_contract() -> None:
    assert {code.value for code in StreamErrorCode} == set(TERMINAL)


@pytest.mark.clause("END-3")
@pytest.mark.parametrize(("code", "terminal"), TERMINAL.items())
def test_only_a_request_that_would_fail_again_is_terminal(code: str, terminal: bool) -> None:
    assert is_terminal(code) is terminal


@pytest.mark.clause("END-3")
@pytest.mark.parametrize("code", ["", "QUOTA_EXCEEDED_IN_2031", "invalid_argument"])
def test_an_unknown_word_is_retryable(code: str) -> None:
    assert not is_terminal(code)


def test_a_code_goes_into_the_message_and_comes_out_as_its_word() -> None:
    error = StreamError.FromString(StreamError(code=StreamErrorCode.LEASE_EXPIRED).SerializeToString())
    assert error.code == StreamErrorCode.LEASE_EXPIRED
    assert StreamErrorCode(error.code) is StreamErrorCode.LEASE_EXPIRED
