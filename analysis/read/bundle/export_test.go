package bundle

// Err is why Body ended early or is not believed (a checksum), nil where it did
// not or was not read to its end. Walk lists it as a problem by itself.
func (m *Member) Err() error { return m.err }
