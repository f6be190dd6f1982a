package guard

import (
	"hash/fnv"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// A stamp is the mark as a number. A process cannot lose it by exec, by clearing its environment or
// by leaving its session. The stamp is the value of a resource limit that matters only to real-time
// threads, and allows these more than a hundred thousand years. Limits are inherited, and only root
// can raise them.
// A stamp is stampBit + 28 bits for the daemons of one lock file + 14 for one of them + 20 for the
// child.
const (
	stampBit   = 1 << 62
	daemonBits = 14
	childBits  = 20

	// StampLimit is the number of that limit, RLIMIT_RTTIME.
	StampLimit = 15
)

// Stamp returns the stamp of a child with this mark, NAME=instance/number. The daemons of one lock
// file share the instance up to its last point.
func Stamp(mark string) uint64 {
	instance, number, _ := strings.Cut(mark, "/")
	n, _ := strconv.ParseUint(number, 10, 64) // none is 0
	return family(
		instance[:strings.LastIndexByte(instance, '.')+1],
	) | hash(instance)%(1<<daemonBits)<<childBits | n%(1<<childBits)
}

func family(before string) uint64 {
	return stampBit | hash(before)%(1<<(62-daemonBits-childBits))<<(daemonBits+childBits)
}

func hash(text string) uint64 {
	h := fnv.New64a()
	_, _ = h.Write([]byte(text)) // cannot fail
	sum := h.Sum64()
	return sum ^ sum>>32
}

// Of finds all children of the daemon whose marks have this prefix.
func Of(mark string) Look {
	ours := Stamp(mark) >> childBits
	return Look{Mark: Prefix(mark), Stamp: func(s uint64) bool { return s>>childBits == ours }}
}

// Earlier finds the children of daemons whose marks begin with before, except those of own.
func Earlier(before, own string) Look {
	theirs, mark, ours := family(before)>>(daemonBits+childBits), Prefix(before), Of(own)
	return Look{
		Mark:  func(entry []byte) bool { return mark(entry) && !ours.Mark(entry) },
		Stamp: func(s uint64) bool { return s>>(daemonBits+childBits) == theirs && !ours.Stamp(s) },
	}
}

// Guards finds the guards of daemons whose marks have this prefix.
func Guards(before string) Look { return Look{Mark: Prefix(Variable + "=" + before)} }

// stamped returns the stamp of a process, 0 if it has none.
func stamped(pid int) uint64 {
	var l unix.Rlimit
	err := unix.Prlimit(pid, StampLimit, nil, &l)
	for _, v := range []uint64{l.Cur, l.Max} {
		if err == nil && v>>62 == 1 {
			return v
		}
	}
	return 0
}
