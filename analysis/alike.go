package analysis

// Alike says of what stands below the header of a goroutine in a dump, up to a blank
// line and with it, that it is the same in all goroutines of one class but for the
// arguments of calls, addresses of frames behind files, and the number of the parent.
type Alike struct {
	// Class numbers the classes of a dump from 0, with gaps.
	Class int
	// Length is in bytes of the text, Lines counts the lines.
	Length, Lines int64
	// Parent is the number in "created by", 0 where there is none.
	Parent int64
}
