// Package shop shows how tests of a package fail when goroutines stay behind.
package shop

// Cart has one goroutine until it is closed.
type Cart struct{ done chan struct{} }

// Open starts a cart.
func Open() *Cart {
	c := &Cart{make(chan struct{})}
	go c.watch()
	return c
}

// Close ends it.
func (c *Cart) Close() { close(c.done) }

func (c *Cart) watch() { <-c.done }
