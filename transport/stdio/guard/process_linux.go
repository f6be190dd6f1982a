package guard

import (
	"encoding/binary"
	"syscall"
)

const (
	// Variable makes a program that links this package the guard of its parent. Its value is the
	// beginning of the environment entry that marks the processes to end.
	Variable = "MCPD_GUARD"
	// Socket is the descriptor of the guard's end of the connection to the daemon, a sequence of
	// packets.
	Socket = 3
	// Batch is the most groups in one packet: as many descriptors as the kernel passes at once.
	Batch = 253

	keySize = 8
)

// A packet begins with one of these bytes, and the keys of the groups follow. Their pidfds travel
// beside it.
const (
	watch  = '+'
	forget = '-'
)

// Watch returns the packet that adds groups. The pidfds of their leaders go with it.
func Watch(keys ...uint64) []byte { return packet(watch, keys) }

// Forget returns the packet that removes groups.
func Forget(keys ...uint64) []byte { return packet(forget, keys) }

func packet(kind byte, keys []uint64) []byte {
	b := make([]byte, 1, 1+keySize*len(keys))
	b[0] = kind
	for _, k := range keys {
		b = binary.LittleEndian.AppendUint64(b, k)
	}
	return b
}

// init runs the guard before the rest of the program is initialised, which would cost most of the
// guard's memory and start time for nothing. The variable alone is not enough, because it may be
// set for another reason: the socket must exist too.
func init() {
	mark, ok := syscall.Getenv(Variable)
	if !ok || mark == "" {
		return
	}
	if kind, err := syscall.GetsockoptInt(Socket, syscall.SOL_SOCKET, syscall.SO_TYPE); err != nil ||
		kind != syscall.SOCK_SEQPACKET {
		return
	}
	run(mark)
	syscall.Exit(0)
}

// run is the guard. A pidfd stands for a group also after its leader is gone and the leader's
// number has passed on.
func run(mark string) {
	var limit syscall.Rlimit
	if syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit) == nil {
		limit.Cur = limit.Max // it holds a pidfd for each group
		_ = syscall.Setrlimit(syscall.RLIMIT_NOFILE, &limit)
	}
	if fd, err := syscall.Open("/proc/self/comm", syscall.O_WRONLY|syscall.O_CLOEXEC, 0); err == nil {
		_, _ = syscall.Write(fd, []byte("mcpd-guard")) // for a list of processes; else it is called exe
		syscall.Close(fd)
	}
	groups := map[uint64]int{}
	buf := make([]byte, 1+keySize*Batch)
	oob := make([]byte, syscall.CmsgSpace(4*Batch))
	for {
		n, oobn, _, _, err := syscall.Recvmsg(Socket, buf, oob, syscall.MSG_CMSG_CLOEXEC)
		if err == syscall.EINTR {
			continue
		}
		if err != nil || n == 0 { // the daemon is gone
			break
		}
		note(groups, buf[:n], descriptors(oob[:oobn]))
	}
	quiet := 1
	for _, fd := range groups {
		quiet = looks
		if pidfdSend(fd, syscall.SIGKILL, processGroup) == syscall.EINVAL { // before Linux 6.9
			_ = pidfdSend(fd, syscall.SIGKILL, 0)
		}
	}
	look := Of(mark)
	look.End(quiet, endTime)
}

// note applies a packet to the groups.
func note(groups map[uint64]int, packet []byte, fds []int) {
	for i, keys := 0, packet[1:]; len(keys) >= keySize; i, keys = i+1, keys[keySize:] {
		key := binary.LittleEndian.Uint64(keys)
		if packet[0] == watch && i < len(fds) {
			groups[key] = fds[i]
		} else if fd, ok := groups[key]; ok {
			syscall.Close(fd)
			delete(groups, key)
		}
	}
}

func descriptors(oob []byte) (fds []int) {
	messages, err := syscall.ParseSocketControlMessage(oob)
	if err != nil {
		return nil
	}
	for _, m := range messages {
		if more, err := syscall.ParseUnixRights(&m); err == nil {
			fds = append(fds, more...)
		}
	}
	return fds
}
