package view

// Login is the page that asks for a name and a password.
type Login struct {
	Shell Shell
	// Next is the address that it leads to. User is the name that was entered, and Wrong
	// why it was refused.
	Next, User, Wrong string
}

// NewLogin makes the page; the caller adds the engine line.
func NewLogin(next, user, wrong string) Login {
	return Login{Shell: Shell{Title: "Sign in", Bare: true}, Next: next, User: user, Wrong: Visible(wrong)}
}
