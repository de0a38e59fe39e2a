"""The endpoint of a run that is to be resumed: its key comes from where it came from before."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from kvtop.cli.doubts import warn_of_flags, warn_of_profile
from kvtop.model.endpoint import Endpoint
from kvtop.model.failure import Failure, KvtopError
from kvtop.providers.endpoint import endpoint_from_flags, endpoint_of
from kvtop.providers.store import load_profile
from kvtop.runs.manifest import Manifest

_ENV = "env "


def endpoint_again(manifest: Manifest, environ: Mapping[str, str]) -> Endpoint:
    """Return the endpoint that `manifest` was measured on.

    Raises KvtopError when its profile or key is gone, or its profile now points elsewhere.
    """
    kept = manifest.endpoint
    dialect = str(kept.get("dialect", "openai-chat"))
    if manifest.profile is None:
        origin = str(kept.get("key_origin", ""))
        key_env = origin.removeprefix(_ENV) if origin.startswith(_ENV) else None
        base_url = str(kept.get("base_url", ""))
        endpoint = endpoint_from_flags(base_url, manifest.model, key_env, dialect, environ)
        warn_of_flags(endpoint)
        return endpoint
    profile = load_profile(manifest.profile, environ)
    endpoint = endpoint_of(profile, environ, dialect=dialect)
    warn_of_profile(profile, environ)
    if endpoint.base_url.rstrip("/") != str(kept.get("base_url", "")).rstrip("/"):
        measured = kept.get("base_url")
        text = (
            f"Profile {manifest.profile} points to {endpoint.base_url}; the run was measured on {measured}."
        )
        raise KvtopError(Failure.of("profile_changed", text, "Start a new run, or point the profile back."))
    return replace(endpoint, model=manifest.model or endpoint.model)
