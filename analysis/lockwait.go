package analysis

import (
	"slices"
	"strings"
)

// lockWaits wait for the lock that is their receiver.
var lockWaits = [...]string{"sync.(*Mutex).lockSlow", "internal/sync.(*Mutex).lockSlow", "sync.(*RWMutex).Lock", "sync.(*RWMutex).RLock", "sync.(*RWMutex).rlockSlow"}

// lockFrames are the frames from the top in which a stack names the lock that it waits for.
const lockFrames = 3

// WaitsForLock reports that a frame waits for the lock that is its receiver. Before Go 1.13
// sync.(*Mutex).Lock itself called the runtime. A crash prints the frames of the runtime above.
func (s *Stack) WaitsForLock(frame int) bool {
	function := s.Frames[frame].Func
	return (slices.Contains(lockWaits[:], function) ||
		function == "sync.(*Mutex).Lock" && frame > 0 && strings.HasPrefix(s.Frames[frame-1].Func, "sync.runtime_Semacquire")) &&
		(frame < lockFrames || strings.HasPrefix(s.Frames[frame-lockFrames].Func, "runtime."))
}
