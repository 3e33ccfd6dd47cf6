package view

import (
	"net/http"

	"leakdiff/analysis"
)

// Error is the page of every refusal: what, where, why, what to do. ID finds the
// request in the server's log and stands for everything that is not told.
type Error struct {
	Shell  Shell
	Status int
	What   string
	Where  string
	Why    string
	Hint   string
	ID     string
}

// NewError makes the page of a fault; the caller adds the shell's engine line.
func NewError(status int, f *analysis.Fault, id string) Error {
	e := Error{Status: status, ID: id}
	if f != nil {
		e.What, e.Where, e.Why, e.Hint = Visible(f.What), Visible(f.Where), Visible(f.Why), Visible(f.Hint)
	}
	if e.What == "" {
		e.What = http.StatusText(status)
	}
	if e.Hint == "" && status >= 500 {
		e.Hint = "try again; if it stays, give the operator of this server the id below"
	}
	e.Shell = Shell{Title: e.What, Crumbs: []Link{{"Cases", "/"}}, Here: "Refused"}
	return e
}
