#!/bin/sh
# Measures a server in a CI job, checks the result, and reports it: `integrations/ci.sh`.
#
# The GitHub Action and the GitLab template next to it run this; any other CI can run it as well. It is set by
# variables, which docs/reference/integrations.md lists, and needs a POSIX shell with the usual tools; curl for
# comments alone. What it writes is in $INFEROMETER_OUT. It ends with the code of `inferometer gate`: 0 passed,
# 1 failed, 4 undecided; anything else means that nothing was decided because something did not work.
#
#   ci.sh            all of it: install, start, measure, check, comment
#   ci.sh install    makes the program available, and prints where it is
#   ci.sh comment    sends the comment again from what is in $INFEROMETER_OUT
set -eu

here=$(cd "$(dirname "$0")" && pwd)
out=${INFEROMETER_OUT:-inferometer-results}
name=${INFEROMETER_NAME:-inferometer}
wait_s=${INFEROMETER_WAIT:-600}
export INFEROMETER_STORE="${INFEROMETER_STORE:-$out/runs}"
server_pid=
doing=${1:-all}
# By this a later job finds the comment of an earlier one.
mark="-- inferometer: $(printf '%s' "$name" | tr -c 'A-Za-z0-9_-' -) --"

say() { printf 'inferometer: %s\n' "$*" >&2; }
fail() { # CODE WORDS…
    code=$1
    shift
    say "$*"
    if [ -n "${GITHUB_ACTIONS:-}" ]; then printf '::error title=inferometer::%s\n' "$*"; fi
    if [ "$doing" = all ] && [ -d "$out" ]; then
        state=error
        printf '## Nothing was decided\n\n%s\n' "$*" >"$out/gate.md"
        comment
        told
    fi
    exit "$code"
}
have() { command -v "$1" >/dev/null 2>&1; }

# The words of a line, one to a line, as a shell would split them: quotes and backslashes hold them together,
# and nothing in them is run.
words() {
    case $1 in *[![:space:]]*) printf '%s\n' "$1" | xargs -n 1 printf '%s\n' ;; esac
}

# --- Install -----------------------------------------------------------------------------------------------

# Sets $program: what is named, else what is on the path, else what is downloaded, else what is built.
install_program() {
    program=${INFEROMETER_BIN:-}
    if [ -n "$program" ]; then
        [ -x "$program" ] || fail 2 "INFEROMETER_BIN names $program, which cannot be run"
    elif have inferometer; then
        program=$(command -v inferometer)
    elif [ -n "${INFEROMETER_ARCHIVE:-}" ]; then
        download_program
    else
        build_program
    fi
    "$program" --version >/dev/null || fail 2 "$program does not run here"
    say "using $("$program" --version) at $program"
}

download_program() {
    # The program runs with the secrets of the job, so what a connection can replace needs a checksum.
    case $INFEROMETER_ARCHIVE in
        https://*) ;;
        *)
            [ -n "${INFEROMETER_SHA256:-}" ] ||
                fail 2 "INFEROMETER_ARCHIVE is no https URL: set INFEROMETER_SHA256 to the checksum of the file"
            ;;
    esac
    folder=$out/bin
    mkdir -p "$folder"
    file=$folder/archive
    if have curl; then
        curl --fail --silent --show-error --location --retry 3 --output "$file" "$INFEROMETER_ARCHIVE"
    elif have wget; then
        wget -q -O "$file" "$INFEROMETER_ARCHIVE"
    else
        fail 2 "neither curl nor wget is here to fetch INFEROMETER_ARCHIVE"
    fi || fail 2 "INFEROMETER_ARCHIVE cannot be fetched"
    if [ -n "${INFEROMETER_SHA256:-}" ]; then
        printf '%s  %s\n' "$INFEROMETER_SHA256" "$file" | sha256sum -c - >/dev/null 2>&1 ||
            fail 2 "what INFEROMETER_ARCHIVE gave is not what INFEROMETER_SHA256 says"
    fi
    program=$folder/inferometer
    # An archive with the program somewhere in it, or the program itself.
    if tar -xzf "$file" -C "$folder" 2>/dev/null; then
        found=$(find "$folder" -name inferometer -type f | head -n 1)
        [ -n "$found" ] || fail 2 "there is no inferometer in INFEROMETER_ARCHIVE"
        [ "$found" = "$program" ] || mv "$found" "$program"
        rm -f "$file"
    else
        mv "$file" "$program"
    fi
    chmod +x "$program"
}

build_program() {
    source=${INFEROMETER_SOURCE:-$here/..}
    [ -f "$source/crates/inferometer/Cargo.toml" ] ||
        fail 2 "no program: set INFEROMETER_BIN, INFEROMETER_ARCHIVE, or INFEROMETER_SOURCE to build it"
    have cargo || fail 2 "no program, and no cargo to build it: set INFEROMETER_BIN or INFEROMETER_ARCHIVE"
    root=${INFEROMETER_ROOT:-$out}
    say "building from $source"
    cargo install --quiet --locked --path "$source/crates/inferometer" --root "$root" >&2
    program=$root/bin/inferometer
}

