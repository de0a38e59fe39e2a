"""Finding out how many words make a prompt of a wanted length on this endpoint."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any, Self

from kvtop.api.calibration import ASSUMED_TEMPLATE_TOKENS, CALIBRATION_WORDS, LengthModel
from kvtop.api.prompts import PromptWriter
from kvtop.experiments.asking import Asker
from kvtop.experiments.budget import CAUTIOUS_TEMPLATE_TOKENS, CAUTIOUS_TOKENS_PER_WORD
from kvtop.experiments.log import ExperimentLog
from kvtop.experiments.outcome import Outcome
from kvtop.experiments.patience import Sleep, ask_patiently
from kvtop.experiments.request_record import Label
from kvtop.model.failure import Failure, KvtopError
from kvtop.model.plan import DEFAULT_MAX_TOKENS
from kvtop.model.record import RequestRecord


@dataclass(frozen=True, slots=True)
class Calibration:
    """What the calibration requests told about the endpoint. Kept in run.toml for a resumed run."""

    tokens_per_word: float
    template_tokens: float
    weight: float
    """What the fit weighs against later answers; 0 when the endpoint reports no usable counts and one
    token a word is taken for granted."""
    decode_tok_s: float | None = None
    cached_template_tokens: int | None = None
    """Cached tokens of a prompt that shares nothing but the chat template with the one before."""

    def length_model(self) -> LengthModel:
        """Return the model from words to tokens."""
        return LengthModel(self.tokens_per_word, self.template_tokens, self.weight)

    def to_json(self) -> dict[str, Any]:
        """Return a table for run.toml."""
        return {key: value for key, value in asdict(self).items() if value is not None}

    @classmethod
    def from_json(cls, table: Mapping[str, Any]) -> Self | None:
        """Rebuild a calibration from `to_json`; None when the table holds none."""
        if "tokens_per_word" not in table:
            return None
        return cls(**{name: table[name] for name in cls.__slots__ if name in table})


async def calibrate(
    asker: Asker, writer: PromptWriter, log: ExperimentLog, sleep: Sleep
) -> tuple[Calibration, Failure | None] | Outcome:
    """Send one prompt without words and one with a whole pass of them.

    Returns the calibration with the reason why it is only assumed, if it is; an outcome when the
    endpoint refused or the budget ended.
    """
    asker.lengths = LengthModel(CAUTIOUS_TOKENS_PER_WORD, CAUTIOUS_TEMPLATE_TOKENS)
    empty = await _ask(asker, writer, 0, log, sleep)
    if isinstance(empty, Outcome):
        return empty
    template_tokens = empty.prompt_tokens or ASSUMED_TEMPLATE_TOKENS
    asker.lengths = LengthModel(CAUTIOUS_TOKENS_PER_WORD, template_tokens)
    full = await _ask(asker, writer, CALIBRATION_WORDS, log, sleep)
    if isinstance(full, Outcome):
        return full
    calibration, failure = _read(empty, full)
    if failure is None:
        return calibration, None
    counted = await _count_instead(asker, writer)
    return (
        (replace(counted, decode_tok_s=calibration.decode_tok_s), None) if counted else (calibration, failure)
    )


async def _ask(
    asker: Asker, writer: PromptWriter, words: int, log: ExperimentLog, sleep: Sleep
) -> RequestRecord | Outcome:
    def affordable() -> bool:
        return asker.can_pay(asker.lengths.tokens_for(words), DEFAULT_MAX_TOKENS)

    async def ask() -> RequestRecord:
        label = Label(f"calibrate/{words}", "calibrate", DEFAULT_MAX_TOKENS, prompt_words=words)
        return await asker.ask(label, writer.cold(asker.next_number(), words))

    if not affordable():
        return Outcome("budget")
    record = await ask_patiently(ask, log, sleep, may_repeat=affordable)
    return record if record.failure is None else Outcome("refused", record.failure)


async def _count_instead(asker: Asker, writer: PromptWriter) -> Calibration | None:
    """Ask the server's own tokenizer, where it has one, because its answers carry no counts."""
    number = asker.next_number()
    counts = [await asker.count(writer.cold(number, words)) for words in (0, CALIBRATION_WORDS)]
    try:
        lengths = LengthModel.from_two(counts[0], CALIBRATION_WORDS, counts[1])
    except KvtopError:
        return None
    return Calibration(lengths.tokens_per_word, lengths.template_tokens, lengths.weight)


def _read(empty: RequestRecord, full: RequestRecord) -> tuple[Calibration, Failure | None]:
    failure: Failure | None = None
    try:
        lengths = LengthModel.from_two(empty.prompt_tokens, CALIBRATION_WORDS, full.prompt_tokens)
    except KvtopError as error:
        lengths, failure = LengthModel.assumed(), error.failure
    calibration = Calibration(
        lengths.tokens_per_word,
        lengths.template_tokens,
        lengths.weight,
        decode_tok_s=full.decode_tok_s,
        cached_template_tokens=full.cached_tokens,
    )
    return calibration, failure
