#!/usr/bin/env bash
# What a newcomer does: a clone in an empty folder, an empty home, a fresh virtual environment, then the README's commands as they
# stand there and every quick start. Prints how long each takes. --without-tests leaves out the README's second command; --print
# prints what would be run, and runs nothing.
set -euo pipefail
source=$(cd "$(dirname "$0")/.." && pwd)

plan() {
    # From a tree: the README's two lines that begin with the set-up, without prompt and comment, and between them the quick starts.
    local commands program
    mapfile -t commands < <(sed -n '/^```/,/^```$/ s/^\(\$ \)\{0,1\}\(pip install uv && .*\)$/\2/p' "$1/README.md" | sed 's/  *#.*$//')
    [ "${#commands[@]}" -eq 2 ] || { echo "the README has ${#commands[@]} commands of set-up, not two" >&2; return 1; }
    echo "${commands[0]}"
    for program in "$1"/docs/quick-starts/*.py; do
        echo "uv run --quiet python -W error docs/quick-starts/${program##*/}"
    done
    [ "${2:-}" = --without-tests ] || echo "${commands[1]}"
}

[ "${1:-}" != --print ] || { plan "$source"; exit; }
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
steps=$(plan . "${1:-}")
# Not from standard input, which the commands may read.
while IFS= read -r step <&3; do timed "$step" clean bash -c "$step"; done 3<<< "$steps"
