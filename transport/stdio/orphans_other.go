//go:build !linux

package stdio

// orphans does nothing on these systems: they have no list of processes to search, and a process
// cannot become the parent of orphans.
type orphans struct{}

func adopt(func(Remark)) *orphans { return nil }

func (*orphans) fork(_ string, start func() int)            { start() }
func (*orphans) reaped(int)                                 {}
func (*orphans) sweep(string, Ladder, <-chan struct{}) bool { return true }
func (*orphans) close()                                     {}

// watcher has no guard on these systems.
type watcher struct{}

func watch(string, *orphans, func(Remark)) *watcher { return nil }

func (*watcher) add(*handle) uint64 { return 0 }
func (*watcher) forget(uint64)      {}
func (*watcher) close()             {}

func sweepEarlier(string, string) (ended, left int) { return 0, 0 }
