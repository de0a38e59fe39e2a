"""Which kind of failure a refusal is, from its status, its codes and its words."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from kvtop.api.context_limit import ContextLimit, find_context_limit

if TYPE_CHECKING:
    from kvtop.api.error_body import ErrorBody

_QUOTA_CODES = {
    "insufficient_quota", "credit_balance_exhausted", "enforced_spend_limit_reached", "billing_error",
    "billing_hard_limit_reached", "arrearage", "insufficient_user_quota", "insufficient_balance",
    "exceeded_current_quota_error", "1113", "1308", "1310", "minimax:1008",
}  # fmt: skip
_QUOTA_WORDS = re.compile(
    r"insufficient (?:account )?(?:balance|quota|credits?|funds)|exceeded your current quota|arrears"
    r"|credit balance is too low|额度已用尽|余额不足|欠费",
    re.IGNORECASE,
)
_AUTH_CODES = {
    "invalid_api_key", "invalidapikey", "api_key_invalid", "authentication_error", "permission_error",
    "invalid_authentication_error", "unauthorized", "1001", "1002", "minimax:1004", "minimax:2049",
}  # fmt: skip
_AUTH_WORDS = re.compile(r"\bapi[ _-]?key\b|无效的令牌|该令牌(?:状态不可用|已过期)", re.IGNORECASE)
_MODEL_CODES = {"model_not_found", "modelnotfound", "model_not_exist", "1211"}
_MODEL_WORDS = re.compile(
    r"model\b.{0,120}?\b(?:does not exist|not exist|not found|is unknown|is not available)"
    r"|not found the model|(?:no such|unknown|invalid) model|not a valid model|模型不存在|无可用渠道",
    re.IGNORECASE | re.DOTALL,
)
_RATE_CODES = {
    "rate_limit_error", "rate_limit_exceeded", "rate_limit_reached_error", "resource_exhausted",
    "1302", "1303", "1305", "minimax:1002", "minimax:1039",
}  # fmt: skip
_OVERLOAD_CODES = {"overloaded_error", "overloaded", "engine_overloaded_error", "unavailable_error"}
_CONTEXT_CODES = {"context_length_exceeded", "exceed_context_size_error", "1261"}


def context_limit_of(body: ErrorBody) -> ContextLimit | None:
    """Return what `body` says about the context length, None when it is about something else."""
    told = body.context or find_context_limit(body.message)
    return told or (ContextLimit() if body.codes & _CONTEXT_CODES else None)


def classify(status: int | None, body: ErrorBody) -> str:
    """Return the failure code of a refusal. `status` is None (or 200) inside a stream that began well."""
    if status is None or status < 300:
        status = body.status
    by_words = _by_words(status, body)
    return by_words or _by_status(status, body)


def _by_words(status: int | None, body: ErrorBody) -> str | None:
    codes, text = body.codes, body.message
    is_rate = bool(codes & _RATE_CODES)
    if codes & _QUOTA_CODES or (_QUOTA_WORDS.search(text) and not is_rate):
        return "quota"
    if is_rate:
        return "rate_limited"
    if status not in (401, 403, 429) and context_limit_of(body) is not None:
        return "context_length"
    if codes & _AUTH_CODES or (status in (400, None) and _AUTH_WORDS.search(text)):
        return "auth"
    if status not in (401, 403, 429) and (codes & _MODEL_CODES or _MODEL_WORDS.search(text)):
        return "model_not_found"
    return "overloaded" if codes & _OVERLOAD_CODES else None


def _by_status(status: int | None, body: ErrorBody) -> str:
    if status is None:
        return "not_openai" if body.is_html else "in_stream_error"
    if status == 403 and body.is_html:
        return "not_openai"
    known = {401: "auth", 403: "auth", 402: "quota", 404: "path_not_found", 405: "path_not_found"}
    known |= {413: "request_too_large", 429: "rate_limited", 503: "overloaded", 529: "overloaded"}
    if status in known:
        return known[status]
    return "server_error" if status >= 500 else "bad_request"