# --- Server ------------------------------------------------------------------------------------------------

# Whether something answers over HTTP, whatever it says.
answers() {
    if have curl; then
        # Without a key a server may refuse, but it is there.
        curl --silent --output /dev/null --max-time 5 --insecure "$1/v1/models" 2>/dev/null
    elif have wget; then
        said=$(wget -q -T 5 -O /dev/null "$1/v1/models" 2>&1) && return 0
        status=$?
        case $said in *" 4"[0-9][0-9]* | *"server returned error"*) return 0 ;; esac
        # A wget that does not run, or that a signal ended, knows nothing.
        [ "$status" -ge 126 ] && "$program" probe "$1" >/dev/null 2>&1
    else
        "$program" probe "$1" >/dev/null 2>&1
    fi
}

# Starts the server, if that is asked for, in a group of its own, and waits until it answers.
start_server() {
    url=${INFEROMETER_URL:-http://127.0.0.1:8000}
    url=${url%/}
    root=${url%/v1}
    if [ -n "${INFEROMETER_START:-}" ]; then
        # Not the command itself, which may contain a key.
        say "starting the server (INFEROMETER_START)"
        # In a session of its own, so that all of its processes can be ended.
        if have setsid; then
            setsid sh -c "$INFEROMETER_START" >"$out/server.log" 2>&1 </dev/null &
        else
            sh -c "$INFEROMETER_START" >"$out/server.log" 2>&1 </dev/null &
        fi
        server_pid=$!
        trap stop_server EXIT
        trap 'exit 130' INT
        trap 'exit 143' TERM
    fi
    waited=0
    until answers "$root"; do
        if [ -n "$server_pid" ] && ! kill -0 "$server_pid" 2>/dev/null; then
            mask_log
            last_words >&2 || true
            fail 5 "the server ended before it answered; its last words are above and in $out/server.log"
        fi
        if [ "$waited" -ge "$wait_s" ]; then
            fail 5 "nothing answered at $url within $wait_s s (INFEROMETER_WAIT)"
        fi
        sleep 1
        waited=$((waited + 1))
    done
}

# Masks keys in the log of the server: values of variables whose names indicate a secret, and of such flags of its
# command. Keys that are shorter than 8 characters stay.
mask_log() {
    [ -s "$out/server.log" ] || return 0
    (umask 077 && awk '
        function add(value) { if (length(value) >= 8) keys[value] = 1 }
        BEGIN {
            for (name in ENVIRON)
                if (toupper(name) ~ /(KEY|TOKEN|SECRET|PASSWORD|CREDENTIALS)$/) add(ENVIRON[name])
            count = split(ENVIRON["INFEROMETER_START"], part, /[ \t\n=;\047"]+/)
            for (i = 1; i < count; i++)
                if (tolower(part[i]) ~ /^-.*(key|token|secret|password)$/) add(part[i + 1])
        }
        {
            for (key in keys) {
                rest = $0
                line = ""
                while ((at = index(rest, key)) > 0) {
                    line = line substr(rest, 1, at - 1) "***"
                    rest = substr(rest, at + length(key))
                }
                $0 = line rest
            }
            print
        }' "$out/server.log" >"$out/server.log.masked") && mv "$out/server.log.masked" "$out/server.log" ||
        rm -f "$out/server.log.masked" "$out/server.log"
}

# The end of the log of the server. A CI system takes no line of it as a command, and a terminal no control character.
last_words() {
    tail -n 20 "$out/server.log" | tr -d '\000-\010\013-\037\177' | sed -e 's/##\[/## [/g' -e 's/^/| /'
}

# Ends the server and what it started.
stop_server() {
    [ -n "$server_pid" ] || return 0
    kill -TERM "-$server_pid" 2>/dev/null || kill -TERM "$server_pid" 2>/dev/null || true
    left=20
    while [ "$left" -gt 0 ] && kill -0 "$server_pid" 2>/dev/null; do
        sleep 0.5
        left=$((left - 1))
    done
    kill -KILL "-$server_pid" 2>/dev/null || kill -KILL "$server_pid" 2>/dev/null || true
    server_pid=
    mask_log
}

# --- Measure and check -------------------------------------------------------------------------------------

commit=${GITHUB_SHA:-${CI_COMMIT_SHA:-}}
ref=${GITHUB_HEAD_REF:-${GITHUB_REF_NAME:-${CI_COMMIT_REF_NAME:-}}}
# A tag has a maximum length, and whoever opens a pull request chooses the name of its branch.
if [ "${#ref}" -gt 90 ]; then ref=$(printf '%s' "$ref" | LC_ALL=C tr -dc ' -~' | cut -c 1-90); fi

measure() {
    set -- sweep "$url" --name "$name" -o "$out/report.html"
    [ -z "$commit" ] || set -- "$@" --tag "commit=$commit"
    [ -z "$ref" ] || set -- "$@" --tag "ref=$ref"
    while IFS= read -r word; do
        [ -z "$word" ] || set -- "$@" "$word"
    done <<WORDS
$(words "${INFEROMETER_LOAD:-}")
WORDS
    say "measuring $url"
    status=0
    "$program" "$@" || status=$?
    [ "$status" -eq 0 ] || fail "$status" "the measurement ended with code $status: there is nothing to check"
    "$program" export last --as parquet -o "$out/run.parquet" || true
    "$program" export last --as openmetrics -o "$out/metrics.txt" || true
    "$program" report last --format json >"$out/result.json" || true
}

# Sends the run to the configured service. A failure is reported, and fails nothing: the gate does.
push() { # FORMAT URL
    [ -n "$2" ] || return 0
    set -- export last --as "$1" --push "$2"
    [ -z "${INFEROMETER_PUSH_KEY:-}" ] || set -- "$@" --push-key-env INFEROMETER_PUSH_KEY
    "$program" "$@" || say "the run was measured, but not sent"
}

# Sets $state: pass, fail, inconclusive, error or none, and $code.
gate() {
    set -- gate last --junit "$out/junit.xml" --md
    case ${INFEROMETER_INCONCLUSIVE:-} in
        '' | warn) ;;
        *) set -- "$@" --inconclusive "$INFEROMETER_INCONCLUSIVE" ;;
    esac
    [ -z "${INFEROMETER_THRESHOLDS:-}" ] || set -- "$@" --thresholds "$INFEROMETER_THRESHOLDS"
    [ -z "${INFEROMETER_BASELINE:-}" ] || set -- "$@" --baseline "$INFEROMETER_BASELINE"
    [ -z "${GITHUB_STEP_SUMMARY:-}" ] || set -- "$@" --github-summary
    while IFS= read -r word; do
        [ -z "$word" ] || set -- "$@" "$word"
    done <<WORDS
$(words "${INFEROMETER_GATE:-}")
WORDS
    if [ -z "${INFEROMETER_THRESHOLDS:-}${INFEROMETER_GATE:-}" ]; then
        say "no threshold is set: nothing is checked (INFEROMETER_THRESHOLDS, INFEROMETER_GATE)"
        state=none code=0
        printf '## Measured %s\n\nNo threshold is set, so nothing was checked.\n' "$name" >"$out/gate.md"
        return 0
    fi
    code=0
    # The short table for a comment; a file of -o has charts that a comment cannot show.
    "$program" "$@" >"$out/gate.md" || code=$?
    case $code in
        0) state=pass ;;
        1) state=fail ;;
        4) state=inconclusive ;;
        # Nothing was decided: the gate itself says why.
        *) state=error ;;
    esac
    [ -s "$out/gate.md" ] ||
        printf '## Nothing was decided\n\nThe gate ended with code %s; the log of the job says why.\n' "$code" >"$out/gate.md"
}

