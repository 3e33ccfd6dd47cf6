#!/bin/sh
# collect.sh captures running processes into one tar.gz for leakdiff, on nodes and in
# containers where no program may be copied. It needs a POSIX shell and the usual small
# tools, as BusyBox has them; curl or wget for endpoints, and nsenter where these are in
# another network namespace. It writes what `leakdiff collect` writes, but for
# watches.jsonl: a shell cannot open file handles.
#
#   sh collect.sh --pid 4711 --pprof http://127.0.0.1:6060 --every 30s --count 10 -o capture.tar.gz
#
# What it costs the process: a goroutine dump (debug=2) stops the whole program for
# about 10 us per goroutine and copy of its buffer. debug=1, which is cheap, is asked
# first, and debug=2 only up to --max-goroutines. No environment is kept, and secrets
# in command lines are hidden.

set -u
LC_ALL=C
export LC_ALL
umask 077
# What changes the format of ls.
unset QUOTING_STYLE TIME_STYLE LS_BLOCK_SIZE BLOCK_SIZE
unset http_proxy https_proxy all_proxy HTTP_PROXY HTTPS_PROXY ALL_PROXY

tool='collect.sh 1.0'
pids='' names='' pprofs='' metrics='' every=30 count=10 budget=10 header='' insecure=''
many=1000 longest=268435456 most=100000 force='' sigquit='' nodereport='' lsof=1 jvm=1 host='' proc=/proc out=leakdiff-capture.tar.gz
newline='
'

usage() {
	cat <<'USAGE'
usage: sh collect.sh --pid N | --name NAME [options] -o FILE
  --pid N              process to capture; may be repeated
  --name NAME          every process of this name; may be repeated
  --pprof ADDRESS      where it serves /debug/pprof: URL, host:port or unix:/path;
                       of several processes N=ADDRESS or NAME=ADDRESS
  --metrics ADDRESS    where it serves /metrics
  --every 30s          time between the begins of two rounds
  --count 10           number of rounds
  --step-timeout 10s   the most that one step may take
  --header-file FILE   header lines for the endpoints, or a bare token; with curl or
                       GNU wget only
  --insecure           take any certificate
  --max-goroutines N   no debug=2 above so many goroutines (100000)
  --force              debug=2 however many there are
  --sigquit            SIGQUIT in the last round: ENDS a Go process, a JVM goes on
  --node-report        SIGUSR2 to Node.js without --report-on-signal, if it is caught
  --no-lsof --no-jvm   leave these tools out
  --hostname NAME      name of the host
  --proc DIR           where procfs is mounted
  -o FILE              archive to write, - for standard output
USAGE
}

# say fails where nobody can be told.
say() { printf '%s\n' "leakdiff: $*" >&2; }

# fail ends the script: nothing was captured.
fail() {
	say "$*"
	exit 2
}

# seconds reads 30, 30s, 2m and 1h.
seconds() {
	case $1 in
	*h) s_n=${1%h} s_unit=3600 ;;
	*m) s_n=${1%m} s_unit=60 ;;
	*s) s_n=${1%s} s_unit=1 ;;
	*) s_n=$1 s_unit=1 ;;
	esac
	case $s_n in '' | *[!0-9]* | 0) fail "$1 is no time above 0: write it like 30s" ;; esac
	echo $((s_n * s_unit))
}

while [ $# -gt 0 ]; do
	case $1 in
	--*=*)
		option=${1%%=*} value=${1#*=}
		shift
		set -- "$option" "$value" "$@"
		;;
	esac
	case $1 in
	--force) force=1 ;;
	--insecure) insecure=1 ;;
	--sigquit) sigquit=1 ;;
	--node-report) nodereport=1 ;;
	--no-lsof) lsof='' ;;
	--no-jvm) jvm='' ;;
	-h | --help)
		usage
		exit 0
		;;
	*)
		[ $# -ge 2 ] || fail "$1 is no option, or misses its value; --help lists them"
		case $1 in
		--pid) case $2 in *[!0-9]* | '') fail "$2 is no pid" ;; *) pids="$pids $2" ;; esac ;;
		--name) names="$names$2$newline" ;;
		--pprof) pprofs="$pprofs$2$newline" ;;
		--metrics) metrics="$metrics$2$newline" ;;
		--every) every=$(seconds "$2") || exit 2 ;;
		--count) count=$2 ;;
		--step-timeout) budget=$(seconds "$2") || exit 2 ;;
		--header-file) header=$2 ;;
		--max-goroutines) most=$2 ;;
		--hostname) host=$2 ;;
		--proc) proc=$2 ;;
		-o | --output) out=$2 ;;
		*) fail "$1 is no option; --help lists them" ;;
		esac
		shift
		;;
	esac
	shift
done
case $count$most in *[!0-9]* | '') fail "--count and --max-goroutines are numbers" ;; esac
[ "$count" -ge 1 ] || fail "--count is at least 1"
[ -n "$pids$names" ] || fail "no process was named: sh collect.sh --pid 4711 --pprof http://127.0.0.1:6060 -o capture.tar.gz"
[ -z "$header" ] || [ -r "$header" ] || fail "$header cannot be read"

# shown ADDRESS is its scheme, host and path: no password, no query.
shown() { printf '%s\n' "$1" | sed -E '/unix:/!{ s#^(.*://|[^:/?@=]*=)?.*@#\1#; s/[?#].*//; }'; }

# plain ADDRESS says whether an address does not name its process: "PID=" or "NAME=".
plain() {
	case ${1%%=*} in "$1" | *[:/?]*) return 0 ;; esac
	return 1
}

# assigned OPTION LIST refuses addresses that are none, are of nobody, or are second
# ones. A pid that is given with an address only is captured as if --pid named it.
assigned() {
	# shellcheck disable=SC2086
	a_all=$(
		printf '%s\n' $pids
		printf '%s' "$names"
	)
	a_before=$newline
	while IFS= read -r line; do
		[ -n "$line" ] || continue
		a_whose='' a_address=$line
		plain "$line" || a_whose=${line%%=*} a_address=${line#*=}
		case $a_address in
		http://?* | https://?* | unix:?*) a_good=1 ;;
		*://*) a_good='' ;;
		?*:[0-9]*) a_good=1 ;;
		*) a_good='' ;;
		esac
		[ -n "$a_good" ] || fail "$1 $(shown "$line") is no address: write http://127.0.0.1:6060, 127.0.0.1:6060 or unix:/run/x.sock"
		case $a_before in *"$newline$a_whose=$newline"*) fail "$1 $(shown "$line") is a second address of the same process" ;; esac
		a_before=$a_before$a_whose=$newline
		if [ -z "$a_whose" ]; then
			a_n=$(printf '%s\n' "$a_all" | grep -c .)
			[ "$a_n" -eq 1 ] || fail "$1 $(shown "$line") does not say which of $a_n processes it is of: write $1 PID=URL or $1 NAME=URL"
		elif ! printf '%s\n' "$a_all" | grep -qxF -e "$a_whose"; then
			case $a_whose in
			*[!0-9]*) a_pid='' ;;
			*) a_pid=$a_whose ;;
			esac
			[ -n "$a_pid" ] && [ -n "$names" ] && [ -d "$proc/$a_pid" ] ||
				fail "$1 $(shown "$line") names a process that is not captured: name it with --pid or --name as well"
			more="$more $a_pid"
		fi
	done <<ADDRESSES
