package guard

import (
	"bytes"
	"strconv"
	"syscall"
	"time"
)

// Mark reports whether a process with this entry in its environment, NAME=value, is one to be
// found.
type Mark func(entry []byte) bool

// Prefix returns the mark of entries with this prefix.
func Prefix(text string) Mark {
	return func(entry []byte) bool { return bytes.HasPrefix(entry, []byte(text)) }
}

// All returns the numbers of all processes.
func All() []int {
	fd, err := open("/proc")
	if err != nil {
		return nil
	}
	defer syscall.Close(fd)
	var pids []int
	buf := make([]byte, 32<<10)
	for {
		n, err := syscall.ReadDirent(fd, buf)
		if err != nil || n <= 0 {
			return pids
		}
		_, _, names := syscall.ParseDirent(buf[:n], -1, nil)
		for _, name := range names {
			if pid, err := strconv.Atoi(name); err == nil {
				pids = append(pids, pid)
			}
		}
	}
}

// Look finds marked processes, in any number of looks. It reuses its read buffer.
type Look struct {
	Mark  Mark
	Stamp func(stamp uint64) bool // the same for a stamp; nil matches none
	// Blank counts the processes so far that had no environment: they are replacing it in exec.
	Blank int
	buf   []byte
}

// Signal sends sig to those of the processes that carry the mark, and returns their numbers. Signal
// 0 only finds them. It never reaches another process: a number that may have passed on since it
// was listed is checked again, through a pidfd that holds on to the process.
func (l *Look) Signal(pids []int, sig syscall.Signal) (found []int) {
	for _, pid := range pids {
		if l.marked(pid) && (sig == 0 || l.signal(pid, sig)) {
			found = append(found, pid)
		}
	}
	return found
}

// signal opens a pidfd and checks the mark then. If the opened process is not the one that was
// checked, it has ended, and gets no signal.
func (l *Look) signal(pid int, sig syscall.Signal) bool {
	fd, err := pidfdOpen(pid)
	if err != nil {
		return false
	}
	defer syscall.Close(fd)
	return l.marked(pid) && pidfdSend(fd, sig, 0) == nil
}

// marked reports whether a process carries the mark or the stamp. A zombie has no environment, and
// that of another user's process cannot be read.
func (l *Look) marked(pid int) bool {
	if l.Stamp != nil {
		if s := stamped(pid); s != 0 && l.Stamp(s) && !ended(pid) {
			return true
		}
	}
	fd, err := open("/proc/" + strconv.Itoa(pid) + "/environ")
	if err != nil {
		return false
	}
	defer syscall.Close(fd)
	if l.buf == nil {
		l.buf = make([]byte, 16<<10)
	}
	size := 0
	for {
		n, err := syscall.Read(fd, l.buf[size:])
		if err != nil || n <= 0 {
			break
		}
		if size += n; size == len(l.buf) {
			if size >= maxEnviron {
				break
			}
			l.buf = append(l.buf, make([]byte, size)...)
		}
	}
	if size == 0 && !bare(pid) {
		l.Blank++
	}
	for entry := range bytes.SplitSeq(l.buf[:size], []byte{0}) {
		if l.Mark(entry) {
			return true
		}
	}
	return false
}

// bare reports whether the environment of a process is empty: it begins where it ends. Inside exec
// both addresses are 0.
func bare(pid int) bool {
	const end = 51 - 3
	fields := status(pid)
	return len(fields) > end && string(fields[end]) != "0" && bytes.Equal(fields[end-1], fields[end])
}

// ended reports whether a process is a zombie, which still has its limits.
func ended(pid int) bool {
	fields := status(pid)
	return len(fields) == 0 || string(fields[0]) == "Z" || string(fields[0]) == "X"
}

// status returns the fields of /proc/PID/stat from the third on. The first of them is the state;
// the environment's beginning and end are fields 50 and 51 of the file.
func status(pid int) [][]byte {
	fd, err := open("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return nil
	}
	defer syscall.Close(fd)
	buf := make([]byte, 1024) // 52 numbers of 64 bits at most
	n, _ := syscall.Read(fd, buf)
	// The format is "pid (name) state …", where the name may hold spaces and parentheses.
	return bytes.Fields(buf[bytes.LastIndexByte(buf[:max(n, 0)], ')')+1 : max(n, 0)])
}

// End kills the processes that match, until so many consecutive looks at every process have found
// none, and returns how many it ended. It gives up after the limit and then also returns how many
// are left.
func (l *Look) End(looks int, limit time.Duration) (ended, remaining int) {
	seen := map[int]bool{}
	end, wait := time.Now().Add(limit), pause
	for quiet := 0; ; time.Sleep(wait) {
		found := l.Signal(All(), syscall.SIGKILL)
		for _, pid := range found {
			seen[pid] = true
		}
		if quiet++; len(found) > 0 {
			quiet, wait = 0, pause
		}
		if quiet >= looks || time.Now().After(end) {
			return len(seen) - len(found), len(found)
		}
		wait *= 2
	}
}

// Await waits for the end of the processes that match now, and kills those that have not ended
// within the limit.
func (l *Look) Await(limit time.Duration) {
	end := time.Now().Add(limit)
	for remaining := l.Signal(All(), 0); len(remaining) > 0; remaining = l.Signal(remaining, 0) {
		if time.Now().After(end) {
			l.End(1, limit)
			return
		}
		time.Sleep(pause)
	}
}

func open(path string) (int, error) {
	for {
		fd, err := syscall.Open(path, syscall.O_RDONLY|syscall.O_CLOEXEC, 0)
		if err != syscall.EINTR {
			return fd, err
		}
	}
}

// Package syscall has no names for these two system calls. They have the same numbers on every
// machine.
const (
	sysPidfdSendSignal = 424
	sysPidfdOpen       = 434
	processGroup       = 1 << 2 // PIDFD_SIGNAL_PROCESS_GROUP
)

func pidfdOpen(pid int) (int, error) {
	fd, _, errno := syscall.RawSyscall(sysPidfdOpen, uintptr(pid), 0, 0)
	if errno != 0 {
		return -1, errno
	}
	return int(fd), nil
}

func pidfdSend(fd int, sig syscall.Signal, flags uintptr) error {
	if _, _, errno := syscall.RawSyscall6(sysPidfdSendSignal, uintptr(fd), uintptr(sig), 0, flags, 0,
		0); errno != 0 {
		return errno
	}
	return nil
}
