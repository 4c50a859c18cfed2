# typed.sh - a page of the manual, typed as it stands into a terminal of 80 columns and 24 rows, in a HOME that is new. After lib.sh:
#
#     . "$(dirname "$0")/typed.sh"
#     typed_begin FOLDER                # a shell in FOLDER; the test is skipped where there is no terminal to be had
#     typed_page FILE                   # each block in its order; each heading of the second level is a test
#
# In the page a block ```console has commands behind `$ ` and what is then on the screen. A line that ends in a prompt and an answer is
# answered so; `^C` is pressed as soon as what stands above it is there. A command ends with 0, or as its `# exit N` says. `…` is any text, a
# line `...` any lines. A block whose first line is `# NAME.yaml` or `/* NAME.c` is saved as that. Other blocks are not typed.
# shellcheck shell=bash

typed=0         # commands
typed_machines=survey

mux() { tmux -S "$tmp/tmux" -f "$tmp/tmux.conf" "$@"; }

typed_begin() { # FOLDER
    command -v tmux >/dev/null || { t "a terminal"; skip "there is no tmux"; exit 0; }
    trap 'ended=$?; mux kill-server 2>/dev/null; (exit $ended); finish' EXIT
    mkdir -p "$1"
    # After each command the shell says how it ended, which one it was, and where it is now.
    cat >"$tmp/rc" <<RC
PS1='\$ ' HISTFILE= n=0
PROMPT_COMMAND='printf "%s %s %s\n" "\$?" "\$((n++))" "\$PWD" >"$tmp/said.new"; mv "$tmp/said.new" "$tmp/said"'
cd "$1"
RC
    printf 'set -g %s\n' 'status off' 'history-limit 5000' >"$tmp/tmux.conf"      # before it starts: a size that changes redraws lines
    mux new-session -d -x 80 -y 24 "exec env TERM=screen bash --noprofile --rcfile '$tmp/rc'" || { wrong "tmux does not start"; exit 1; }
    typed_until typed_idle
    typed_quietly true                  # from now on the shell has the terminal as it wants it
}

typed_quietly() { # COMMAND: of the test's own, not of the page
    typed=$((typed + 1))
    mux send-keys -l -- "$1"
    mux send-keys Enter
    typed_until typed_idle || wrong "$1 does not end" "$(typed_screen)"
}