$2
ADDRESSES
}
more=''
assigned --pprof "$pprofs"
assigned --metrics "$metrics"
[ -n "$host" ] || host=$(cat "$proc/sys/kernel/hostname" 2>/dev/null || uname -n)

has() { command -v "$1" >/dev/null 2>&1; }

for program in tar gzip mktemp find sed grep; do
	has $program || fail "$program is not installed, and nothing can be kept without it"
done

# A reader of what is said that has gone ends the capture, as a signal does.
stopping=''
trap 'stopping=1' INT TERM HUP PIPE

near=.
case $out in -) near=${TMPDIR:-/tmp} ;; */*) near=${out%/*} ;; esac
work=$(mktemp -d -p "${near:-/}") || fail "no directory can be made in ${near:-/}"
keep=''
trap '[ -n "$keep" ] || { chmod -R u+rwX "$work" 2>/dev/null; rm -rf "$work"; }' EXIT

# How a command is ended that takes too long. BusyBox had another form of timeout.
timeout=''
if has timeout; then
	if timeout 1 true 2>/dev/null; then
		timeout="timeout -s KILL $budget"
		timeout -s KILL 1 true 2>/dev/null || timeout="timeout $budget"
	elif timeout -t 1 true 2>/dev/null; then
		timeout="timeout -t $budget -s KILL"
	fi
fi

# bounded COMMAND... runs a program whose files end at the most that is kept of one.
bounded() {
	(
		# In blocks of 512 bytes. What is ignored here is an error there, and no signal.
		ulimit -f $((longest / 512)) 2>/dev/null
		trap '' XFSZ
		exec "$@"
	)
}

# limited COMMAND... runs a program, no function, for the time of one step.
limited() {
	if [ -n "$timeout" ]; then
		# shellcheck disable=SC2086
		bounded $timeout "$@"
		return
	fi
	bounded "$@" &
	l_pid=$!
	(
		sleep "$budget"
		kill -9 "$l_pid"
	) >/dev/null 2>&1 &
	l_dog=$!
	wait "$l_pid"
	l_status=$?
	kill "$l_dog" 2>/dev/null
	return $l_status
}

case $(date +%3N 2>/dev/null) in
[0-9][0-9][0-9]) now() { date -u +%Y-%m-%dT%H:%M:%S.%3NZ; } ;;
*) now() { date -u +%Y-%m-%dT%H:%M:%SZ; } ;;
esac

if has sha256sum; then
	hash() { sha256sum | cut -d' ' -f1; }
elif has openssl; then
	hash() { openssl dgst -sha256 -r | cut -d' ' -f1; }
else
	hash() { cat >/dev/null; }
fi

# json TEXT writes a JSON string.
json() {
	printf '"%s"' "$(printf '%s' "$1" | tr '\000-\037\177' ' ' | sed 's/\\/\\\\/g; s/"/\\"/g')"
}

# unwritten WHAT ends the capture with what there is: there is no room for more.
unwritten() {
	stopping=1
	say "warning: $1 could not be written: is there room in ${near:-/}?"
}

# step NAME STATUS FILE AT FROM ERROR [BYTES FILES HASH] files a step of the manifest.
step() {
	{
		{ [ ! -s "$work/steps" ] || printf ',\n'; } &&
			printf '  {"step": %s, "status": "%s", ' "$(json "$1")" "$2" &&
			{ [ -z "$3" ] || printf '"file": %s, ' "$(json "$3")"; } &&
			printf '"at": "%s", "ms": %d' "$4" $((($(date +%s) - $5) * 1000)) &&
			{ [ -z "${7:-}" ] || printf ', "bytes": %d' "$7"; } &&
			{ [ -z "${8:-}" ] || printf ', "files": %d' "$8"; } &&
			{ [ -z "${9:-}" ] || printf ', "sha256": "%s"' "$9"; } &&
			{ [ -z "$6" ] || printf ', "error": %s' "$(json "$6")"; } &&
			printf '}'
	} 2>/dev/null >>"$work/steps" || unwritten "the step $1 of t$round"
	case $2 in
	failed | partial)
		say "warning: t$round: $1 of $name ($pid): $6"
		lost=$((lost + 1))
		;;
	esac
}

skip() { step "$1" "$2" '' "$(now)" "$(date +%s)" "$3"; }

# due is what the answer to a request has to be, '' for anything: whatever stands
# before a process, a proxy that wants a login for example, answers 200 with something
# else.
due=''

# instead FILE tells what came in the place of a body, by its first bytes; it fails where
# they are right.
instead() {
	i_words=$(head -c 80 "$1" | tr '\000-\037\177-\377' ' ')
	i_words=${i_words#"${i_words%%[! ]*}"}
	i_what="a goroutine profile"
	case $due in
	debug=1) case $i_words in 'goroutine profile:'*) return 1 ;; esac ;;
	debug=2)
		case $i_words in 'goroutine '[0-9]*) return 1 ;; esac
		i_what='a goroutine dump'
		;;
	# The first field of a profile is a type of samples or periods, of two small numbers.
	proto) case $(head -c 2 "$1" | tr '\012\002-\010nv' 'nvvvvvvv..') in [nZ]v) return 1 ;; esac ;;
	metrics)
		case $i_words in '<'*) ;; *) return 1 ;; esac
		i_what=metrics
		;;
	esac
	i_type=$(tr -d '\r' <"$work/head" | sed -n 's/^ *[Cc]ontent-[Tt]ype: *//p' | tail -n 1)
	i_words=${i_words%"${i_words##*[! ]}"}
	[ -z "$i_words" ] || i_words="${i_type:+$i_type, }\"$i_words\""
	printf 'the endpoint answered 200 without %s: %s\n' "$i_what" "${i_words:-nothing that can be read}"
}

