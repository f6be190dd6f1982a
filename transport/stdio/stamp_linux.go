package stdio

import (
	"golang.org/x/sys/unix"

	"mcpd/transport/stdio/guard"
)

// stamp calls start, which forks, such that the child carries a stamp from its first moment. The
// stamp is a resource limit of this process, which the child inherits. If that limit is set
// already, it is left as it is, and the child carries only the mark. Nothing else may fork
// meanwhile.
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
	_ = unix.Prlimit(0, guard.StampLimit, &free, nil) // restores the earlier value
	if pid > 0 {
		own.Max = own.Cur
		// Otherwise the child could remove the stamp, if it knew of it.
		_ = unix.Prlimit(pid, guard.StampLimit, &own, nil)
	}
	return pid
}
