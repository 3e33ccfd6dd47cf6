#!/bin/sh
# collect.sh brings the files of running processes home for leakdiff, as one tar.gz, from nodes
# and containers where no program may be copied. It needs no more than BusyBox has; curl for the
# header of an endpoint, and nsenter for an endpoint in another network namespace. leakdiff
# collect takes more: command lines, targets of watches, pairs, threads, reports, metrics, lsof.
#   sh collect.sh --pid 4711 --pprof http://127.0.0.1:6060 --every 30s --count 10 -o capture.tar.gz
# A goroutine dump (debug=2) stops the whole process for about 10 us per goroutine. debug=1, which
# is cheap, is asked first, and debug=2 only up to --max-goroutines.

set -u
export LC_ALL=C
umask 077
unset QUOTING_STYLE TIME_STYLE LS_BLOCK_SIZE BLOCK_SIZE
unset http_proxy https_proxy all_proxy HTTP_PROXY HTTPS_PROXY ALL_PROXY

pids='' names='' pprofs='' every=30 count=10 budget=10 header='' insecure=''
longest=268435456 most=100000 host='' proc=/proc out=leakdiff-capture.tar.gz
usage() {
	cat <<'USAGE'
usage: sh collect.sh --pid N | --name NAME [options] -o FILE
  --pid N              process to capture; may be repeated
  --name NAME          every process of this name; may be repeated
  --pprof ADDRESS      URL or host:port of /debug/pprof; of several processes N=ADDRESS or NAME=ADDRESS
  --every 30s          time between the begins of two rounds
  --count 10           number of rounds
  --step-timeout 10s   the most that one step may take
  --header-file FILE   header lines for the endpoints, or a bare token; needs curl
  --insecure           take any certificate
  --max-goroutines N   no debug=2 above so many goroutines (100000)
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

while [ $# -gt 0 ]; do
	case $1 in
	--insecure) insecure=1 ;;
	-h | --help) usage && exit 0 ;;
	*)
		[ $# -ge 2 ] || fail "$1 is no option, or misses its value; --help lists them"
		case $1 in
		--pid) case $2 in *[!0-9]* | '') fail "$2 is no pid" ;; *) pids="$pids $2" ;; esac ;;
		--name) names="$names$2
" ;;
		--pprof) pprofs="$pprofs$2
" ;;
		--every) every=${2%s} ;;
		--count) count=$2 ;;
		--step-timeout) budget=${2%s} ;;
		--header-file) header=$2 ;;
		--max-goroutines) most=$2 ;;
		--hostname) host=$2 ;;
		--proc) proc=$2 ;;
		-o | --output) out=$2 ;;
		*) fail "$1 is no option of the script; --help lists them, and leakdiff collect has more" ;;
		esac
		shift
		;;
	esac
	shift
done
for value in "$every" "$count" "$budget" "$most"; do
	case $value in *[!0-9]* | '' | 0) fail "$value is no number above 0: times are in seconds" ;; esac
done
[ -n "$pids$names" ] || fail "no process was named: sh collect.sh --pid 4711 --pprof http://127.0.0.1:6060 -o capture.tar.gz"
[ -z "$header" ] || [ -r "$header" ] || fail "$header cannot be read"

has() { command -v "$1" >/dev/null 2>&1; }
for program in tar gzip mktemp find sed grep timeout sha256sum; do
	has $program || fail "$program is not installed, and nothing can be kept without it"
done
# wget takes headers as arguments only, which everybody sees, and sends them along to wherever
# an answer leads.
[ -z "$header" ] || has curl || fail "--header-file needs curl: wget would show it to everybody, and send it along to wherever an answer leads"

# plain ADDRESS says whether an address does not name its process: "PID=" or "NAME=".
plain() { case ${1%%=*} in "$1" | *[:/?]*) return 0 ;; esac && return 1; }

# shellcheck disable=SC2086
wanted=$(printf '%s\n' $pids && printf '%s' "$names")
while IFS= read -r line; do
	[ -n "$line" ] || continue
	whose=${line%%=*}
	! plain "$line" || whose=$wanted
	[ "$(printf '%s\n' "$whose" | grep -c .)" = 1 ] || fail "--pprof does not say which of several processes it is of: write --pprof PID=URL or --pprof NAME=URL"
	printf '%s\n' "$wanted" | grep -qxF -e "$whose" || fail "--pprof names $whose, a process that is not captured: name it with --pid or --name as well"