# What differs from one time, machine and person to the next. Both the page and the screen go through this, and nothing else does.
typed_plain() {
    local digit='[0-9]+(\.[0-9]+)?'
    sed -E "
        s#$tmp#/home/ada#g; s#/home/ada/home#/home/ada#g
        s/\b($typed_machines)-[a-z0-9]{4}\b/\1-ID/g
        s/\b[A-Z][a-z]{2} [A-Z][a-z]{2} [ 0-9][0-9] [0-9:]{8} [A-Z]+ 2[0-9]{3}\b/DATE/g
        s/\b2[0-9]{3}-[0-9]{2}-[0-9]{2}\b/DATE/g; s/\b[0-9]{2}:[0-9]{2}:[0-9]{2}\b/HOUR/g
        s/\b$digit (ms|s|min|h)\b/TIME/g
        s/~[0-9a-f]{16}\b/~LIFE/g; s/\b[0-9a-f]{64}\b/DIGEST/g; s/-[0-9a-f]{12}\b/-DIGEST/g
        s/(by +|\"by\":\")$me\b/\1ada/g
        s#^  [-|/\\\\]      #  -      #                            # what turns while something runs
        /^\[[0-9]+\][-+ ]/d                                        # what the shell says of its jobs
        # how far it came until it was killed
        s/^( *(-|done) +sum) [0-9]+\/[0-9]+/\1 N\/N/; s/[0-9]+ kept, [0-9]+ begun again/N kept, N begun again/; s/programs cut off: [0-9]+/programs cut off: N/
        s/(task records) [0-9]+/\1 N/
        s/^\^C//
        s/([^ ]) +/\1 /g; s/ +\$//" | sed '/^$/d' | awk '
        # nodes of one superstep end in any order
        /^  done / { at = n++; while (at > 0 && done[at - 1] > $0) { done[at] = done[at - 1]; at-- } done[at] = $0; next }
        { for (i = 0; i < n; i++) print done[i]; n = 0; print }
        END { for (i = 0; i < n; i++) print done[i] }'
}

typed_screen() { mux capture-pane -p -J -S - | sed -E 's/ +$//' | sed -e ':a' -e '/^\n*$/{$d;N;ba' -e '}'; }
typed_idle() { [ "$(typed_screen | tail -n 1)" = '$' ] && [ "$(cut -d' ' -f2 "$tmp/said")" = "$typed" ]; }
typed_clean() { mux clear-history && [ "$(typed_screen)" = '$' ]; }
typed_until() { # CMD...
    local tries
    for tries in $(seq 600); do
        "$@" 2>/dev/null && return
        [ "$test_failed" -eq 0 ] || return 1    # what went wrong once is not waited for again
        sleep 0.05
    done
    return 1
}

# The screen without the command and the prompt behind it; what the page shows, as a pattern of that.
typed_output() { typed_screen | sed -e '1d' -e '$s/^\$$//' | typed_plain | sed -e '${/^$/d}'; }
typed_fits() { # TEXT
    local pattern
    pattern=$(printf '%s\n' "$1" | typed_plain | sed -E 's/[][*?\\]/\\&/g; s/^\.\.\.$/*/; s/…/*/g')
    # shellcheck disable=SC2053
    [[ $(typed_output) == $pattern ]]
}
typed_differs() { # LINE COMMAND TEXT
    wrong "$page:$1: $2" "$(diff <(printf '%s\n' "$3" | typed_plain) <(typed_output))"
}

typed_command() { # LINE COMMAND EXPECTED
    local due=0 line so_far=''
    [[ $2 =~ \#.*exit\ ([0-9]+) ]] && due=${BASH_REMATCH[1]}
    case $2 in *'# needs graphviz'*) command -v dot >/dev/null || return 0 ;; esac
    mux send-keys C-l
    typed_until typed_clean || wrong "$page:$1: no prompt before $2" "$(typed_screen)"
    typed=$((typed + 1))
    mux send-keys -l -- "$2"
    mux send-keys Enter
    while IFS= read -r line; do
        if [ "$line" = '^C' ]; then
            typed_until typed_fits "${so_far%$'\n'}" || typed_differs "$1" "$2" "$so_far"
            mux send-keys C-c
            so_far=$'...\n'             # the last line may be written over
        elif [[ $line =~ ^(.*\[l\]ater:)\ (.+)$ ]]; then
            typed_until typed_fits "$so_far${BASH_REMATCH[1]}" || typed_differs "$1" "$2" "$so_far${BASH_REMATCH[1]}"
            mux send-keys -l -- "${BASH_REMATCH[2]}"
            mux send-keys Enter
            so_far+=$line$'\n'
        else
            so_far+=$line$'\n'
        fi
    done < <([ -z "$3" ] || printf '%s\n' "$3")
    typed_until typed_idle || wrong "$page:$1: $2 does not end" "$(typed_screen)"
    typed_fits "${so_far%$'\n'}" || typed_differs "$1" "$2" "${so_far%$'\n'}"
    code=$(cut -d' ' -f1 "$tmp/said")
    [ "$code" = "$due" ] || [ "$2" != "${2#pawl doctor}" ] || wrong "$page:$1: $2 ends with $code, and $due is due"
}

typed_page() { # FILE
    local line kind='' block='' number=0 at=0 command='' folder
    page=${1#"$PAWL_SOURCE_DIR"/}
    typed_machines=$typed_machines$(sed -nE 's/^  ?name: ([a-z]+).*/|\1/p; s/^name: ([a-z]+).*/|\1/p' "$1" | sort -u | tr -d '\n')
    while IFS= read -r line; do
        number=$((number + 1))
        case $kind:$line in
            :'## '*) typed_leave "${line#\#\# }" && return; t "$page: ${line#\#\# }" ;;
            :'```'*) kind=${line#'```'} kind=${kind:-other} block='' command='' ;;
            console:'```')
                [ -z "$command" ] || typed_command "$at" "$command" "${block%$'\n'}"
                [ "$test_failed" -eq 0 ] || return      # what follows would differ, too
                kind=''
                ;;
            *:'```')
                if [[ $block =~ ^(\#|/\*)\ ([a-z]+\.(yaml|c))[[:space:]] ]]; then
                    folder=$(cut -d' ' -f3- "$tmp/said")
                    printf '%s' "$block" >"$folder/${BASH_REMATCH[2]}"
                fi
                kind=''
                ;;
            console:'$ '*)
                [ -z "$command" ] || typed_command "$at" "$command" "${block%$'\n'}"
                [ "$test_failed" -eq 0 ] || return
                at=$number command=${line#\$ } block=''
                ;;
            :*) ;;
            *) block+=$line$'\n' ;;
        esac
    done <"$1"
}
typed_leave() { return 1; }     # HEADING: whether the page is left there
