#compdef leakdiff
# Completions of leakdiff for zsh: source <(leakdiff completion zsh), or as _leakdiff in a
# directory of fpath.
_leakdiff() {
	local line files
	local -a found
	while IFS= read -r line; do
		if [[ $line == :files ]]; then
			files=1
		else
			found+=("${line/$'\t'/:}")
		fi
	done < <("${words[1]}" complete -- "${(@)words[2,CURRENT]}" 2>/dev/null)
	(( ${#found} )) && _describe leakdiff found
	if [[ -n $files ]]; then
		compset -P '--*='
		_files
	fi
}
if [[ ${funcstack[1]} == _leakdiff ]]; then
	_leakdiff "$@"
else
	compdef _leakdiff leakdiff
fi