# take NAME FILE COMMAND... is a step that gives one file. What was written before a
# failure is kept.
take() {
	t_name=$1 t_file=$2
	shift 2
	t_at=$(now) t_from=$(date +%s)
	"$@" >"$dir/$t_file" 2>"$work/error" </dev/null
	t_status=$?
	t_error='' t_state='done'
	if [ $t_status -ne 0 ]; then
		t_state=partial
		t_error=$(head -n 1 "$work/error")
		case $t_status in
		# curl 18, 52 and 56 and wget 4 say that the other side ended the connection.
		4 | 18 | 52 | 56) cut=1 ;;
		esac
		case $t_status in
		28 | 124 | 137 | 143) t_error="no end within ${budget}s" ;;
		*) [ -n "$t_error" ] || t_error="it ended with status $t_status" ;;
		esac
		[ "$(wc -c <"$dir/$t_file")" -lt "$longest" ] || t_error='it is longer than what is kept of one file'
	fi
	if [ -n "$due" ] && { [ $t_status -eq 0 ] || [ -s "$dir/$t_file" ]; } && t_instead=$(instead "$dir/$t_file"); then
		# A few bytes before a failure say nothing.
		if [ $t_status -eq 0 ] || [ "$(wc -c <"$dir/$t_file")" -ge 64 ]; then t_error=$t_instead; fi
		printf '' >"$dir/$t_file"
	fi
	if [ -s "$dir/$t_file" ]; then
		step "$t_name" $t_state "$t_file" "$t_at" "$t_from" "$t_error" "$(wc -c <"$dir/$t_file")" '' "$(hash <"$dir/$t_file")"
		[ $t_state = 'done' ]
		return
	fi
	rm -f "$dir/$t_file"
	[ -z "$t_error" ] && step "$t_name" 'done' '' "$t_at" "$t_from" '' && return 1
	step "$t_name" failed '' "$t_at" "$t_from" "$t_error"
	return 1
}

# asked BODY take-arguments... is a step whose file is an answer.
asked() {
	due=$1
	shift
	take "$@"
	set -- $?
	due=''
	return "$1"
}

# value FILE gives the first line of a file.
value() { head -n 1 "$1" 2>/dev/null; }

# whose LIST sets address to that of the process, out of lines "N=ADDRESS",
# "NAME=ADDRESS" and plain addresses, and of to how many processes it would be of.
whose() {
	address='' of=1
	while IFS= read -r line; do
		case $line in
		'') continue ;;
		"$pid="*)
			address=${line#*=} of=1
			return
			;;
		"$name="* | "$wanted="*) address=${line#*=} of=$alike ;;
		*) if plain "$line"; then address=$line of=$alike; fi ;;
		esac
	done <<ADDRESSES
$1
ADDRESSES
}

# ambiguous STEP files a step whose address is that of one process, nobody knows which.
ambiguous() {
	[ "$of" -gt 1 ] || return
	skip "$1" failed "$of processes are called $wanted: say whose address it is with PID=URL"
}

# started FILE gives field 22 of stat, name what stands in its parentheses, which may
# hold anything: it ends at the last one.
started() { tr '\n' ' ' 2>/dev/null <"$1" | sed 's/.*) //' | cut -d' ' -f20; }
called() { tr '\n' ' ' 2>/dev/null <"$1" | sed 's/^[0-9]* (\(.*\)) .*/\1/'; }

# dead FILE says whether stat is that of a zombie, which nobody has waited for, or of
# nothing.
dead() { case $(tr '\n' ' ' 2>/dev/null <"$1" | sed 's/.*) //' | cut -c1) in Z | X | '') ;; *) return 1 ;; esac }

# memory FILE gives field 23 of stat, the size of the address space in bytes.
memory() { tr '\n' ' ' 2>/dev/null <"$1" | sed 's/.*) //' | cut -d' ' -f21; }

# alive says whether the process that is captured is there. A process that ends gives up
# its memory before its files and before its state changes: whoever sees its connections
# closed must see this (do_exit in kernel/exit.c).
alive() {
	! dead "$proc/$pid/stat" && [ "$(started "$proc/$pid/stat")" = "$first" ] || return
	[ "$mapped" = 0 ] || [ "$(memory "$proc/$pid/stat")" != 0 ]
}

# named NAME lists the pids of a name: the kernel's, or the executable's.
named() {
	for n_dir in "$proc"/[0-9]*; do
		n_pid=${n_dir##*/}
		[ "$n_pid" != $$ ] || continue
		n_exe=$(readlink "$n_dir/exe" 2>/dev/null)
		n_exe=${n_exe% (deleted)}
		if [ "${n_exe##*/}" = "$1" ] || [ "$(called "$n_dir/stat")" = "$1" ]; then
			# A zombie has no files.
			dead "$n_dir/stat" || echo "$n_pid"
		fi
	done
}

# BusyBox's wget takes headers as arguments only, which everybody sees, and sends them
# along to wherever an answer leads.
busybox=''
if ! has curl && has wget && wget --help 2>&1 | grep -q BusyBox; then
	busybox=1
	[ -z "$header" ] || fail "--header-file needs curl or GNU wget: the wget of BusyBox would show it to everybody, and send it along to wherever an answer leads"
fi

# The headers go to the programs in files, where others cannot read them.
: >"$work/curlrc"
: >"$work/wgetrc"
if [ -n "$header" ]; then
	while IFS= read -r line || [ -n "$line" ]; do
		case $line in
		'') continue ;;
		*:*) ;;
		*) line="Authorization: Bearer $line" ;;
		esac
		printf 'header = "%s"\n' "$(printf '%s' "$line" | sed 's/\\/\\\\/g; s/"/\\"/g')" >>"$work/curlrc"
		printf 'header = %s\n' "$line" >>"$work/wgetrc"
	done <"$header"
fi

