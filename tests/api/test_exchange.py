import pytest

from kvtop.api.exchange import Exchange, ModelInfo, ModelList
from kvtop.model.usage import Usage


def exchange(
    completion_tokens: int | None, ttft_s: float | None, last_s: float | None, latency_s: float | None
) -> Exchange:
    usage = Usage(completion_tokens=completion_tokens)
    return Exchange(0.0, 9.0, ttft_s=ttft_s, last_token_s=last_s, latency_s=latency_s, usage=usage)


def test_speeds() -> None:
    measured = exchange(11, 1.0, 3.0, 4.0)
    assert measured.decode_tok_s == pytest.approx(5.0)
    assert measured.e2e_tok_s == pytest.approx(2.75)


@pytest.mark.parametrize(
    "measured",
    [
        exchange(None, 1.0, 3.0, None),
        exchange(11, None, None, None),
        exchange(1, 1.0, 3.0, None),
        exchange(11, 1.0, 1.0, 0.0),
        Exchange(0.0, 9.0, ttft_s=1.0, last_token_s=2.0, latency_s=2.0),
    ],
)
def test_speed_of_unknown_parts_is_unknown(measured: Exchange) -> None:
    assert measured.decode_tok_s is None
    assert measured.e2e_tok_s is None


def test_model_list() -> None:
    models = ModelList((ModelInfo("a", 10), ModelInfo("b")))
    assert models.ids == ("a", "b")
    assert models.context_of("a") == 10
    assert models.context_of("b") is None
    assert models.context_of("c") is None
