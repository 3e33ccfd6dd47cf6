package web

import (
	"context"
	"net/http"
)

// themeCookie holds the theme that a reader chose; theme.js writes it.
const themeCookie = "leakdiff-theme"

type themeKey struct{}

// Themed makes the pages for a request in the theme that its reader chose.
func Themed(r *http.Request) *http.Request {
	c, err := r.Cookie(themeCookie)
	if err != nil || c.Value != "dark" && c.Value != "light" {
		return r
	}
	return r.WithContext(context.WithValue(r.Context(), themeKey{}, c.Value))
}

// Theme is "dark" or "light", or empty for that of the reader's system.
func Theme(ctx context.Context) string {
	theme, _ := ctx.Value(themeKey{}).(string)
	return theme
}
