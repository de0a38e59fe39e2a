"""docs/profiles.md says what the code does."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from pathlib import Path

from kvtop.providers import key_files, profile_flags
from kvtop.providers.profile_file import CLAUDE_MODELS, KEYS, read_profile
from kvtop.providers.urls import PATH_NAMES
from kvtop.settings.config import load_settings
from kvtop.settings.keys import KEYS as SETTINGS

TEXT = (Path(__file__).resolve().parents[2] / "docs" / "profiles.md").read_text()
PROFILE, CONFIG = re.findall(r"```toml\n(.*?)```", TEXT, re.DOTALL)


def test_the_example_profile_is_valid_and_names_every_key(write: Callable[..., Path]) -> None:
    profile = read_profile(write(PROFILE, name="taotoken"))
    assert profile.flags == ()
    for name in (*KEYS, *PATH_NAMES, *CLAUDE_MODELS):
        assert re.search(rf"\b{name}\b", TEXT), name


def test_every_warning_is_listed() -> None:
    source = inspect.getsource(profile_flags) + inspect.getsource(key_files)
    codes = set(re.findall(r'Failure\.of\("([a-z_]+)"', source))
    assert codes
    assert codes <= set(re.findall(r"^\| `([a-z_]+)` \|", TEXT, re.MULTILINE))


def test_the_example_settings_are_valid_and_every_setting_is_listed(
    environ: dict[str, str], home: Path
) -> None:
    path = home / ".config/kvtop/config.toml"
    path.parent.mkdir(parents=True)
    path.write_text(CONFIG)
    settings = load_settings(environ)
    for key in SETTINGS:
        assert settings.origin_of(key.name).startswith("file ")
        assert f"| `{key.name}` | `{key.flag}` | `{key.variable}` |" in TEXT
