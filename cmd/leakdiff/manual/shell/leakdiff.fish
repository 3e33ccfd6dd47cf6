# Completions of leakdiff for fish: leakdiff completion fish | source
function __leakdiff_complete
	set -l words (commandline -opc)
	set -l current (commandline -ct)
	for line in ($words[1] complete -- $words[2..-1] "$current" 2>/dev/null)
		if test "$line" = :files
			set -l flag (string match -r -- '^--[^=]*=' "$current")
			for path in (__fish_complete_path (string replace -r -- '^--[^=]*=' '' "$current"))
				echo "$flag$path"
			end
		else
			echo $line
		end
	end
end
complete -c leakdiff -f -a '(__leakdiff_complete)'
