package envelope

// InBlocksOf lets texts be streamed in blocks of so many bytes until the returned function
// is called.
func InBlocksOf(size int) (restore func()) {
	before := blockSize
	blockSize = size
	return func() { blockSize = before }
}
