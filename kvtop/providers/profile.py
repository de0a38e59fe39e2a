"""What a profile says about a provider. Made by `profile_file.read_profile`."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from kvtop.model.endpoint import OPENAI_CHAT, EngineHints, Price

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from kvtop.model.failure import Failure
    from kvtop.model.secret import Secret


@dataclass(frozen=True, slots=True)
class KeySource:
    """Where the key is to be found: at most one field is set. All None means that no key is sent."""

    env: str | None = None
    """Name of an environment variable."""
    file: str | None = None
    """Path of a file that holds nothing but the key, as written in the profile."""
    command: tuple[str, ...] | None = None
    """Program and arguments that print the key."""
    literal: Secret | None = None
    """The key itself; accepted, and flagged."""


@dataclass(frozen=True, slots=True)
class DialectProfile:
    """Another dialect of the same provider: what differs from the profile itself."""

    base_url: str | None = None
    model: str | None = None
    paths: Mapping[str, str] = field(default_factory=dict)
    extra_body: Mapping[str, Any] | None = None
    """Sent instead of the profile's own; None sends the profile's."""


@dataclass(frozen=True, slots=True)
class ClaudeModels:
    """`[claude]`: what Claude Code is to use with this provider."""

    haiku_model: str | None = None
    sonnet_model: str | None = None
    opus_model: str | None = None
    fable_model: str | None = None
    subagent_model: str | None = None
    context_window: int | None = None
    """Context size to tell the client, in tokens."""


@dataclass(frozen=True, slots=True)
class Profile:
    """One provider or server."""

    name: str
    base_url: str
    model: str
    dialect: str = OPENAI_CHAT
    key: KeySource = KeySource()
    context_window: int | None = None
    """Longest prompt and answer together, in tokens."""
    paths: Mapping[str, str] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    extra_body: Mapping[str, Any] = field(default_factory=dict)
    price: Price | None = None
    dialects: Mapping[str, DialectProfile] = field(default_factory=dict)
    claude: ClaudeModels = ClaudeModels()
    engine: EngineHints = field(default_factory=EngineHints)
    verify_tls: bool = True
    path: Path | None = None
    """The file it was read from."""
    flags: tuple[Failure, ...] = ()
    """What works but deserves a warning: `literal_key`, `key_mode`, `plain_http`, `tls_unverified`,
    `base_url_version`, `name_differs`."""
