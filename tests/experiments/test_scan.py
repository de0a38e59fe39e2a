from __future__ import annotations

from dataclasses import replace

import pytest

from kvtop.experiments.calibrate import Calibration
from kvtop.experiments.earlier import Earlier
from tests.experiments.chat_server import (
    CUT,
    HTML,
    NO_CHOICES,
    UNAUTHORIZED,
    ChatServer,
    Fault,
    refusal,
    serving,
    too_many,
)
from tests.experiments.scanning import Naps, plan, scan


async def test_lengths_ascend_with_repeats_inside_and_pairs_together(server: ChatServer) -> None:
    outcome, log = await scan(server, plan(400, 900, repeats=2, prefix="both"))
    assert outcome.end == "complete"
    assert log.sent == [
        ("cold", "400/cold/1"),
        ("reused", "400/reused/1"),
        ("cold", "400/cold/2"),
        ("reused", "400/reused/2"),
        ("cold", "900/cold/1"),
        ("reused", "900/reused/1"),
        ("cold", "900/cold/2"),
        ("reused", "900/reused/2"),
    ]
    assert [record.tag for record in log.records[:2]] == ["calibrate", "calibrate"]
    assert log.analyses == 8
    assert log.steps[-1][:2] == (8, 8)


async def test_reused_alone_is_primed_each_time_with_one_token(server: ChatServer) -> None:
    _, log = await scan(server, plan(400, repeats=2, prefix="reused"))
    assert log.sent == [
        ("prime", "400/reused/1"),
        ("reused", "400/reused/1"),
        ("prime", "400/reused/2"),
        ("reused", "400/reused/2"),
    ]
    assert [chat.max_tokens for chat in server.chats[2:]] == [1, 4, 1, 4]


async def test_prompts_have_the_wanted_length_cold_ones_share_nothing_reused_ones_nearly_all() -> None:
    with serving(tokens_per_word=1.31) as server:
        _, log = await scan(server, plan(500, 1500, repeats=2, prefix="both"))
    for record in log.records[2:]:
        assert record.prompt_tokens is not None
        assert record.target_tokens is not None
        assert record.cached_tokens is not None
        assert abs(record.prompt_tokens - record.target_tokens) <= record.target_tokens * 0.01
        if record.tag == "cold":
            assert record.cached_tokens == 0
        else:
            assert record.shared_prefix_tokens is not None
            assert record.cached_tokens >= (record.shared_prefix_tokens - 60) / 1.31 > 200


async def test_ids_are_unique_ascending_and_announced_before_the_record(server: ChatServer) -> None:
    _, log = await scan(server, plan(400, repeats=3, prefix="both"))
    ids = [record.id for record in log.records]
    assert ids == sorted(set(ids))
    assert ids == [entry["request"] for entry in log.announced]
    assert len({chat.prompt for chat in server.chats}) == len(ids)


async def test_a_resumed_run_goes_on_counting_after_a_request_that_was_only_announced() -> None:
    calibration = Calibration(1.0, 45, 100.0, decode_tok_s=50.0)
    earlier = Earlier({"400/cold/1"}, requests_sent=4, calibration=calibration)
    with serving() as server, serving() as fresh:
        _, first = await scan(server, plan(400, repeats=3))
        _, resumed = await scan(fresh, plan(400, repeats=3), earlier=earlier)
        seen = {chat.prompt for chat in server.chats[:4]}
        assert not seen & {chat.prompt for chat in fresh.chats}
    assert [record.id for record in first.records][:4] == ["00001", "00002", "00003", "00004"]
    assert [(r.id, r.cell) for r in resumed.records] == [("00005", "400/cold/2"), ("00006", "400/cold/3")]


async def test_a_resumed_pair_is_primed_when_its_cold_half_belongs_to_an_earlier_session(
    server: ChatServer,
) -> None:
    earlier = Earlier({"400/cold/1"}, requests_sent=3, calibration=Calibration(1.0, 45, 100.0))
    _, log = await scan(server, plan(400, prefix="both"), earlier=earlier)
    assert log.sent == [("prime", "400/reused/1"), ("reused", "400/reused/1")]


async def test_a_failed_cold_half_does_not_pass_for_a_primed_prefix(server: ChatServer) -> None:
    server.faults[3] = CUT
    _, log = await scan(server, plan(400, prefix="both"))
    assert log.sent == [("cold", "400/cold/1"), ("prime", "400/reused/1"), ("reused", "400/reused/1")]
    assert [failure.code if (failure := r.failure) else None for r in log.records[2:]] == [
        "truncated",
        None,
        None,
    ]


