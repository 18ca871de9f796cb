#!/usr/bin/env bash
# What a newcomer does: a clone in an empty folder, an empty home, a fresh virtual environment, then the README's commands as they
# stand there and every quick start. Prints how long each takes. --without-tests leaves out the README's second command.
set -euo pipefail
source=$(cd "$(dirname "$0")/.." && pwd)
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT

timed() {
    local title=$1 start=$SECONDS
    shift
    printf '\n=== %s\n' "$title"
    "$@"
    printf -- '--- %s: %d s\n' "$title" $((SECONDS - start))
}

# Nothing of this shell's but where programs are and how packages are reached.
mkdir "$place/home"
kept=()
while IFS= read -r name; do kept+=("$name=${!name}"); done < <(compgen -e | grep -E '^(PIP|UV_INDEX|UV_DEFAULT_INDEX|SSL|REQUESTS|https?_proxy|no_proxy)' || true)
clean() { env -i PATH="$place/venv/bin:$PATH" HOME="$place/home" LANG=C.UTF-8 TERM=dumb "${kept[@]}" "$@"; }

timed "clone" git clone --quiet "$source" "$place/clone"
cd "$place/clone"
timed "virtual environment" python3 -m venv "$place/venv"
mapfile -t commands < <(sed -n 's/^\(pip install uv && .*[^ ]\)  *#.*$/\1/p' README.md)
[ "${#commands[@]}" -eq 2 ] || { echo "the README has ${#commands[@]} commands of set-up, not two"; exit 1; }
timed "${commands[0]}" clean bash -c "${commands[0]}"
for program in docs/quick-starts/*.py; do
    timed "$program" clean uv run --quiet python -W error "$program"
done
[ "${1:-}" = --without-tests ] || timed "${commands[1]}" clean bash -c "${commands[1]}"
