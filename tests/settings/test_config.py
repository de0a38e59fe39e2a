from __future__ import annotations

from pathlib import Path

import pytest

from kvtop.model.failure import Failure, KvtopError
from kvtop.settings.config import Settings, load_settings, settings_without_file
from kvtop.settings.keys import KEYS

FULL = """\
profile = "lab"
[runs]
dir = "~/measured"
[sampling]
interval = "50ms"
[requests]
timeout = "60s"
max_tokens = 128
temperature = 0.5
[scan]
lengths = ["16k", 4096]
repeats = 5
prefix = "both"
[ui]
theme = "light"
ascii = true
mouse = true
max_fps = 5
[keys]
quit = "x, ctrl+x"
scan = "?"
"""


@pytest.fixture
def environ(tmp_path: Path) -> dict[str, str]:
    return {"HOME": "/home/ada", "XDG_CONFIG_HOME": str(tmp_path)}


def write(environ: dict[str, str], content: str) -> Path:
    path = Path(environ["XDG_CONFIG_HOME"], "kvtop", "config.toml")
    path.parent.mkdir(exist_ok=True)
    path.write_text(content)
    return path


def refused(environ: dict[str, str], **flags: object) -> Failure:
    with pytest.raises(KvtopError) as caught:
        load_settings(environ, {name.replace("__", "."): value for name, value in flags.items()})
    return caught.value.failure


def test_without_a_file_all_are_defaults(environ: dict[str, str]) -> None:
    settings = load_settings(environ)
    assert settings.profile is None
    assert settings.runs.dir == Path("/home/ada/.local/share/kvtop/runs")
    assert settings.sampling.interval_s == 0.1
    assert (settings.requests.timeout_s, settings.requests.max_tokens) == (300.0, None)
    assert settings.scan.lengths == (4096, 16384, 32768, 65536, 131072)
    assert {settings.origin_of(key.name) for key in KEYS} == {"default"}


def test_file(environ: dict[str, str]) -> None:
    path = write(environ, FULL)
    settings = load_settings(environ)
    assert settings.profile == "lab"
    assert settings.runs.dir == Path("/home/ada/measured")
    assert settings.sampling.interval_s == 0.05
    assert (settings.requests.timeout_s, settings.requests.max_tokens) == (60.0, 128)
    assert settings.requests.temperature == 0.5
    assert (settings.scan.lengths, settings.scan.repeats, settings.scan.prefix) == ((4096, 16384), 5, "both")
    assert settings.keys == {"quit": "x,ctrl+x", "scan": "?"}
    assert settings.origin_of("keys.scan") == f"file {path}:21"
    assert settings.origin_of("sampling.interval") == f"file {path}:5"
    assert settings.origin_of("scan.lengths") == f"file {path}:11"


GIVEN = {
    "profile": ("gpu-1", "gpu-1"),
    "runs.dir": ("/data", Path("/data")),
    "sampling.interval": ("200ms", 0.2),
    "requests.timeout": ("2m", 120.0),
    "requests.max_tokens": ("7", 7),
    "requests.temperature": ("1.5", 1.5),
    "scan.lengths": ("8k,2k,8k", (2048, 8192)),
    "scan.repeats": ("2", 2),
    "scan.prefix": ("reused", "reused"),
    "ui.theme": ("ansi", "ansi"),
    "ui.ascii": ("off", False),
    "ui.mouse": ("no", False),
    "ui.max_fps": ("10", 10),
}


def value_of(settings: Settings, name: str) -> object:
    values = {
        "profile": settings.profile,
        "runs.dir": settings.runs.dir,
        "sampling.interval": settings.sampling.interval_s,
        "requests.timeout": settings.requests.timeout_s,
        "requests.max_tokens": settings.requests.max_tokens,
        "requests.temperature": settings.requests.temperature,
        "scan.lengths": settings.scan.lengths,
        "scan.repeats": settings.scan.repeats,
        "scan.prefix": settings.scan.prefix,
        "ui.theme": settings.ui.theme,
        "ui.ascii": settings.ui.ascii,
        "ui.mouse": settings.ui.mouse,
        "ui.max_fps": settings.ui.max_fps,
    }
    return values[name]


@pytest.mark.parametrize("key", KEYS, ids=lambda key: key.name)
def test_flag_beats_variable_beats_file(environ: dict[str, str], key: object) -> None:
    name = next(k for k in KEYS if k is key).name
    variable = f"KVTOP_{name.upper().replace('.', '_')}"
    text, expected = GIVEN[name]
    write(environ, FULL)
    from_file = load_settings(environ)
    assert value_of(from_file, name) != expected

    from_variable = load_settings({**environ, variable: text})
    assert value_of(from_variable, name) == expected
    assert from_variable.origin_of(name) == f"env {variable}"

    from_flag = load_settings({**environ, variable: "nonsense/"}, {name: text})
    assert value_of(from_flag, name) == expected
    assert from_flag.origin_of(name).startswith("flag --")


def test_none_flag_and_empty_variable_are_not_given(environ: dict[str, str]) -> None:
    settings = load_settings({**environ, "KVTOP_PROFILE": ""}, {"profile": None, "scan.repeats": None})
    assert settings.origin_of("profile") == settings.origin_of("scan.repeats") == "default"


