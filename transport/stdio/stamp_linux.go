package stdio

import (
	"golang.org/x/sys/unix"

	"mcpd/transport/stdio/guard"
)

// stamp runs what forks, so that the child is stamped from its first moment: it inherits our limit. One that is not ours alone, because somebody has
// set it for us, is left as it is, and there is the mark only. Nothing else may be forked meanwhile.
func stamp(mark string, start func() int) (pid int) {
	free := unix.Rlimit{Cur: unix.RLIM_INFINITY, Max: unix.RLIM_INFINITY}
	var own unix.Rlimit
	if unix.Getrlimit(guard.StampLimit, &own) != nil || own != free {
		return start()
	}
	own.Cur = guard.Stamp(mark)
	if unix.Prlimit(0, guard.StampLimit, &own, nil) != nil {
		return start()
	}
	pid = start()
	_ = unix.Prlimit(0, guard.StampLimit, &free, nil) // it was so before
	if pid > 0 {
		own.Max = own.Cur
		_ = unix.Prlimit(pid, guard.StampLimit, &own, nil) // else it could take the stamp off, if it knew
	}
	return pid
}
