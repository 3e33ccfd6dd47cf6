//go:build !unix

package capture

import "context"

// tools needs signals and users as Unix has them.
func (v *visit) tools(context.Context) {}

func (v *visit) attach(context.Context) {}
