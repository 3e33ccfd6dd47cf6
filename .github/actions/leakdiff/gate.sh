#!/bin/sh
# The steps of action.yml: gate.sh capture FILE, gate.sh report. Settings come from the
# environment, see there.
set -eu

capture() {
	if [ -n "${PPROF:-}" ]; then
		set -- "$1" --pprof "$PPROF"
	fi
	if [ -n "${PID:-}" ]; then
		set -- "$@" --pid "$PID"
	fi
	if [ -n "${PROCESS:-}" ]; then
		set -- "$@" --name "$PROCESS"
	fi
	out=$1
	shift
	mkdir -p "$DIR"
	"$LEAKDIFF" collect "$@" --count "${COUNT:-3}" --every "${EVERY:-5s}" -o "$DIR/$out"
}

report() {
	set -- "$DIR/after.tar.gz"
	if [ -n "${BASELINE:-}" ]; then
		set -- --baseline "$BASELINE" "$@"
	else
		set -- --baseline "$DIR/before.tar.gz" "$@"
	fi
	if [ -n "${BUDGET:-}" ]; then
		set -- --budget "$BUDGET" "$@"
	fi
	status=0
	"$LEAKDIFF" report --format ticket --fail-on "${FAIL_ON:-grew}" "$@" > "$DIR/answer.md" || status=$?
	if [ "$status" -gt 1 ]; then
		exit "$status"
	fi
	"$LEAKDIFF" report --format sarif "$@" > "$DIR/leakdiff.sarif" || true
	cat "$DIR/answer.md"
	if [ -n "${GITHUB_STEP_SUMMARY:-}" ]; then
		cat "$DIR/answer.md" >> "$GITHUB_STEP_SUMMARY"
	fi
	if [ -n "${GITHUB_OUTPUT:-}" ]; then
		{
			echo "status=$status"
			echo "answer=$DIR/answer.md"
			echo "sarif=$DIR/leakdiff.sarif"
		} >> "$GITHUB_OUTPUT"
	fi
}

case "$1" in
capture) capture "$2" ;;
report) report ;;
*)
	echo "gate.sh: capture FILE or report, not $1" >&2
	exit 2
	;;
esac
