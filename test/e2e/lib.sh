# lib.sh - the program, tested from outside. A test script begins with
#
#     #!/usr/bin/env bash
#     . "$(dirname "$0")/lib.sh"
#
# and is a row of tests, each in a new folder of its own, which is the current one:
#
#     t "a wait is answered"
#     code 3 pawl run gate.yaml --id one         # runs it; the test fails unless it exits with 3
#     has "$err" "pawl approve one"              # $out and $err: what it wrote; $code: its exit
#     code 0 pawl approve one
#     is "$(pawl ls --ids)" one
#
# A check that fails is told with what there was instead, and its test has failed; those behind it are made all the same. The last
# line is `N passed, N failed, N skipped`; the exit is 0 when nothing failed. The program is $PAWL, on the path as `pawl`.
# shellcheck shell=bash
set -u

PAWL=${PAWL:-pawl}
PAWL_SOURCE_DIR=${PAWL_SOURCE_DIR:-$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)}
PAWL=$(command -v "$PAWL") || { echo "lib.sh: no program \$PAWL" >&2; exit 1; }
PAWL=$(cd "$(dirname "$PAWL")" && pwd)/$(basename "$PAWL")
tmp=$(mktemp -d "${TMPDIR:-/tmp}/pawl-e2e-XXXXXX") || exit 1
tmp=$(cd "$tmp" && pwd -P)
mkdir "$tmp/bin" "$tmp/home"
ln -s "$PAWL" "$tmp/bin/pawl"
PATH=$tmp/bin:$PATH
unset PAWL_STORE CLAUDE_CONFIG_DIR XDG_STATE_HOME PAWL_LOG NO_COLOR FORCE_COLOR CDPATH
export HOME=$tmp/home XDG_CONFIG_HOME=$tmp/home/.config TZ=UTC LC_ALL=C TERM=dumb PATH

passed=0 failed=0 skipped=0     # tests
test_name='' test_failed=0 test_skipped='' tests=0
out='' err='' code=0
me=$(id -un 2>/dev/null) || me="uid $(id -u)"      # whom the journal names
cc=$(command -v "${CC:-cc}" || command -v gcc || command -v clang)     # may be none

end_test() {
    [ -n "$test_name" ] || return 0
    if [ "$test_failed" -gt 0 ]; then
        failed=$((failed + 1))
        echo "FAILED  $test_name"
    elif [ -n "$test_skipped" ]; then
        skipped=$((skipped + 1))
        echo "skipped $test_name: $test_skipped"
    else
        passed=$((passed + 1))
    fi
    test_name=''
}

# A script that ends before its time has failed.
finish() {
    local ended=$?

    [ "$ended" -eq 0 ] || wrong "the script ended with $ended"
    end_test
    deaf
    cd / && rm -rf "$tmp"
    echo "$passed passed, $failed failed, $skipped skipped"
    trap - EXIT
    [ "$failed" -eq 0 ] && [ $((passed + skipped)) -gt 0 ] && exit 0
    exit 1
}
trap finish EXIT

t() { # NAME: a test begins
    end_test
    test_name=$1 test_failed=0 test_skipped='' tests=$((tests + 1))
    mkdir "$tmp/$tests" && cd "$tmp/$tests" || exit 1
}

skip() { test_skipped=$1; }     # WHY: this test is not made here; leave the rest of it out

wrong() { # TEXT...: the test under way has failed
    [ -n "$test_name" ] || test_name="before the first test"
    test_failed=$((test_failed + 1))
    {
        printf '%s\n' "$test_name: line ${BASH_LINENO[1]}: $1"
        shift
        [ $# -eq 0 ] || printf '    %s\n' "$@"
    } | cut -c1-2000
}

lines() { printf '%s' "$1" | head -n 12 | sed 's/^/        /'; }

# Run a command, with "$in" (may be unset) as its stdin: in='{"a":1}' code 0 pawl import -
code() { # EXPECTED CMD...
    local expected=$1 limit=()
    shift
    [ "$(type -t "$1")" != file ] || limit=(timeout -k 9 120)     # what hangs is a failure, and not the end of all
    "${limit[@]}" "$@" >"$tmp/out" 2>"$tmp/err" < <(printf '%s' "${in-}")
    code=$?
    out=$(tr -d '\0' <"$tmp/out") err=$(tr -d '\0' <"$tmp/err")
    [ "$code" = "$expected" ] ||
        wrong "$* exits with $code, and $expected is due" "stdout:" "$(lines "$out")" "stderr:" "$(lines "$err")"
}

is() { # GOT EXPECTED: both are texts
    [ "$1" = "$2" ] || wrong "there is another text" "$(diff <(printf '%s\n' "$2") <(printf '%s\n' "$1") | head -n 20)"
}

has() { # TEXT PART
    case $1 in *"$2"*) ;; *) wrong "\"$2\" is not in" "$(lines "$1")" ;; esac
}

hasnt() { # TEXT PART
    case $1 in *"$2"*) wrong "\"$2\" is in" "$(lines "$1")" ;; esac
}

same() { # FILE: it is what the last command wrote to stdout, byte for byte
    cmp -s "$1" "$tmp/out" || wrong "stdout is not $1" "$(diff "$1" "$tmp/out" | head -n 20)"
}

# Wait until a command succeeds: never for a time. What takes more than a minute never comes.
await() { # CMD...
    local end=$((SECONDS + 60))
    until "$@" >/dev/null 2>&1; do
        [ "$SECONDS" -lt "$end" ] || { wrong "in vain: $*"; return 1; }
        sleep 0.02
    done
}

one_line() { # TEXT: something is said, in one line
    [ -n "$1" ] && [ "$(printf '%s\n' "$1" | wc -l)" -eq 1 ] || wrong "this is not one line:" "$(lines "$1")"
}

# A server in this folder (listen.c): its port is $port, what came to it stands in the file `heard`. No $port: there is no C compiler.
port='' listener=''
listens() {
    deaf
    [ -n "$cc" ] || return 0
    [ -x "$tmp/listen" ] || "$cc" -D_GNU_SOURCE -o "$tmp/listen" "$PAWL_SOURCE_DIR/test/e2e/listen.c" >"$tmp/cc.log" 2>&1 ||
        { wrong "listen.c is not built" "$(cat "$tmp/cc.log")"; return 0; }
    rm -f port
    : >heard
    "$tmp/listen" >>heard &
    listener=$!
    await test -e port && port=$(cat port)
}
deaf() {
    [ -z "$listener" ] || { kill "$listener"; wait "$listener" 2>/dev/null; }
    port='' listener=''
}

jq_here() { # jq for expressions, of the program; else the test is skipped
    [ -n "${jq_found-}" ] || { pawl doctor 2>/dev/null | grep -q '^ok  *jq ' && jq_found=1; } || { skip "no libjq"; return 1; }
}

db() { pawl store 2>/dev/null; }     # the path of the store that is used here: this folder's own, below $HOME

json() { # TEXT EXPRESSION EXPECTED: of jq; without it nothing is checked
    command -v jq >/dev/null || return 0
    is "$(printf '%s' "$1" | jq -rc "$2" 2>&1)" "$3"
}
