package block

import (
	"context"
	"strings"

	"github.com/a-h/templ"

	"leakdiff/analysis/say/document"
	"leakdiff/web"
)

// attributes are pairs of names and values; those without a value are left out.
func attributes(pairs ...string) templ.OrderedAttributes {
	var out templ.OrderedAttributes
	for i := 0; i < len(pairs); i += 2 {
		if pairs[i+1] != "" {
			out = append(out, templ.KeyValue[string, any]{Key: pairs[i], Value: pairs[i+1]})
		}
	}
	return out
}

// always is one attribute that may be empty.
func always(name, value string, wanted bool) templ.OrderedAttributes {
	if !wanted {
		return nil
	}
	return templ.OrderedAttributes{{Key: name, Value: value}}
}

// entry are the attributes of a field that are left out where they say nothing.
func entry(f document.Field) []string {
	capital, spell := "", ""
	if f.Verbatim {
		capital, spell = "none", "false"
	}
	return []string{
		"autocapitalize", capital, "spellcheck", spell, "class", string(f.Look), "id", string(f.ID), "type", f.Type, "name", f.Name, "placeholder", f.Placeholder, "size", f.Size, "maxlength", f.Length, "list", f.List, "inputmode", f.Mode, "autocomplete", f.Autocomplete,
		"aria-label", f.Label, "aria-describedby", f.Describes, "data-key", string(f.Key), "data-key-label", f.KeyLabel,
	}
}

func withoutType(f document.Field) document.Field {
	f.Type = ""
	return f
}

// address is an address of this server as a browser asks for it, empty for none.
func address(ctx context.Context, path string) string {
	if path == "" {
		return ""
	}
	return string(web.Link(ctx, path))
}

func method(post bool) string {
	if post {
		return "post"
	}
	return "get"
}

func sending(b document.Press) string {
	if !b.Post {
		return ""
	}
	return "post"
}

func encoding(files bool) string {
	if files {
		return "multipart/form-data"
	}
	return ""
}

func current(shown bool) string {
	if shown {
		return "true"
	}
	return ""
}

// focus lets a heading of level 2 take the focus.
func focus(target bool) string {
	if target {
		return "-1"
	}
	return ""
}

func lines(all []string) string { return strings.Join(all, "\n") }