def test_flags_that_are_parsed_already(environ: dict[str, str]) -> None:
    flags = {
        "sampling.interval": 0.25,
        "scan.lengths": (100, 50),
        "requests.temperature": 0,
        "runs.dir": Path("x"),
    }
    settings = load_settings(environ, flags)
    assert settings.sampling.interval_s == 0.25
    assert settings.scan.lengths == (50, 100)
    assert settings.requests.temperature == 0.0
    assert settings.runs.dir == Path.cwd() / "x"


def test_a_flag_that_is_no_setting_is_a_mistake_of_the_caller(environ: dict[str, str]) -> None:
    with pytest.raises(KeyError, match="nonsense"):
        load_settings(environ, {"nonsense": 1})
    with pytest.raises(KeyError):
        load_settings(environ).origin_of("sampling.intervall")


@pytest.mark.parametrize(
    ("content", "line", "near"),
    [
        ("[sampling]\nintervall = 1\n", 2, "interval"),
        ("profil = 'x'\n", 1, "profile"),
        ("profile = 'x'\n\n[request]\ntimeout = 1\n", 3, "requests"),
        ("scan = { repeat = 3 }\n", 1, "repeats"),
        ("[requests]\n'max-tokens' = 3\n", 2, "max_tokens"),
    ],
)
def test_unknown_keys(environ: dict[str, str], content: str, line: int, near: str) -> None:
    path = write(environ, content)
    failure = refused(environ)
    assert failure.code == "unknown_key"
    assert f"{path}:{line}: " in failure.text
    assert failure.hint == f"Did you mean {near}?"


def test_an_unknown_key_like_no_other_gets_the_list(environ: dict[str, str]) -> None:
    write(environ, "[scan]\nzzz = 1\n")
    assert refused(environ).hint == "Valid keys in [scan]: lengths, prefix, repeats."


@pytest.mark.parametrize(
    ("content", "line", "words"),
    [
        ("profile = 3\n", 1, "profile is 3"),
        ("profile = '../x'\n", 1, "not a name"),
        ("sampling = 1\n", 1, "must be a table"),
        ("[[scan]]\nrepeats = 1\n", 1, "must be a table"),
        ("[sampling]\n\ninterval = '10 parsecs'\n", 3, "not a duration"),
        ("[sampling]\ninterval = 0\n", 2, "longer than 0"),
        ("[sampling]\ninterval = true\n", 2, "sampling.interval"),
        ("[sampling]\ninterval = inf\n", 2, "sampling.interval"),
        ("[sampling]\ninterval = 2024-01-01\n", 2, "sampling.interval"),
        ("[requests]\nmax_tokens = 0\n", 2, "at least 1"),
        ("[requests]\nmax_tokens = 1.5\n", 2, "whole number"),
        ("[requests]\nmax_tokens = true\n", 2, "whole number"),
        ("[requests]\ntemperature = -1\n", 2, "at least 0"),
        ("[requests]\ntemperature = nan\n", 2, "at least 0"),
        ("[scan]\nlengths = []\n", 2, "lengths in tokens"),
        ("[scan]\nlengths = ['4k', 'x']\n", 2, "'x' is not a number of tokens"),
        ("[scan]\nlengths = '4k,,8k'\n", 2, "not a number of tokens"),
        ("[scan]\nprefix = 'colt'\n", 2, "did you mean cold?"),
        ("[runs]\ndir = 'here'\n", 2, "absolute"),
        ("[runs]\ndir = ''\n", 2, "path"),
        ("[ui]\nascii = 'perhaps'\n", 2, "true or false"),
        ("[ui]\nmouse = 2\n", 2, "true or false"),
        ("[ui]\nmax_fps = 61\n", 2, "at most 60"),
        ("[ui]\ntheme = '../dark'\n", 2, "not a name"),
        ('[runs]\ndir = "a\\u0000b"\n', 2, "path"),
    ],
)
def test_bad_values_name_file_line_and_key(
    environ: dict[str, str], content: str, line: int, words: str
) -> None:
    path = write(environ, content)
    failure = refused(environ)
    assert failure.code == "bad_value"
    assert f"{path}:{line}: " in failure.text
    assert words in failure.text


def test_bad_variable_and_bad_flag_name_themselves(environ: dict[str, str]) -> None:
    failure = refused({**environ, "KVTOP_SCAN_REPEATS": "many"})
    assert failure.text == "KVTOP_SCAN_REPEATS is 'many', but must be a whole number of at least 1."
    assert refused(environ, scan__lengths="4q").text.startswith("--lengths has no usable value: '4q' is not")


@pytest.mark.parametrize("value", ["9" * 5000, "٣", "1e5", "-1", " ", "\x1b[31m", "1_0", "0x10"])
def test_hostile_numbers(environ: dict[str, str], value: str) -> None:
    failure = refused({**environ, "KVTOP_REQUESTS_MAX_TOKENS": value})
    assert failure.code == "bad_value"
    assert "\x1b" not in failure.text
    assert len(failure.text) < 200


def test_syntax_error_and_dangling_link(environ: dict[str, str]) -> None:
    path = write(environ, "[scan\n")
    assert refused(environ).code == "bad_toml"
    path.unlink()
    path.symlink_to("gone.toml")
    assert refused(environ).code == "bad_toml"


def test_an_app_can_start_beside_a_broken_file(environ: dict[str, str]) -> None:
    write(environ, "[scan\n")
    settings = settings_without_file({**environ, "KVTOP_UI_THEME": "light"}, {"ui.max_fps": 4})
    assert (settings.ui.theme, settings.ui.max_fps, settings.scan.repeats) == ("light", 4, 3)
    assert settings.keys == {}