async def test_a_length_over_the_context_ends_with_the_limit_and_the_run_goes_on() -> None:
    with serving(context_tokens=1000, lists_context=False) as server:
        outcome, log = await scan(server, plan(400, 2000, 3000, repeats=2))
    assert outcome.end == "complete"
    assert [cell for _, cell in log.sent] == ["400/cold/1", "400/cold/2", "2000/cold/1"]
    over = [note for note in log.notes if note["code"] == "over_context"]
    assert [(note["target_tokens"], note["limit_tokens"]) for note in over] == [(2000, 1000), (3000, 1000)]
    assert "the server's limit is 1,000 tokens" in over[0]["text"]
    assert over[1]["text"] == "3,000 tokens were not sent: the server's limit is 1,000 tokens."


async def test_a_server_that_names_no_limit_is_asked_each_length(server: ChatServer) -> None:
    too_long = refusal(400, "context_length_exceeded")
    server.faults.update({3: too_long, 4: too_long})
    _, log = await scan(server, plan(2000, 3000, repeats=2))
    assert [cell for _, cell in log.sent] == ["2000/cold/1", "3000/cold/1"]


async def test_lengths_above_the_profiles_context_are_not_sent(server: ChatServer) -> None:
    outcome, log = await scan(server, plan(400, 2000, 2100), endpoint={"context_window": 2000})
    assert outcome.end == "complete"
    assert [cell for _, cell in log.sent] == ["400/cold/1", "2000/cold/1"]
    (note,) = log.notes
    assert (note["code"], note["target_tokens"], note["limit_tokens"]) == ("over_context", 2100, 2000)
    assert "the profile's context_window is 2,000 tokens" in note["text"]


async def test_a_model_that_the_server_does_not_list_is_measured_with_a_warning(server: ChatServer) -> None:
    outcome, log = await scan(server, plan(400), endpoint={"model": "other-1b"})
    assert outcome.end == "complete"
    assert log.codes == ["model_not_listed"]
    assert log.notes[0]["text"].startswith("other-1b is not among the server's models (counted-1b)")


async def test_a_resumed_run_says_nothing_twice_of_lengths_that_it_left_out() -> None:
    with serving(template_tokens=300) as server:
        _, log = await scan(server, plan(200, 600), earlier=Earlier(ended_lengths={200}))
    assert log.notes == []


async def test_over_context_in_the_middle_does_not_end_shorter_lengths_that_follow_in_pairs() -> None:
    with serving(context_tokens=1000, lists_context=False) as server:
        _, log = await scan(server, plan(400, 2000, prefix="reused"))
    assert log.sent == [("prime", "400/reused/1"), ("reused", "400/reused/1"), ("prime", "2000/reused/1")]


@pytest.mark.parametrize("lists_context", [True, False])
async def test_a_target_that_is_the_whole_context_is_shortened_by_at_most_one_percent(
    lists_context: bool,
) -> None:
    with serving(context_tokens=2000, lists_context=lists_context) as server:
        outcome, log = await scan(server, plan(2000, repeats=2, max_tokens=8))
    assert outcome.end == "complete"
    measured = [record for record in log.records if record.cell.startswith("2000/") and record.measured]
    assert len(measured) == 2
    assert all(1980 <= (record.prompt_tokens or 0) <= 1992 for record in measured)
    assert "over_context" not in log.codes


async def test_the_profiles_context_counts_where_the_server_names_none(server: ChatServer) -> None:
    _, log = await scan(server, plan(2000, max_tokens=8), endpoint={"context_window": 2000})
    assert 1980 <= (log.records[-1].prompt_tokens or 0) <= 1992


async def test_a_length_shorter_than_the_template_is_skipped_with_a_note() -> None:
    with serving(template_tokens=300) as server:
        outcome, log = await scan(server, plan(200, 600))
    assert outcome.end == "complete"
    assert log.sent == [("cold", "600/cold/1")]
    assert [(note["code"], note["target_tokens"]) for note in log.notes] == [("length_too_short", 200)]


async def test_429_waits_as_long_as_told_then_measures_and_keeps_the_refused_request(
    server: ChatServer,
) -> None:
    naps = Naps()
    server.faults[3] = too_many("7")
    outcome, log = await scan(server, plan(400, repeats=2), sleep=naps)
    assert outcome.end == "complete"
    assert naps.asked_s == [7.0]
    assert log.sent == [("cold", "400/cold/1"), ("cold", "400/cold/1"), ("cold", "400/cold/2")]
    assert [record.measured for record in log.records[2:]] == [False, True, True]
    assert log.records[2].retry_after_s == 7.0
    assert "Trying again in 7 s" in next(note["text"] for note in log.notes if note["code"] == "waiting")


@pytest.mark.parametrize(("told", "waited"), [(None, 5.0), ("0", 0.5), ("3600", 60.0)])
async def test_429_waits_bounded(server: ChatServer, told: str | None, waited: float) -> None:
    naps = Naps()
    server.faults[3] = too_many(told)
    await scan(server, plan(400), sleep=naps)
    assert naps.asked_s == [waited]