done <<ADDRESSES
$pprofs
ADDRESSES
[ -n "$host" ] || host=$(cat "$proc/sys/kernel/hostname" 2>/dev/null || uname -n)

# A reader of what is said that has gone ends the capture, as a signal does.
stopping='' keep='' due='' near=.
trap 'stopping=1' INT TERM HUP PIPE
case $out in -) near=${TMPDIR:-/tmp} ;; */*) near=${out%/*} ;; esac
work=$(mktemp -d -p "${near:-/}") || fail "no directory can be made in ${near:-/}"
trap '[ -n "$keep" ] || rm -rf "$work"' EXIT

# limited COMMAND... runs a program for the time of one step; its files end at the most that is
# kept of one, in blocks of 512 bytes. What is ignored here is an error there, and no signal.
limited() {
	(
		ulimit -f $((longest / 512)) 2>/dev/null
		trap '' XFSZ
		exec timeout -s KILL "$budget" "$@"
	)
}

now() { date -u +%Y-%m-%dT%H:%M:%SZ; }
# json TEXT writes a JSON string.
json() { printf '"%s"' "$(printf '%s' "$1" | tr '\000-\037\177' ' ' | sed 's/\\/\\\\/g; s/"/\\"/g')"; }
# unwritten WHAT ends the capture with what there is: there is no room for more.
unwritten() { stopping=1 && say "warning: $1 could not be written: is there room in ${near:-/}?"; }

# step NAME STATUS FILE AT ERROR files a step of the manifest.
step() {
	{
		[ ! -s "$work/steps" ] || printf ',\n'
		printf '  {"step": %s, "status": "%s", "at": "%s"' "$(json "$1")" "$2" "$4"
		[ -z "$3" ] || printf ', "file": %s, "bytes": %d, "sha256": "%s"' "$(json "$3")" "$(wc -c <"$dir/$3")" "$(sha256sum <"$dir/$3" | cut -d' ' -f1)"
		[ -z "$5" ] || printf ', "error": %s' "$(json "$5")"
		printf '}'
	} 2>/dev/null >>"$work/steps" || unwritten "the step $1 of t$round"
	case $2 in failed | partial) lost=$((lost + 1)) && say "warning: t$round: $1 of $name ($pid): $5" ;; esac
}
skip() { step "$1" "$2" '' "$(now)" "$3"; }

# take NAME FILE COMMAND... is a step that gives one file. What was written before a failure is
# kept. due is how an answer has to begin: a proxy that wants a login answers 200 as well.
take() {
	t_name=$1 t_file=$2 t_at=$(now) t_error='' t_state='done'
	shift 2
	"$@" >"$dir/$t_file" 2>"$work/error" </dev/null
	t_status=$? t_size=$(wc -c 2>/dev/null <"$dir/$t_file")
	if [ $t_status -ne 0 ]; then
		t_state=partial t_error=$(head -n 1 "$work/error")
		# curl 18, 52 and 56 and wget 4 say that the other side ended the connection.
		case $t_status in 4 | 18 | 52 | 56) cut=1 ;; 28 | 124 | 137 | 143) t_error="no end within ${budget}s" ;; esac
		[ -n "$t_error" ] || t_error="it ended with status $t_status"
		[ "${t_size:=0}" -lt "$longest" ] || t_error='it is longer than what is kept of one file'
	fi
	case $(head -c 18 "$dir/$t_file" | tr -d '\000') in "$due"*) ;; *)
		[ $t_status -ne 0 ] || t_error="the endpoint answered 200 without \"$due\" at its begin"
		t_size=0
		;;
	esac
	if [ "$t_size" -gt 0 ]; then
		step "$t_name" $t_state "$t_file" "$t_at" "$t_error"
		[ $t_state = 'done' ]
		return
	fi
	rm -f "$dir/$t_file"
	[ -z "$t_error" ] || t_state=failed
	step "$t_name" $t_state '' "$t_at" "$t_error"
	return 1
}

# field FILE N is field N of stat, from 3 on. The name in parentheses may hold anything.
field() { tr '\n' ' ' 2>/dev/null <"$1" | sed 's/.*) //' | cut -d' ' -f$(($2 - 2)); }
called() { tr '\n' ' ' 2>/dev/null <"$1" | sed 's/^[0-9]* (\(.*\)) .*/\1/'; }