# get ADDRESS HOME BELOW writes the body of an answer.
get() {
	g_url=$1 g_socket=''
	printf '' >"$work/head"
	case $g_url in
	unix:*)
		g_socket=/${g_url#unix:}
		while case $g_socket in //*) ;; *) false ;; esac do g_socket=${g_socket#/}; done
		[ -e "$g_socket" ] || g_socket=$proc/$pid/root$g_socket
		g_url=http://localhost$2
		;;
	*://*) ;;
	*) g_url=http://$g_url ;;
	esac
	g_url=${g_url%%\?*}
	g_url=${g_url%/}
	case ${g_url#*://} in */*) ;; *) g_url=$g_url$2 ;; esac
	g_url=${g_url%/goroutine}$3
	g_inside=''
	[ -n "$g_socket" ] || elsewhere || return
	if has curl; then
		limited ${g_inside:+nsenter "-n$g_inside"} curl -q -K "$work/curlrc" -D "$work/head" -NgfsSL --max-redirs 0 --max-time "$budget" ${insecure:+-k} ${g_socket:+--unix-socket "$g_socket"} "$g_url"
		return
	fi
	if [ -n "$g_socket" ]; then
		echo 'a socket needs curl, which is not installed' >&2
		return 1
	fi
	if ! has wget; then
		echo 'neither curl nor wget is installed' >&2
		return 1
	fi
	if [ -n "$busybox" ]; then
		# Its -T crashes in some releases; limited has the time.
		limited ${g_inside:+nsenter "-n$g_inside"} wget -q ${insecure:+--no-check-certificate} -O - "$g_url"
		return
	fi
	(
		WGETRC=$work/wgetrc
		export WGETRC
		limited ${g_inside:+nsenter "-n$g_inside"} wget -nv -S -t 1 -T "$budget" --max-redirect=0 ${insecure:+--no-check-certificate} -O - "$g_url" 2>"$work/wget"
	)
	g_status=$?
	cat "$work/wget" >"$work/head"
	[ $g_status -eq 0 ] || sed -n 's|^ *HTTP/[0-9.]* |the endpoint answered |p; s/.*failed: /wget: /p; /exceeded/p; /^ERROR/p' "$work/wget" >&2
	return $g_status
}

# elsewhere finds out whether an address of loopback is that of another network
# namespace: it means the process' own.
elsewhere() {
	g_host=${g_url#*://}
	g_host=${g_host%%/*}
	case ${g_host##*@} in
	localhost | localhost:* | 127.* | 0.0.0.0* | '[::1]'* | '[::]'*) ;;
	*) return 0 ;;
	esac
	g_theirs=$(readlink "$proc/$pid/ns/net" 2>/dev/null)
	[ -n "$g_theirs" ] && [ "$g_theirs" != "$(readlink /proc/self/ns/net)" ] || return 0
	if ! has nsenter; then
		echo "the endpoint is in the process' own network namespace, and nsenter is not installed" >&2
		return 1
	fi
	g_inside=$proc/$pid/ns/net
}

unpacked() {
	get "$@" >"$work/packed"
	u_status=$?
	if limited gzip -t "$work/packed" 2>/dev/null || [ $u_status -ne 0 ]; then
		limited gzip -dc "$work/packed" 2>/dev/null || [ $u_status -ne 0 ] || u_status=1
	else
		cat "$work/packed"
	fi
	return $u_status
}

# An endpoint that did not answer is not asked again in this round: every request that
# hangs is one goroutine more.
goroutines() {
	if ! asked debug=1 'goroutines debug=1' goroutine.debug1.txt get "$1" /debug/pprof '/goroutine?debug=1'; then
		for g_name in proto debug=2; do
			skip "goroutines $g_name" skipped 'the endpoint did not give debug=1, and is not asked again in this round'
		done
		return
	fi
	total=$(sed -n '1s/^goroutine profile: total \([0-9][0-9]*\)$/\1/p' "$dir/goroutine.debug1.txt")
	asked proto 'goroutines proto' goroutine.pb unpacked "$1" /debug/pprof /goroutine
	if [ -z "$force" ] && [ "${total:-0}" -gt "$most" ]; then
		skip 'goroutines debug=2' skipped "$total goroutines would stop the world for about $((total / 100)) ms, at 10 us each; the limit is $most (--max-goroutines, --force)"
		return
	fi
	asked debug=2 'goroutines debug=2' goroutine.debug2.txt get "$1" /debug/pprof '/goroutine?debug=2'
}

# masked hides the secrets of a command line.
masked() {
	tr '\000\n' '\n\001' <"$1" | sed -E '
:again
s#(://)[^/[:space:]]+@#\1***@#g
/^--?[A-Za-z0-9_.-]*([Tt][Oo][Kk][Ee][Nn]|[Pp][Aa][Ss][Ss][Ww][Oo]?[Rr]?[Dd]|[Pp][Aa][Ss][Ss][Pp][Hh][Rr][Aa][Ss][Ee]|[Ss][Ee][Cc][Rr][Ee][Tt]|([Aa][Pp][Ii]|[Aa][Cc][Cc][Ee][Ss][Ss])[-_.]?[Kk][Ee][Yy]|[Cc][Rr][Ee][Dd][Ee][Nn][Tt][Ii][Aa][Ll])[A-Za-z0-9_.-]*(=|$)/{
/^[^=]*([Ff][Ii][Ll][Ee]|[Pp][Aa][Tt][Hh]|[Dd][Ii][Rr]|[Nn][Aa][Mm][Ee]|[Tt][Tt][Ll]|[Mm][Oo][Dd][Ee]|[Tt][Yy][Pp][Ee]|[Ee][Nn][Aa][Bb][Ll][Ee][Dd]?)(=|$)/b
/=/{
s/=.*/=***/
b
}
n
/^-/b again
s/..*/***/
}' | tr '\n\001' '\000\n'
}

# links DIRECTORY BETWEEN writes links as lines of number and target, most of them by one
# ls: with a program for each, many would take minutes. BusyBox's ls writes "?" for what
# is odd in a target, as is done here with a line break, which others write as it is:
# these are read one by one, as long as the step has time.
links() {
	limited ls -ln "$1" >"$work/lines"
	k_status=$?
	sed -e ':a' -e '$!N' -e '/\nl[rwx-]\{9\} [^>]* [0-9][0-9]* -> /!s/\n/?/' -e 'ta' -e 'P' -e 'D' "$work/lines" >"$work/links"
	rm -f "$work/lines"
	sed -n "/?/d; s/^l[^>]* \([0-9][0-9]*\) -> /\1$2/p" "$work/links"
	odd=$(sed -n 's/^l[^>]* \([0-9][0-9]*\) -> .*?.*/\1/p' "$work/links")
	rm -f "$work/links"
	for link in $odd; do
		[ "$(date +%s)" -le $((from + budget)) ] || return 124
		target=$(readlink "$1/$link") || continue
		[ "$2" = ' ' ] || target=$(printf '%s' "$target" | tr '\n' ' ')
		printf '%s%s%s\n' "$link" "$2" "$target"
	done
	return $k_status
}

