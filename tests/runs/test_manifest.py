from __future__ import annotations

import stat
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kvtop.model.endpoint import Endpoint
from kvtop.model.failure import KvtopError
from kvtop.model.plan import ScanPlan
from kvtop.model.secret import Secret
from kvtop.runs.manifest import Manifest, endpoint_table, read_manifest, write_manifest
from tests.runs.samples import MANIFEST, TS

if TYPE_CHECKING:
    from kvtop.runs.layout import RunFolder

KEY = "sk-very-secret-0123456789"
ENDPOINT = Endpoint(
    f"https://user:{KEY}@api.example/v1?api_key={KEY}#{KEY}",
    "Qwen/Qwen3-8B",
    name="lab",
    key=Secret(KEY),
    key_origin="env LAB_KEY",
    headers={"Authorization": f"Bearer {KEY}"},
)


def refusal(folder: RunFolder) -> tuple[str, str]:
    with pytest.raises(KvtopError) as caught:
        read_manifest(folder)
    return caught.value.failure.code, caught.value.failure.text


def full() -> Manifest:
    return replace(
        MANIFEST,
        state="failed",
        ended_ts=TS + 60,
        plan=ScanPlan().to_json(),
        endpoint=endpoint_table(ENDPOINT),
        demo="paged",
        host={"cpus": 2, "hostname": "gpu-07"},
        versions={"kvtop": "0.1.0"},
        clock={"wall_ts": TS, "monotonic_s": 12.5},
        context={"length_model": {"slope": 1.0, "intercept": 12.25}, "windows": [[1.0, 2.0]]},
    )


def test_what_is_written_is_read(folder: RunFolder) -> None:
    write_manifest(folder, full())
    assert read_manifest(folder) == full()
    assert ScanPlan.from_json(read_manifest(folder).plan) == ScanPlan()


def test_the_file_is_private_and_alone(folder: RunFolder) -> None:
    write_manifest(folder, MANIFEST)
    write_manifest(folder, full())
    assert [path.name for path in folder.path.iterdir()] == ["run.toml"]
    assert stat.S_IMODE(folder.run_toml.stat().st_mode) == 0o600


def test_none_is_left_out(folder: RunFolder) -> None:
    write_manifest(folder, replace(MANIFEST, context={"a": None, "b": {"c": None, "d": [1, None]}}))
    assert read_manifest(folder).context == {"b": {"d": [1]}}
    assert read_manifest(folder).ended_ts is None
    assert read_manifest(folder).demo is None


def test_no_key_reaches_the_file(folder: RunFolder) -> None:
    leaky: dict[str, Any] = {
        **endpoint_table(ENDPOINT),
        "base_url": ENDPOINT.base_url,
        "key": KEY,
        "headers": {"x": KEY},
    }
    write_manifest(folder, replace(MANIFEST, endpoint=leaky))
    assert KEY not in folder.run_toml.read_text()
    assert read_manifest(folder).endpoint == {
        "base_url": "https://api.example/v1",
        "model": "Qwen/Qwen3-8B",
        "dialect": "openai-chat",
        "profile": "lab",
        "key_origin": "env LAB_KEY",
    }


def test_model_and_profile_are_known_or_none() -> None:
    assert (full().model, full().profile) == ("Qwen/Qwen3-8B", "lab")
    assert (MANIFEST.model, MANIFEST.profile) == (None, None)
    assert replace(full(), endpoint={"model": 7, "profile": ""}).model is None
    assert replace(full(), endpoint={"model": 7, "profile": ""}).profile is None


SHOWN = st.characters(exclude_categories=("C", "Z")) | st.just(" ")
TOML = st.recursive(
    st.booleans()
    | st.integers(-(2**63) + 1, 2**63 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(SHOWN, max_size=20),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(SHOWN, max_size=5), inner, max_size=3)
    ),
    max_leaves=8,
)


@given(st.dictionaries(st.text(SHOWN, max_size=8), TOML, max_size=4))
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_context_survives(folder: RunFolder, context: dict[str, Any]) -> None:
    manifest = replace(MANIFEST, context=context)
    write_manifest(folder, manifest)
    assert read_manifest(folder) == manifest


@given(st.text(max_size=30))
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_foreign_text_is_safe_when_read(folder: RunFolder, text: str) -> None:
    write_manifest(folder, replace(MANIFEST, host={"name": text}))
    assert not {"\x1b", "\n", "\x9b"} & set(read_manifest(folder).host["name"])


def test_a_newer_schema_is_told_apart(folder: RunFolder) -> None:
    folder.run_toml.write_text('schema = 2\nsomething = "new"\n')
    code, text = refusal(folder)
    assert code == "newer_run"
    assert "schema 2" in text


def test_unknown_keys_are_ignored(folder: RunFolder) -> None:
    write_manifest(folder, MANIFEST)
    folder.run_toml.write_text('later = "x"\n' + folder.run_toml.read_text())
    assert read_manifest(folder) == MANIFEST


def test_every_cut_is_unreadable_or_harmless(folder: RunFolder) -> None:
    write_manifest(folder, full())
    data = folder.run_toml.read_bytes()
    for length in range(0, len(data) - 1, 7):
        folder.run_toml.write_bytes(data[:length])
        try:
            read_manifest(folder)
        except KvtopError as error:
            assert error.failure.code == "unreadable_run"  # noqa: PT017 - some cuts still parse


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\xff\xfe",
        b"\x00" * 64,
        b"schema = 'one'",
        b"schema = true",
        b"schema = 1",
        b"schema = 1\nkind = 'scan'\nstate = 'asleep'\ncreated_ts = 1.0\npath = 'local'",
        b"schema = 1\nkind = 'scan'\nstate = 'done'\ncreated_ts = 'now'\npath = 'local'",
        b"schema = 1\nkind = 'scan'\nstate = 'done'\ncreated_ts = nan\npath = 'local'",
        b"schema = 1\nkind = 'scan'\nstate = 'done'\ncreated_ts = 1.0\npath = 'moon'",
        b"schema = 1\nkind = 'scan'\nstate = 'done'\ncreated_ts = 1.0\npath = 'api'\nended_ts = 'x'",
        b"schema = 1\nkind = 'scan'\nstate = 'done'\ncreated_ts = 1.0\npath = 'api'\nplan = 'x'",
        b"a = " + b"[" * 3000,
    ],
)
def test_what_is_no_manifest_is_unreadable(folder: RunFolder, content: bytes) -> None:
    folder.run_toml.write_bytes(content)
    assert refusal(folder)[0] == "unreadable_run"


def test_a_missing_manifest_is_unreadable(folder: RunFolder) -> None:
    code, text = refusal(folder)
    assert code == "unreadable_run"
    assert "No such file" in text


def test_values_that_only_toml_has_become_text(folder: RunFolder) -> None:
    required = "schema = 1\nkind = 'scan'\nstate = 'done'\ncreated_ts = 1\npath = 'api'\n"
    folder.run_toml.write_text(f"{required}[host]\nbooted = 2026-01-02T03:04:05Z\n")
    assert read_manifest(folder).host == {"booted": "2026-01-02 03:04:05+00:00"}


def test_writing_under_a_file_fails_in_words(folder: RunFolder) -> None:
    folder.run_lock.touch()
    with pytest.raises(KvtopError) as caught:
        write_manifest(type(folder)(folder.run_lock), MANIFEST)
    assert caught.value.failure.code == "write_failed"
