#!/bin/sh
# The steps of action.yml: gate.sh capture FILE, gate.sh report, gate.sh comment. Settings come from the
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
	status=0
	"$LEAKDIFF" collect "$@" --count "${COUNT:-3}" --every "${EVERY:-5s}" -o "$DIR/$out" || status=$?
	if [ "$status" -ne 0 ]; then
		echo "::error title=leakdiff::$out was not captured, so there is nothing to compare; the log of this step says why. Check the inputs pprof, pid and process, and that the program runs."
	fi
	exit "$status"
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
	# With an answer, 2 means that not all could be compared or checked, which the answer says.
	if [ "$status" -gt 1 ] && [ ! -s "$DIR/answer.md" ]; then
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

# comment writes the answer into the comment that begins with the marker of this name, or into a
# new one: other workflows comment as the same user.
comment() {
	export MARKER="<!-- leakdiff action: $NAME -->"
	{
		echo "$MARKER"
		cat "$ANSWER"
	} > "$DIR/comment.md"
	ids=$(gh api --paginate "repos/$REPOSITORY/issues/$NUMBER/comments" \
		--jq '.[] | select(.user.login == "github-actions[bot]" and (.body | startswith(env.MARKER))) | .id')
	if [ -n "$ids" ]; then
		id=$(echo "$ids" | head -n 1)
		gh api --silent --method PATCH "repos/$REPOSITORY/issues/comments/$id" --field "body=@$DIR/comment.md"
	else
		gh api --silent --method POST "repos/$REPOSITORY/issues/$NUMBER/comments" --field "body=@$DIR/comment.md"
	fi
}

case "$1" in
capture) capture "$2" ;;
report) report ;;
comment) comment ;;
*)
	echo "gate.sh: capture FILE, report or comment, not $1" >&2
	exit 2
	;;
esac
