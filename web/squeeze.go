package web

import "strings"

// squeezeStyle takes out of a style sheet what browsers do not need: comments, line
// ends, and the blanks around signs. Text in quotes stays as it is.
//
//	a > b { color: red;\n  top: 0 } /* x */  →  a > b{color:red;top:0}
func squeezeStyle(css string) string {
	var b strings.Builder
	blank := false // a blank is due before the next sign that needs one
	last := byte('}')
	for i := 0; i < len(css); i++ {
		c := css[i]
		switch {
		case strings.HasPrefix(css[i:], "/*"):
			end := strings.Index(css[i+2:], "*/")
			if end < 0 {
				return b.String()
			}
			i += 2 + end + 1
			blank = true
			continue
		case c == ' ' || c == '\n' || c == '\t' || c == '\r':
			blank = true
			continue
		}
		if blank && !strings.ContainsRune("{};,:", rune(last)) && !strings.ContainsRune("{};,", rune(c)) {
			b.WriteByte(' ')
		}
		blank = false
		if c == '"' || c == '\'' {
			end := i + 1
			for end < len(css) && css[end] != c {
				if css[end] == '\\' {
					end++
				}
				end++
			}
			end = min(end, len(css)-1)
			b.WriteString(css[i : end+1])
			i, last = end, c
			continue
		}
		b.WriteByte(c)
		last = c
	}
	return strings.ReplaceAll(b.String(), ";}", "}")
}

// squeezeScript drops comments that have a line of their own, empty lines and
// indentation. Our scripts have no text that goes over several lines.
func squeezeScript(js string) string {
	var b strings.Builder
	for line := range strings.Lines(js) {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "//") {
			b.WriteString(line + "\n")
		}
	}
	return b.String()
}
