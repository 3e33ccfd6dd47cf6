package analysis

// Monitors are the locks of a JVM for which threads wait in one dump. No address of the dump
// is in it.
type Monitors struct {
	// List has the locks with most waiters first.
	List []Monitor
	// More counts the locks left out, MoreWaiters the threads that wait for them.
	More        int
	MoreWaiters int
}

// Monitor is a lock with the threads that cannot go on without it.
type Monitor struct {
	Class   string
	Waiters int
	// Waiting are the names of the first of them, At counts them by function.
	Waiting []string
	At      []MonitorSite
	// Holder is the thread that holds it, nil if the dump names none. Then Further are threads on a later
	// line of the method in which most wait for it, at most MostFurther: who takes a lock there has it.
	Holder  *MonitorHolder
	Further []MonitorHolder
}

// MostFurther is how many threads on a later line are kept: of more nobody knows which has the lock.
const MostFurther = 5

// MonitorSite counts the threads that wait in one function.
type MonitorSite struct {
	Func  string
	Count int
}

// MonitorHolder is a thread that holds a lock.
type MonitorHolder struct {
	Name string
	// ID is -1 if unknown.
	ID    int64
	State string
	At    string
	// Waits is the number in Monitors.List, from 1, of the lock that it waits for itself, 0
	// for none.
	Waits int
}