# --- Comment -----------------------------------------------------------------------------------------------

# The body of the comment: a mark by which the next one finds it, the table with its reasons, and where it is from.
comment_text() {
    printf '<!%s>\n' "$mark"
    cat "$out/gate.md"
    if [ -n "${GITHUB_RUN_ID:-}" ]; then
        printf '\nReport, JUnit and the run: [artifacts of this job](%s/%s/actions/runs/%s)\n' \
            "${GITHUB_SERVER_URL:-https://github.com}" "$GITHUB_REPOSITORY" "$GITHUB_RUN_ID"
    elif [ -n "${CI_JOB_URL:-}" ]; then
        printf '\nReport, JUnit and the run: [artifacts of this job](%s/artifacts/browse)\n' "$CI_JOB_URL"
    fi
    [ -z "$commit" ] || printf '\nCommit %s\n' "$commit"
}

# Standard input as a text of JSON: whole lines, up to the limit of the platforms (65,536 characters).
as_json() {
    printf '{"body":"'
    awk '{ length_of_all += length($0) + 1 } length_of_all < 60000' | tr '\t' ' ' | tr -d '\000-\010\013-\037' |
        sed -e 's/\\/\\\\/g' -e 's/"/\\"/g' -e 's/$/\\n/' | tr -d '\n'
    printf '"}'
}

