package guard

import (
	"hash/fnv"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// A stamp says the same as the mark, as a number that a process cannot lose by exec, by clearing its environment or by leaving its session: it
// is written as a limit of time that only real-time threads have, of more than a hundred thousand years. Limits are inherited, and cannot be
// raised but by root. A stamp is stampBit + 28 bits for the daemons of one lock file + 14 for one of them + 20 for the child.
const (
	stampBit   = 1 << 62
	daemonBits = 14
	childBits  = 20

	// StampLimit is the number of that limit, RLIMIT_RTTIME.
	StampLimit = 15
)

// Stamp is that of a child with this mark, as NAME=instance/number. What daemons of one lock file have in common ends with the last point.
func Stamp(mark string) uint64 {
	instance, number, _ := strings.Cut(mark, "/")
	n, _ := strconv.ParseUint(number, 10, 64) // none is 0
	return family(instance[:strings.LastIndexByte(instance, '.')+1]) | hash(instance)%(1<<daemonBits)<<childBits | n%(1<<childBits)
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

// Of looks for all children of the daemon whose marks begin so.
func Of(mark string) Look {
	ours := Stamp(mark) >> childBits
	return Look{Mark: Prefix(mark), Stamp: func(s uint64) bool { return s>>childBits == ours }}
}

// Earlier looks for the children of daemons whose marks begin so, but for those of one.
func Earlier(before, own string) Look {
	theirs, mark, ours := family(before)>>(daemonBits+childBits), Prefix(before), Of(own)
	return Look{
		Mark:  func(entry []byte) bool { return mark(entry) && !ours.Mark(entry) },
		Stamp: func(s uint64) bool { return s>>(daemonBits+childBits) == theirs && !ours.Stamp(s) },
	}
}

// Guards looks for the guards of daemons whose marks begin so.
func Guards(before string) Look { return Look{Mark: Prefix(Variable + "=" + before)} }

// stamped is the stamp of a process, 0 if it has none.
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