# crowded NAME says whether a directory has so many files that they would be too many
# for a reader after some rounds.
crowded() { [ "$(ls "$proc/$pid/$1" 2>/dev/null | wc -l)" -gt $many ]; }

descriptors() {
	at=$(now) from=$(date +%s)
	if crowded fdinfo; then
		# As one, each below its name. /dev/null makes tail print the name even of a single
		# file.
		(cd "$proc/$pid" && limited find fdinfo -type f -exec tail -n +1 /dev/null {} +) >"$work/joined" 2>"$work/error"
		status=$?
		grep -v '^==> /dev/null <==$' "$work/joined" >"$dir/fdinfo.txt"
		rm -f "$work/joined"
		files=$(grep -c '^==> fdinfo/' "$dir/fdinfo.txt")
	else
		limited cp -R "$proc/$pid/fdinfo" "$dir/" 2>"$work/error"
		status=$?
		chmod -R u+rwX "$dir/fdinfo" 2>/dev/null
		# What was closed meanwhile is empty; no fdinfo of an open descriptor is.
		find "$dir/fdinfo" -type f -size 0 -exec rm -f {} + 2>/dev/null
		files=$(find "$dir/fdinfo" -type f 2>/dev/null | wc -l)
	fi
	watches=$(find "$dir" -path '*/fdinfo*' -type f -exec cat {} + 2>/dev/null | grep -c '^inotify ')
	directory fdinfo
	infos=$files
	[ $infos -eq 0 ] || seen=$watches
	at=$(now) from=$(date +%s)
	if crowded fd; then
		links "$proc/$pid/fd" ' -> ' >"$dir/fd.txt" 2>"$work/error"
		status=$?
		files=$(wc -l <"$dir/fd.txt")
	else
		limited cp -PR "$proc/$pid/fd" "$dir/" 2>"$work/error"
		status=$?
		chmod u+rwx "$dir/fd" 2>/dev/null
		files=$(find "$dir/fd" ! -type d 2>/dev/null | wc -l)
	fi
	directory fd
	# As a reader counts them; the links are read a moment later.
	fds=$infos
	[ $infos -ne 0 ] || fds=$files
	[ $fds -eq $files ] || [ $files -eq 0 ] || later=" (a moment later $files)"
	[ $fds -ne 0 ] || fds=''
}

# directory NAME files the step of a directory of files or links, or of the one file in
# its place.
directory() {
	files=$((files))
	if [ $files -eq 0 ]; then
		rm -rf "${dir:?}/$1" "$dir/$1.txt"
		error=$(head -n 1 "$work/error")
		case $status in 137 | 124 | 143) error="no end within ${budget}s" ;; esac
		[ -n "$error" ] || error='it is empty'
		step "$1" failed '' "$at" "$from" "$error"
		return
	fi
	error=''
	case $status in 137 | 124 | 143) error="no end within ${budget}s" ;; esac
	state='done'
	[ -z "$error" ] || state=partial
	if [ -e "$dir/$1.txt" ]; then
		step "$1" $state "$1.txt" "$at" "$from" "$error" "$(wc -c <"$dir/$1.txt")" '' "$(hash <"$dir/$1.txt")"
		return
	fi
	case $1 in
	fd) links "$dir/fd" ' ' >"$work/sums" 2>/dev/null ;;
	*) (cd "$dir/$1" && find . -type f -exec sha256sum {} + 2>/dev/null | sed 's|^\([0-9a-f]*\) [ *]\./\(.*\)$|\2 \1|') >"$work/sums" ;;
	esac
	# A target with a line break has no place in the order of lines.
	sum=''
	[ "$(wc -l <"$work/sums")" -ne $files ] || sum=$(sort "$work/sums" | hash)
	rm -f "$work/sums"
	step "$1" $state "$1/" "$at" "$from" "$error" '' $files "$sum"
}

# cgroups lists the inodes of all cgroups under the paths that the process sees. Files
# are listed too where a watch asks for events that directories do not have alone.
cgroups() {
	only='-type d'
	for mask in $(find "$dir" -path '*/fdinfo*' -type f -exec sed -n 's/^inotify .* mask:\([0-9a-f]*\) .*/\1/p' {} + | sort -u); do
		[ $((0x$mask & 0x300)) -ne 0 ] || only=''
	done
	while read -r _ _ _ root point rest; do
		case $rest in *' - cgroup '* | *' - cgroup2 '*) ;; *) continue ;; esac
		[ "$root" = / ] || continue
		# shellcheck disable=SC2086
		limited find "$proc/$pid/root$point" $only -exec ls -di {} + 2>>"$work/unlisted"
		case $? in
		124 | 137 | 143)
			# The time of the step is up.
			echo cut >"$work/cut"
			break
			;;
		esac
	done <"$dir/mountinfo" | sed "s|^ *\([0-9]*\) $proc/$pid/root/|\1 /|"
	[ ! -e "$work/cut" ] || return 124
	if grep -q denied "$work/unlisted" 2>/dev/null; then
		echo 'some cgroups may not be read' >&2
		return 1
	fi
}

sysctls() {
	for setting in inotify/max_user_instances inotify/max_user_watches inotify/max_queued_events file-nr; do
		printf '/proc/sys/fs/%s:%s\n' "$setting" "$(cat "$proc/sys/fs/$setting")"
	done
}

kernel() {
	descriptors
	for file in mountinfo stat status limits cgroup; do take $file $file limited cat "$proc/$pid/$file"; done
	take cmdline cmdline masked "$proc/$pid/cmdline"
	for table in tcp tcp6 udp udp6 unix netlink packet; do
		[ ! -e "$proc/$pid/net/$table" ] || take net/$table proc_net_$table limited cat "$proc/$pid/net/$table"
	done
	take sysctls inotify-sysctls.txt sysctls
	[ "$watches" -eq 0 ] && return
	printf '' >"$work/unlisted"
	rm -f "$work/cut"
	take 'cgroup inodes' cgroup-inodes.txt cgroups
	skip 'watch targets' skipped 'a shell cannot open file handles; leakdiff collect can'
}

lsof_of() {
	if ! has lsof; then
		skip lsof skipped 'lsof is not installed; fd/, fdinfo/ and proc_net_* say the same'
	elif lsof -v 2>&1 | grep -qi 'revision'; then
		take lsof lsof.txt limited lsof -nP -p "$pid"
	else
		skip lsof skipped 'this lsof cannot list one process; fd/, fdinfo/ and proc_net_* say the same'
	fi
}

