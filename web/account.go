package web

import "context"

// Account is whom a page is made for. The zero value has no name and may use every form.
type Account struct {
	Name, Role string
	// SignsOut offers to sign out. ReadOnly hides the forms that change something.
	SignsOut, ReadOnly bool
}

type accountKey struct{}

// For says whom the pages of ctx are made for.
func For(ctx context.Context, a Account) context.Context {
	return context.WithValue(ctx, accountKey{}, a)
}

// AccountOf is whom a page is made for.
func AccountOf(ctx context.Context) Account {
	a, _ := ctx.Value(accountKey{}).(Account)
	return a
}
