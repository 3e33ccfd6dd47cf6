package analysis

// Alike says of what stands below the header of a goroutine in a dump, up to a blank
// line and with it, that it is the same in all goroutines of one class but for the
// arguments of calls, addresses of frames behind files, and the number of the parent.
type Alike struct {
	// Class numbers the classes of a dump from 0, with gaps.
	Class int
	// Run numbers the runs of goroutines between which nothing stands but goroutines.
	Run uint32
	// Length is in bytes of the text, Lines counts the lines.
	Length, Lines int64
	// Parent is the number in "created by", 0 where there is none.
	Parent int64
	// Left says that the text leaves the goroutine out, with its header, which Length
	// and Lines then count, too: in its place stands a line with the byte LeftOut alone.
	// Offsets in the text count what was left out. The header says no more than these:
	// a state without flags, and whole minutes, -1 where there are none.
	Left  bool
	ID    int64
	State string
	Wait  int64
}

// LeftOut is a line of a text of which Alike.Left tells: a control that no dump has.
const LeftOut = '\x1e'