# only_roots FILE says whether a file and all directories above it belong to root, and
# nobody else can write them or, in a sticky directory, replace what is root's.
only_roots() {
	r_path=$(readlink -f "$1" 2>/dev/null)
	while [ -n "$r_path" ]; do
		# shellcheck disable=SC2046
		set -- $(ls -ldn "$r_path" 2>/dev/null)
		[ "${3:-}" = 0 ] || return 1
		case $1 in ?????-??-* | d????????[tT]*) ;; *) return 1 ;; esac
		[ "$r_path" != / ] || return 0
		r_path=${r_path%/*}
		[ -n "$r_path" ] || r_path=/
	done
	return 1
}

# beside NAME gives the program of the process' own installation, else of PATH. The
# process chose its installation: unless the program runs as the user of the process
# it must be one that only root can change.
beside() {
	case $exe in
	/*) [ -x "${exe%/*}/$1" ] && { [ -n "$own" ] || only_roots "${exe%/*}/$1"; } && printf '%s\n' "${exe%/*}/$1" && return ;;
	esac
	command -v "$1"
}

# attach_as finds out how a program runs as the user of the process, as the attach
# protocol wants it; own says that this user is not root.
attach_as() {
	as='' own=''
	# shellcheck disable=SC2046
	set -- $(sed -n 's/^[UG]id://p' "$proc/$pid/status" 2>/dev/null)
	[ "${2:-0}" != 0 ] && [ -n "${6:-}" ] || return
	if [ "$(id -u)" = "$2" ]; then
		own=1
		return
	fi
	[ "$(id -u)" = 0 ] || return
	for way in "setpriv --reuid $2 --regid $6 --clear-groups" "nsenter -S $2 -G $6"; do
		if [ "$($way id -u </dev/null 2>/dev/null)" = "$2" ]; then
			as=$way own=1
			return
		fi
	done
}

threads() {
	attach_as
	jcmd=$(beside jcmd) jstack=$(beside jstack)
	if [ -z "$jcmd$jstack" ]; then
		skip threads skipped 'neither jcmd nor jstack is installed here where only root could have changed it: run the script inside the container, or use --sigquit'
		return
	fi
	take threads thread-dump.txt dumped
}

# dumped tries jcmd, else jstack, in the forms of newer and older releases. The first
# that ends well gives the dump; where none does, the first one's complaint is told,
# and what it wrote is kept.
dumped() {
	d_status=0
	if [ -n "$jcmd" ]; then try "$jcmd" "$pid" Thread.print -l -e && return; fi
	if [ -n "$jstack" ]; then
		try "$jstack" -l -e "$pid" && return
		try "$jstack" -l "$pid" && return
	fi
	# jcmd begins with a line for the pid.
	[ "$(wc -l <"$work/dump.first")" -le 1 ] || cat "$work/dump.first"
	grep -v '^Picked up ' "$work/complaint.first" >&2
	return $d_status
}

try() {
	case $d_status in 124 | 137 | 143) return 1 ;; esac
	# Another user may not be allowed to be here.
	# shellcheck disable=SC2086
	(cd / && limited $as "$@") >"$work/dump" 2>"$work/complaint"
	t_status=$?
	if [ $t_status -eq 0 ]; then
		cat "$work/dump"
		return
	fi
	if [ $d_status -eq 0 ]; then
		d_status=$t_status
		cat "$work/dump" >"$work/dump.first"
		cat "$work/complaint" >"$work/complaint.first"
	fi
	return 1
}

# caught NUMBER says whether the process has a handler for a signal up to 16.
caught() {
	set -- "$1" "$(sed -n 's/^SigCgt:[[:space:]]*//p' "$proc/$pid/status" 2>/dev/null)"
	[ -n "$2" ] && [ $((0x${2#????????????} & (1 << ($1 - 1)))) -ne 0 ]
}

option_of() { sed -n "s/^$1=//p" "$work/options" | head -n 1; }

node_report() {
	{
		tr '\000' '\n' 2>/dev/null <"$proc/$pid/cmdline"
		tr '\000' '\n' 2>/dev/null <"$proc/$pid/environ" | sed -n 's/^NODE_OPTIONS=//p' | tr ' ' '\n'
	} >"$work/options" 2>/dev/null
	if [ -z "$nodereport" ] && ! grep -q '^--report-on-signal$' "$work/options"; then
		skip 'node report' skipped 'node was not started with --report-on-signal; --node-report sends SIGUSR2 all the same, if something in it catches that'
		return
	fi
	if [ -n "$(option_of --report-signal)" ] && [ "$(option_of --report-signal)" != SIGUSR2 ]; then
		skip 'node report' skipped 'it answers another signal than SIGUSR2, which leakdiff collect can send'
		return
	fi
	if ! caught 12; then
		skip 'node report' skipped 'the process does not catch signal 12, which would end it'
		return
	fi
	if ! may_ask; then
		skip 'node report' skipped "$why"
		return
	fi
	reports=$(option_of --report-directory)
	[ -n "$reports" ] || reports=$(option_of --report-dir)
	[ -n "$reports" ] || reports=$(option_of --diagnostic-dir)
	case $reports in /*) ;; *) reports=$(readlink "$proc/$pid/cwd")/$reports ;; esac
	reports=$proc/$pid/root$reports
	pattern=$(option_of --report-filename)
	take 'node report' node-report.json new_report
}

# may_ask says whether the process may get a signal: the capture goes on, and the pid
# is still that process', also as we number it.
may_ask() {
	if [ -n "$stopping" ]; then
		why='the capture was ended before the signal was sent'
	elif ! alive; then
		why='the process has ended'
	elif [ "$(started "/proc/$pid/stat")" != "$first" ]; then
		why="pid $pid of $proc is not that process here: no signal can be sent to it"
	else
		return 0
	fi
	return 1
}

# signal NAME is sent to the process that was opened, or to none.
signal() {
	may_ask && kill "-$1" "$pid" && printf '%s\n' "$1" >"$work/sent" && return
	printf '%s\n' "$why" >&2
	return 1
}

# new_report waits for a report that was not there before, or not in this form, copies
# and removes it.
new_report() {
	# A report of a fixed name is written over the one before.
	cat "$reports/${pattern:-none}" >"$work/before" 2>/dev/null
	find "$reports/" -maxdepth 1 -name "${pattern:-report.*.json}" >"$work/known" 2>/dev/null
	signal USR2 || return 1
	until=$(($(date +%s) + budget))
	while [ "$(date +%s)" -le $until ]; do
		sleep 1
		for file in "$reports"/${pattern:-report.*.json}; do
			[ -s "$file" ] || continue
			if grep -qxF -e "$file" -e "$reports/${file##*/}" "$work/known"; then
				[ -n "$pattern" ] && [ "$(cat "$file")" != "$(cat "$work/before")" ] || continue
			fi
			# A report ends with the brace that closes it, on one line with its last list.
			case $(tail -n 1 "$file") in '}' | '{'*'"sharedObjects":['*']}') ;; *) continue ;; esac
			without_secrets <"$file" >"$work/report"
			rm -f "$file"
			if grep -q '"environmentVariables"' "$work/report"; then
				echo 'its environment could not be taken out of it: leakdiff collect can' >&2
				return 1
			fi
			cat "$work/report"
			return
		done
	done
	return 124
}

# without_secrets takes the environment and the words of the command line out of a
# report, which is one line or a line for each value. cmdline has the words, masked.
without_secrets() {
	sed -E '
s/"environmentVariables":\{("([^"\]|\\.)*":"([^"\]|\\.)*",?)*\},?//g
s/"commandLine":\[("([^"\]|\\.)*",?)*\]/"commandLine":[]/g
/^ *"environmentVariables": \{\},?$/d
/^ *"environmentVariables": \{$/,/^ *\},?$/d
/^ *"commandLine": \[$/,/^ *\],?$/{
/^ *"commandLine": \[$/b
/^ *\],?$/b
d
}'
}

# stacks sends SIGQUIT, and copies what the process then writes to a file.
stacks() {
	[ -n "$java" ] || [ $((round + 1)) -eq "$count" ] || return
	if ! may_ask; then
		skip sigquit skipped "$why"
		return
	fi
	number=2
	[ -z "$java" ] || number=1
	target=$(readlink "$proc/$pid/fd/$number")
	if [ ! -f "$proc/$pid/fd/$number" ]; then
		if ! signal QUIT 2>"$work/error"; then
			skip sigquit failed "$(head -n 1 "$work/error")"
			return
		fi
		skip sigquit skipped "SIGQUIT was sent; the stacks went to $target, which is no file: save them from there (journalctl _PID=$pid, kubectl logs)"
		return
	fi
	take sigquit sigquit.txt grown "$proc/$pid/fd/$number"
}

grown() {
	if ! { [ -r "$1" ] && size=$(wc -c <"$1"); }; then
		echo "$target cannot be read: no signal was sent" >&2
		return 1
	fi
	# Opened before the signal: the process, and with it the link, may be gone after. What
	# cannot be opened ends a subshell only.
	(
		exec 3<"$1" || exit 1
		signal QUIT || exit 1
		until=$(($(date +%s) + budget)) before=-1
		while [ "$(date +%s)" -lt $until ]; do
			sleep 1
			after=$(wc -c </dev/fd/3 2>/dev/null || wc -c <"$1" 2>/dev/null || echo "$before")
			[ "$after" = "$before" ] && [ "$after" -gt "$size" ] && break
			before=$after
		done
		tail -c +$((size + 1)) <&3
	)
}

safe() { printf '%s' "$1" | tr -c 'A-Za-z0-9_.-' '_' | cut -c1-64; }

pods() {
	[ -n "$uid" ] || [ "$watches" -gt 0 ] || return
	for logs in /var/log/pods "$proc/$pid/root/var/log/pods"; do
		[ -d "$logs" ] && ls "$logs"
	done 2>/dev/null | sort -u | while IFS=_ read -r namespace pod id; do
		[ -n "$id" ] || continue
		printf '%s{"uid": %s, "namespace": %s, "name": %s}' "${comma:-}" "$(json "$id")" "$(json "$namespace")" "$(json "$pod")"
		comma=', '
	done
}

manifest() {
	ticks=$first
	boot=$(sed -n 's/^btime //p' "$proc/stat")
	born=''
	[ -z "$boot$ticks" ] || born=$(date -u -d "@$((boot + ticks / 100))" +%Y-%m-%dT%H:%M:%SZ 2>/dev/null)
	inner=$(sed -n 's/^NSpid:.*[[:space:]]\([0-9]*\)[[:space:]]\([0-9]*\)$/\2/p' "$dir/status" 2>/dev/null)
	{
		printf '{"schema": "leakdiff.capture/1", "tool": "%s", "host": %s, "kernel": %s, "boot_id": %s,\n' "$tool" "$(json "$host")" "$(json "$(uname -r)")" "$(json "$(value "$proc/sys/kernel/random/boot_id")")" &&
			printf ' "round": %d, "rounds": %d, "every_seconds": %d, "started": "%s", "ended": "%s",%s%s\n' "$round" "$count" "$every" "$begun" "$(now)" "${late:+ \"late_seconds\": $late,}" "${stopping:+ \"interrupted\": true,}" &&
			printf ' "process": {"name": %s, "pid": %d, "start_ticks": %d' "$(json "$name")" "$pid" "${ticks:-0}" &&
			{ [ -z "$born" ] || printf ', "started": "%s"' "$born"; } &&
			{ [ -z "$inner" ] || printf ', "inner_pid": %d' "$inner"; } &&
			{ [ -z "$exe" ] || printf ', "executable": %s' "$(json "$exe")"; } &&
			{ [ -z "$container" ] || printf ', "container": "%s"' "$container"; } &&
			{ [ -z "$uid" ] || printf ', "pod_uid": "%s"' "$uid"; } &&
			printf ', "mount_namespace": %s' "$(json "$(readlink "$proc/$pid/ns/mnt" 2>/dev/null)")" &&
			printf ', "network_namespace": %s},\n' "$(json "$(readlink "$proc/$pid/ns/net" 2>/dev/null)")" &&
			printf ' "load": {"goroutines": %d, "stop_ms_estimate": %d, "max_goroutines": %d, "step_seconds": %d},\n' "${total:--1}" "$((${total:-0} / 100))" "$most" "$budget" &&
			printf ' "pods": [%s],\n "steps": [\n' "$(pods)" &&
			cat "$work/steps" &&
			printf '\n ]\n}\n'
	} 2>/dev/null >"$dir/manifest.json" || unwritten "the manifest of $name ($pid) in t$round"
}

# visit PID ALIKE WANTED captures one process once, that was found by its name with so
# many alike, or by its pid.
visit() {
	pid=$1 alike=$2 wanted=$3
	first=$(started "$proc/$pid/stat")
	name=$(called "$proc/$pid/stat")
	[ -n "$first" ] && ! dead "$proc/$pid/stat" || return 1
	mapped=$(memory "$proc/$pid/stat") cut=''
	exe=$(readlink "$proc/$pid/exe" 2>/dev/null)
	exe=${exe% (deleted)}
	case ${#name}${exe##*/} in 15"$name"*) name=${exe##*/} ;; esac
	container=$(grep -oE '[0-9a-f]{64}' "$proc/$pid/cgroup" 2>/dev/null | tail -n 1)
	uid=$(grep -oE 'pod([0-9a-f]{8}([-_][0-9a-f]{4}){3}[-_][0-9a-f]{12}|[0-9a-f]{32})' "$proc/$pid/cgroup" 2>/dev/null | head -n 1 | tr _ -)
	uid=${uid#pod}
	dir=$work/$top/t$round/$(safe "$name")-$pid
	if ! mkdir -p "$dir"; then
		unwritten "$dir"
		return 1
	fi
	begun=$(now) total='' watches=0 java='' lost=0 quit='' fds='' later='' seen=''
	printf '' >"$work/steps"
	rm -f "$work/sent"
	case ${exe##*/} in java) [ -z "$jvm" ] || java=1 ;; esac
	# A JVM that is asked for the first time opens a socket, which it keeps: that comes
	# before its descriptors are read, so that the first round has it as those after it.
	attached=''
	grep -q "^$pid $first " "$work/seen" && attached=1
	[ -z "$java" ] || [ -n "$attached" ] || threads
	kernel
	whose "$pprofs"
	[ -z "$address" ] || ambiguous 'goroutines debug=1' || goroutines "$address"
	whose "$metrics"
	[ -z "$address" ] || ambiguous metrics || asked metrics metrics metrics.txt get "$address" /metrics ''
	[ -z "$lsof" ] || lsof_of
	case ${exe##*/} in
	java)
		java=1
		[ -z "$jvm" ] || [ -z "$attached" ] || threads
		;;
	node | nodejs) node_report ;;
	esac
	[ -z "$sigquit" ] || stacks
	# A server closes its connections before its process ends.
	[ -z "$cut" ] || ! alive || sleep 1
	if ! alive; then
		case $(value "$work/sent") in
		QUIT)
			quit='it ended by SIGQUIT, as asked'
			skip process 'done' "$quit"
			;;
		*) skip process failed 'the process has ended during this round' ;;
		esac
	fi
	manifest
	told="${total:+ $(counted "$total" goroutine goroutines),}${fds:+ $(counted "$fds" descriptor descriptors)$later,}${seen:+ $(counted "$seen" watch watches),}${quit:+ $quit,}$([ $lost -eq 0 ] || echo " $(counted $lost 'step failed' 'steps failed'),")"
	say "t$round of $count: $name ($pid):${told%,}"
}

# counted N ONE MANY is a number with the form of a word that fits it.
counted() {
	if [ "$1" = 1 ]; then echo "$1 $2"; else echo "$1 $3"; fi
}

# ended PID NAME writes, once, that a process is there no longer.
ended() {
	pid=$1 name=$2
	dir=$work/$top/t$round/$(safe "$name")-$pid-ended
	mkdir -p "$dir" || return
	begun=$(now) total='' watches=0 exe='' container='' uid='' first=$3 lost=0
	printf '' >"$work/steps"
	skip process failed 'the process has ended'
	manifest
}

top=leakdiff-$(safe "$host")-$(date -u +%Y%m%dT%H%M%SZ)
mkdir -p "$work/$top"
printf '' >"$work/seen"
start=$(date +%s) round=0 captures=0
while [ $round -lt "$count" ] && [ -z "$stopping" ]; do
	# In short sleeps: a signal that comes just before one is noticed after it.
	while [ -z "$stopping" ] && [ $((start + round * every)) -gt "$(date +%s)" ]; do sleep 1; done
	[ -z "$stopping" ] || break
	late=$(($(date +%s) - start - round * every))
	if [ $late -ge 2 ] && [ $((late * 10)) -ge "$every" ]; then
		say "warning: t$round begins $late s late: a round takes longer than --every ${every}s"
	else
		late=''
	fi
	# Lines "PID ALIKE NAME", each process once.
	printf '' >"$work/all"
	while IFS= read -r wanted; do
		[ -n "$wanted" ] || continue
		found=$(named "$wanted")
		for one in $found; do
			grep -q "^$one " "$work/all" || printf '%s %d %s\n' "$one" "$(printf '%s\n' "$found" | wc -l)" "$wanted" >>"$work/all"
		done
	done <<NAMES
$names
NAMES
	for one in $pids $more; do
		grep -q "^$one " "$work/all" || printf '%s 1 %s\n' "$one" "$one" >>"$work/all"
	done
	found=0
	printf '' >"$work/present"
	for one in $(cut -d' ' -f1 "$work/all"); do
		called=$(sed -n "s/^$one //p" "$work/all")
		if visit "$one" "${called%% *}" "${called#* }"; then
			found=$((found + 1))
			printf '%s %s %s\n' "$pid" "$first" "$name" >>"$work/present"
		fi
		[ -z "$stopping" ] || break
	done
	while read -r one ticks called; do
		[ -z "$stopping" ] || break
		grep -q "^$one $ticks " "$work/present" || ended "$one" "$called" "$ticks"
	done <"$work/seen"
	cat "$work/present" >"$work/seen"
	captures=$((captures + found))
	if [ $captures -eq 0 ] && [ -z "$stopping" ]; then
		fail "there is no such process below $proc"
	fi
	if [ $found -eq 0 ] && [ -z "$stopping" ]; then
		say 'no process is left to capture'
		break
	fi
	round=$((round + 1))
done
[ -z "$stopping" ] || say "warning: ended by a signal after $round of $count rounds; the archive holds what was there"
[ $captures -gt 0 ] || exit 2

# From here on nothing may interrupt: the archive is whole or not there.
trap '' INT TERM HUP PIPE

# pack writes the archive to standard output. It fails where tar or gzip does: the
# status of a pipeline is that of its last program alone.
pack() {
	{
		p_lost=$(
			exec 3>&1
			{ (cd "$work" && tar -cf - "$top") || echo tar >&3; } | { gzip -c >&4 || echo gzip >&3; }
		)
	} 4>&1
	[ -z "$p_lost" ]
}

if [ "$out" = - ]; then
	pack && exit
elif pack >"$out.partial" && mv "$out.partial" "$out"; then
	say "$out: $(($(wc -c <"$out"))) bytes; read it with: leakdiff report $out"
	exit 0
else
	rm -f "$out.partial"
fi
keep=1
say "$out could not be written; what was captured is in $work" || keep=''
exit 2