# Sends a request to an API: METHOD URL [FILE]. The key goes through a pipe. Arguments of a process are public, and
# a file would be in the results if the job were canceled.
api() {
    set -- "$1" "$2" "${3:-}"
    if [ -n "$3" ]; then
        printf 'header = "%s"\n' "$header" |
            curl --silent --show-error --fail --max-time 30 --config - --request "$1" \
                --header 'Content-Type: application/json' --data-binary "@$3" "$2"
    else
        printf 'header = "%s"\n' "$header" |
            curl --silent --show-error --fail --max-time 30 --config - --request "$1" "$2"
    fi
}

# Finds the comment of an earlier job among those on a page: what $1 finds before the mark.
earlier() {
    grep -o -e "$1" -e "$mark" "$out/comments.json" |
        awk '/^-- / { if (last != "") { print last; exit } next } { last = $0 }' | grep -o '[0-9][0-9]*' | tail -n 1
}

# Writes the comment, or updates the one of an earlier job. Failures are reported and fail nothing.
comment() {
    if [ "${INFEROMETER_COMMENT:-auto}" = never ]; then return 0; fi
    token=${INFEROMETER_TOKEN:-}
    if [ -n "${GITHUB_REPOSITORY:-}" ]; then
        request=${INFEROMETER_PULL_REQUEST:-}
        case ${GITHUB_REF:-} in refs/pull/*) : "${request:=$(printf '%s' "$GITHUB_REF" | cut -d / -f 3)}" ;; esac
        header="Authorization: Bearer $token"
        base="${GITHUB_API_URL:-https://api.github.com}/repos/$GITHUB_REPOSITORY/issues"
        list="$base/$request/comments" one="$base/comments" change=PATCH
        found='"url": *"[^"]*/issues/comments/[0-9]*"'
    elif [ -n "${CI_PROJECT_ID:-}" ]; then
        request=${CI_MERGE_REQUEST_IID:-}
        header="PRIVATE-TOKEN: $token"
        list="${CI_API_V4_URL:-https://gitlab.com/api/v4}/projects/$CI_PROJECT_ID/merge_requests/$request/notes"
        one=$list change=PUT
        found='"id": *[0-9]*, *"type"'
    else
        return 0
    fi
    [ -n "$request" ] || { say "no pull request: no comment"; return 0; }
    [ -n "$token" ] || { say "no token to comment with (INFEROMETER_TOKEN): no comment"; return 0; }
    have curl || { say "no curl: no comment"; return 0; }
    comment_text | as_json >"$out/comment.json"
    sent=no
    send_comment && sent=yes
    rm -f "$out/comments.json"
    if [ "$sent" = yes ]; then say "commented"; else say "the comment was not taken; the table is in $out/gate.md"; fi
}

send_comment() {
    page=1 known=
    while [ "$page" -le 10 ] && [ -z "$known" ]; do
        api GET "$list?per_page=100&page=$page" >"$out/comments.json" || return 1
        known=$(earlier "$found" || true)
        grep -q '[0-9]' "$out/comments.json" || break
        page=$((page + 1))
    done
    if [ -n "$known" ]; then
        api "$change" "$one/$known" "$out/comment.json" >/dev/null
    else
        api POST "$list" "$out/comment.json" >/dev/null
    fi
}

# --- All of it ---------------------------------------------------------------------------------------------

told() { # for the next steps of the job
    if [ -n "${GITHUB_OUTPUT:-}" ]; then
        printf 'state=%s\ncode=%s\nresults=%s\n' "$state" "$code" "$out" >>"$GITHUB_OUTPUT"
    fi
    printf '%s\n' "$state" >"$out/state"
    case $state in
        fail) [ -z "${GITHUB_ACTIONS:-}" ] || printf '::error title=inferometer::a threshold is violated, see the summary\n' ;;
        inconclusive)
            [ -z "${GITHUB_ACTIONS:-}" ] ||
                printf '::warning title=inferometer::the data do not decide every threshold, see the summary\n'
            ;;
    esac
}

mkdir -p "$out" || fail 74 "cannot make $out"
[ "$doing" != all ] || rm -f "$out/gate.md" "$out/junit.xml" "$out/state"
case $doing in
    install)
        install_program
        printf '%s\n' "$program"
        ;;
    comment)
        [ -f "$out/gate.md" ] || fail 2 "$out/gate.md is not there: there is nothing to comment"
        comment
        ;;
    all)
        install_program
        start_server
        measure
        push otlp "${INFEROMETER_PUSH_OTLP:-}"
        push openmetrics "${INFEROMETER_PUSH_OPENMETRICS:-}"
        push mlflow "${INFEROMETER_PUSH_MLFLOW:-}"
        gate
        comment
        told
        say "$state; results are in $out"
        stop_server
        if [ "$state" = inconclusive ] && [ "${INFEROMETER_INCONCLUSIVE:-}" = warn ]; then code=0; fi
        exit "$code"
        ;;
    *) fail 2 "unknown command: $1 (install, comment, or none)" ;;
esac
