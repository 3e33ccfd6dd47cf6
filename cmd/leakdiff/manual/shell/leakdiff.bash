# Completions of leakdiff for bash: source <(leakdiff completion bash)
_leakdiff() {
	local line current=${COMP_WORDS[COMP_CWORD]} words=("${COMP_WORDS[@]:1:COMP_CWORD}")
	COMPREPLY=()
	# bash ends words at "=".
	[[ $current == = ]] && current=
	while IFS= read -r line; do
		if [[ $line == :files ]]; then
			compopt -o filenames 2>/dev/null
			while IFS= read -r line; do COMPREPLY+=("$line"); done < <(compgen -f -- "$current")
		else
			COMPREPLY+=("${line%%$'\t'*}")
		fi
	done < <("${COMP_WORDS[0]}" complete -- "${words[@]}" 2>/dev/null)
}
complete -F _leakdiff leakdiff