async def test_a_server_that_stays_full_is_asked_three_times_a_cell(server: ChatServer) -> None:
    naps = Naps()
    server.faults.update({number: refusal(503, "Model is loading") for number in (3, 4, 5)})
    outcome, log = await scan(server, plan(400, repeats=2), sleep=naps)
    assert outcome.end == "complete"
    assert [record.measured for record in log.records[2:]] == [False, False, False, True]
    assert len(naps.asked_s) == 2


async def test_a_prime_that_is_refused_for_now_is_asked_again_before_the_reused_request(
    server: ChatServer,
) -> None:
    server.faults[3] = too_many("1")
    _, log = await scan(server, plan(400, prefix="reused"))
    assert [tag for tag, _ in log.sent] == ["prime", "prime", "reused"]
    assert log.records[-1].measured


async def test_the_calibration_waits_for_a_429_too(server: ChatServer) -> None:
    naps = Naps()
    server.faults[1] = too_many("2")
    outcome, log = await scan(server, plan(400), sleep=naps)
    assert outcome.end == "complete"
    assert naps.asked_s == [2.0]
    assert log.records[-1].prompt_tokens == 400


async def test_three_unusable_answers_in_a_row_end_the_run(server: ChatServer) -> None:
    server.faults.update(dict.fromkeys((4, 5, 6), UNAUTHORIZED))
    outcome, log = await scan(server, plan(400, repeats=6))
    assert outcome.end == "refused"
    assert outcome.failure is not None
    assert outcome.failure.code == "auth"
    assert len(log.sent) == 4


async def test_unusable_answers_that_are_not_in_a_row_end_nothing(server: ChatServer) -> None:
    server.faults.update(dict.fromkeys((3, 4, 6, 7), UNAUTHORIZED))
    outcome, log = await scan(server, plan(400, repeats=6))
    assert outcome.end == "complete"
    assert [record.measured for record in log.records[2:]] == [False, False, True, False, False, True]


@pytest.mark.parametrize(
    ("fault", "code"),
    [(UNAUTHORIZED, "auth"), (HTML, "not_openai"), (NO_CHOICES, "not_openai"), (CUT, "truncated")],
)
async def test_an_endpoint_that_cannot_be_used_ends_the_run_at_its_first_answer(
    server: ChatServer, fault: Fault, code: str
) -> None:
    server.fault = fault
    outcome, log = await scan(server, plan(400))
    assert outcome.end == "refused"
    assert outcome.failure is not None
    assert outcome.failure.code == code
    assert len(log.records) == 1


@pytest.mark.parametrize("fault", [UNAUTHORIZED, HTML, refusal(404, "Not Found")])
async def test_a_server_that_lists_no_models_is_measured_all_the_same(
    server: ChatServer, fault: Fault
) -> None:
    server.models_fault = fault
    outcome, _ = await scan(server, plan(400))
    assert outcome.end == "complete"


async def test_nobody_there_is_known_before_anything_is_sent() -> None:
    with serving() as server:
        pass
    outcome, log = await scan(server, plan(400))
    assert outcome.end == "refused"
    assert outcome.failure is not None
    assert outcome.failure.code == "refused"
    assert log.records == []


async def test_without_usage_the_servers_own_tokenizer_is_asked() -> None:
    with serving(reports_usage=False, counts_tokens=True, tokens_per_word=1.5) as server:
        _, log = await scan(server, plan(900))
        assert abs(server.tokens_of(server.chats[-1].prompt) - 900) <= 9
    assert log.codes == []
    assert log.records[-1].prompt_tokens is None


async def test_without_any_count_lengths_are_assumed_and_said_so() -> None:
    with serving(reports_usage=False) as server:
        outcome, log = await scan(server, plan(900))
    assert outcome.end == "complete"
    assert log.codes == ["no_usage"]
    assert "assumed" in log.notes[0]["text"]
    assert log.records[-1].measured
    assert log.records[-1].prompt_tokens is None


async def test_bodies_are_kept_only_when_asked_for(server: ChatServer) -> None:
    _, plain = await scan(server, plan(400))
    _, full = await scan(server, replace(plan(400), keep_bodies=True))
    assert all(not record.body and record.answer_text is None for record in plain.records)
    assert full.records[-1].body["messages"][0]["content"] == server.chats[-1].prompt
    assert (full.records[-1].answer_text or "").startswith("word")


async def test_what_a_resume_needs_is_remembered(server: ChatServer) -> None:
    _, log = await scan(server, plan(400))
    kept = Calibration.from_json(log.context)
    assert kept is not None
    assert kept.tokens_per_word == pytest.approx(1.0, abs=0.01)
    assert log.context["answer_tokens"] == 4