# dead FILE says whether stat is that of a zombie, which nobody has waited for, or of nothing.
dead() { case $(field "$1" 3) in Z | X | '') ;; *) return 1 ;; esac }
alive() { ! dead "$proc/$pid/stat" && [ "$(field "$proc/$pid/stat" 22)" = "$first" ]; }

# named NAME lists the pids of a name: the kernel's, or the executable's.
named() {
	for n_dir in "$proc"/[0-9]*; do
		[ "${n_dir##*/}" != $$ ] || continue
		n_exe=$(readlink "$n_dir/exe" 2>/dev/null)
		n_exe=${n_exe% (deleted)}
		# A zombie has no files.
		if [ "${n_exe##*/}" = "$1" ] || [ "$(called "$n_dir/stat")" = "$1" ]; then dead "$n_dir/stat" || echo "${n_dir##*/}"; fi
	done
}

# The headers go to curl in a file, where others cannot read them.
[ -z "$header" ] || while IFS= read -r line || [ -n "$line" ]; do
	case $line in '') ;; *:*) printf '%s\n' "$line" ;; *) printf 'Authorization: Bearer %s\n' "$line" ;; esac
done <"$header" >"$work/header"

# get ADDRESS QUERY writes the body of an answer. An address of loopback means that of the
# process, which may be in another network namespace.
get() {
	g_url=$1 g_inside=''
	case $g_url in *://*) ;; *) g_url=http://$g_url ;; esac
	g_url=${g_url%%\?*}
	g_url=${g_url%/}
	case ${g_url#*://} in */*) ;; *) g_url=$g_url/debug/pprof ;; esac
	g_url=${g_url%/goroutine}/goroutine$2
	case ${g_url#*://} in localhost* | 127.* | 0.0.0.0* | '[::'* | *@localhost* | *@127.*)
		g_theirs=$(readlink "$proc/$pid/ns/net" 2>/dev/null)
		if [ -n "$g_theirs" ] && [ "$g_theirs" != "$(readlink /proc/self/ns/net)" ]; then
			has nsenter || { echo "the endpoint is in the process' own network namespace, and nsenter is not installed" >&2 && return 1; }
			g_inside=$proc/$pid/ns/net
		fi
		;;
	esac
	if has curl; then
		limited ${g_inside:+nsenter "-n$g_inside"} curl -q ${header:+-H "@$work/header"} -NgfsSL --max-redirs 0 --max-time "$budget" ${insecure:+-k} "$g_url"
	else
		has wget || { echo 'neither curl nor wget is installed' >&2 && return 1; }
		limited ${g_inside:+nsenter "-n$g_inside"} wget -q ${insecure:+--no-check-certificate} -O - "$g_url"
	fi
}

# goroutines ADDRESS takes the dumps. An endpoint that did not answer is not asked again in this
# round: every request that hangs is one goroutine more.
goroutines() {
	due='goroutine profile:'
	if ! take 'goroutines debug=1' goroutine.debug1.txt get "$1" '?debug=1'; then
		skip 'goroutines debug=2' skipped 'the endpoint did not give debug=1, and is not asked again in this round'
		return
	fi
	total=$(sed -n '1s/^goroutine profile: total \([0-9][0-9]*\)$/\1/p' "$dir/goroutine.debug1.txt")
	due='goroutine '
	if [ "${total:-0}" -gt "$most" ]; then
		skip 'goroutines debug=2' skipped "$total goroutines would stop the world for about $((total / 100)) ms, at 10 us each; the limit is $most (--max-goroutines)"
	else
		take 'goroutines debug=2' goroutine.debug2.txt get "$1" '?debug=2'
	fi
}

# worth STATUS PATTERN FILE counts what was found, and is the status of a listing: what was closed
# meanwhile is no loss.
worth() {
	found=$(grep -c "$2" "$3")
	case $1 in 124 | 137 | 143) return "$1" ;; esac
	[ "$found" -gt 0 ]
}

# infos writes the files of fdinfo as one, each below its name, which tail prints for two or more.
infos() {
	(cd "$proc/$pid" && limited find fdinfo -type f -exec tail -n +1 /dev/null {} +) >"$work/joined"
	i_status=$?
	grep -v '^==> /dev/null <==$' "$work/joined"
	worth $i_status '^==> fdinfo/' "$work/joined"
}

# links writes the targets of descriptors, most of them by one ls: with a program for each, many
# would take minutes. BusyBox's ls writes "?" for what is odd in a target, as is done here with a
# line break, which others write as it is: these are read one by one.
links() {
	limited ls -ln "$proc/$pid/fd" >"$work/lines"
	k_status=$? k_end=$(($(date +%s) + budget))
	sed -e ':a' -e '$!N' -e '/\nl[rwx-]\{9\} [^>]* [0-9][0-9]* -> /!s/\n/?/' -e 'ta' -e 'P' -e 'D' "$work/lines" >"$work/links"
	sed -n '/?/d; s/^l[^>]* \([0-9][0-9]*\) -> /\1 -> /p' "$work/links"
	for link in $(sed -n 's/^l[^>]* \([0-9][0-9]*\) -> .*?.*/\1/p' "$work/links"); do
		[ "$(date +%s)" -le "$k_end" ] || return 124
		target=$(readlink "$proc/$pid/fd/$link") && printf '%s -> %s\n' "$link" "$(printf '%s' "$target" | tr '\n' ' ')"
	done
	worth $k_status '^l' "$work/links"
}

settings() { grep . "$proc"/sys/fs/inotify/max_* "$proc/sys/fs/file-nr" | sed "s#^$proc/#/proc/#"; }
kernel() {
	due='' found=0
	take fdinfo fdinfo.txt infos
	fds=$found watches=$(grep -c '^inotify ' "$dir/fdinfo.txt" 2>/dev/null)
	take fd fd.txt links
	for file in mountinfo stat status limits cgroup; do take $file $file limited cat "$proc/$pid/$file"; done
	for table in tcp tcp6 udp udp6 unix netlink packet; do
		[ ! -e "$proc/$pid/net/$table" ] || take net/$table proc_net_$table limited cat "$proc/$pid/net/$table"
	done
	take sysctls inotify-sysctls.txt settings
	[ "${watches:-0}" -eq 0 ] || skip 'watch targets' skipped 'a shell cannot open file handles; leakdiff collect can'
}

safe() { printf '%s' "$1" | tr -c 'A-Za-z0-9_.-' '_' | cut -c1-64; }
optional() { [ -z "$2" ] || printf ', "%s": %s' "$1" "$(json "$2")"; }

manifest() {
	boot=$(sed -n 's/^btime //p' "$proc/stat" 2>/dev/null) born=''
	[ -z "$boot$first" ] || born=$(date -u -d "@$((boot + first / 100))" +%Y-%m-%dT%H:%M:%SZ 2>/dev/null)
	inner=$(sed -n 's/^NSpid:.*[[:space:]]\([0-9]*\)[[:space:]]\([0-9]*\)$/\2/p' "$dir/status" 2>/dev/null)
	{
		printf '{"schema": "leakdiff.capture/1", "tool": "collect.sh 1.0", "host": %s, "kernel": %s' "$(json "$host")" "$(json "$(uname -r)")" &&
			optional boot_id "$(cat "$proc/sys/kernel/random/boot_id" 2>/dev/null)" &&
			printf ',\n "round": %d, "rounds": %d, "every_seconds": %d, "started": "%s", "ended": "%s",%s%s\n' "$round" "$count" "$every" "$begun" "$(now)" "${late:+ \"late_seconds\": $late,}" "${stopping:+ \"interrupted\": true,}" &&
			printf ' "process": {"name": %s, "pid": %d, "start_ticks": %d%s' "$(json "$name")" "$pid" "${first:-0}" "${inner:+, \"inner_pid\": $inner}" &&
			optional started "$born" && optional executable "$exe" && optional container "$container" && optional pod_uid "$uid" &&
			optional mount_namespace "$(readlink "$proc/$pid/ns/mnt" 2>/dev/null)" && optional network_namespace "$(readlink "$proc/$pid/ns/net" 2>/dev/null)" &&
			printf '},\n "load": {"goroutines": %d, "stop_ms_estimate": %d, "max_goroutines": %d, "step_seconds": %d},\n "steps": [\n' "${total:--1}" "$((${total:-0} / 100))" "$most" "$budget" &&
			cat "$work/steps" && printf '\n ]\n}\n'
	} 2>/dev/null >"$dir/manifest.json" || unwritten "the manifest of $name ($pid) in t$round"
}

# opened makes the directory of a process in a round. ended files that it is there no longer.
opened() {
	dir=$work/$top/t$round/$(safe "$name")-$pid$1
	begun=$(now) total='' watches=0 lost=0 cut=''
	printf '' >"$work/steps"
	mkdir -p "$dir" || { unwritten "$dir" && return 1; }
}
ended() {
	pid=$1 first=$2 name=$3 exe='' container='' uid=''
	opened -ended && skip process failed 'the process has ended' && manifest
}

# visit PID ALIKE WANTED captures one process once, found by a name that so many have or by pid.
visit() {
	pid=$1 alike=$2 wanted=$3
	first=$(field "$proc/$pid/stat" 22) name=$(called "$proc/$pid/stat")
	[ -n "$first" ] && ! dead "$proc/$pid/stat" || return 1
	exe=$(readlink "$proc/$pid/exe" 2>/dev/null)
	exe=${exe% (deleted)}
	case ${#name}${exe##*/} in 15"$name"*) name=${exe##*/} ;; esac
	container=$(grep -oE '[0-9a-f]{64}' "$proc/$pid/cgroup" 2>/dev/null | tail -n 1)
	uid=$(grep -oE 'pod([0-9a-f]{8}([-_][0-9a-f]{4}){3}[-_][0-9a-f]{12}|[0-9a-f]{32})' "$proc/$pid/cgroup" 2>/dev/null | head -n 1 | sed 's/^pod//; s/_/-/g')
	opened '' || return 1
	kernel
	address='' of=1
	while IFS= read -r line; do
		case $line in
		'') ;;
		"$pid="*) address=${line#*=} of=1 && break ;;
		"$name="* | "$wanted="*) address=${line#*=} of=$alike ;;
		*) ! plain "$line" || address=$line of=$alike ;;
		esac
	done <<ADDRESSES
$pprofs
ADDRESSES
	if [ "$of" -gt 1 ]; then
		skip 'goroutines debug=1' failed "$of processes are called $wanted: say whose address it is with PID=URL"
	elif [ -n "$address" ]; then
		goroutines "$address"
	fi
	# A server closes its connections before its process ends.
	[ -z "$cut" ] || ! alive || sleep 1
	alive || skip process failed 'the process has ended during this round'
	manifest
	say "t$round of $count: $name ($pid):${total:+ goroutines $total,}$([ "$fds" = 0 ] || echo " descriptors $fds, watches ${watches:-0},") failed steps $lost"
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
	[ $late -ge 2 ] && [ $((late * 10)) -ge "$every" ] || late=''
	# Lines "PID ALIKE NAME", each process once.
	printf '' >"$work/all"
	printf '%s' "$names" | while IFS= read -r wanted; do
		found=$(named "$wanted")
		for one in $found; do
			grep -q "^$one " "$work/all" || printf '%s %d %s\n' "$one" "$(printf '%s\n' "$found" | wc -l)" "$wanted" >>"$work/all"
		done
	done
	for one in $pids; do
		grep -q "^$one " "$work/all" || printf '%s 1 %s\n' "$one" "$one" >>"$work/all"
	done
	present=0
	printf '' >"$work/present"
	for one in $(cut -d' ' -f1 "$work/all"); do
		one_called=$(sed -n "s/^$one //p" "$work/all")
		if visit "$one" "${one_called%% *}" "${one_called#* }"; then
			present=$((present + 1))
			printf '%s %s %s\n' "$pid" "$first" "$name" >>"$work/present"
		fi
		[ -z "$stopping" ] || break
	done
	while read -r one ticks one_called; do
		[ -n "$stopping" ] || grep -q "^$one $ticks " "$work/present" || ended "$one" "$ticks" "$one_called"
	done <"$work/seen"
	cat "$work/present" >"$work/seen"
	captures=$((captures + present))
	if [ $present -eq 0 ] && [ -z "$stopping" ]; then
		[ $captures -gt 0 ] || fail "there is no such process below $proc"
		say 'no process is left to capture' && break
	fi
	round=$((round + 1))
done
[ -z "$stopping" ] || say "warning: ended by a signal after $round of $count rounds; the archive holds what was there"
[ $captures -gt 0 ] || exit 2

# From here on nothing may interrupt: the archive is whole or not there.
trap '' INT TERM HUP PIPE
if [ "$out" = - ]; then
	tar -C "$work" -czf - "$top" && exit
elif tar -C "$work" -czf "$out.partial" "$top" && mv "$out.partial" "$out"; then
	say "$out: $(($(wc -c <"$out"))) bytes; read it with: leakdiff report $out"
	exit 0
fi
[ "$out" = - ] || rm -f "$out.partial"
keep=1
say "$out could not be written; what was captured is in $work" || keep=''
exit 2
