package admin

import (
	"errors"
	"net"
	"os"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

const (
	// spares is how many descriptors the listener keeps for its connections, so that a probe and an operator are answered when the process has
	// no other left. That is one for each, and as many again because others who wait for one may be faster.
	spares = 4
	// lookEvery is how long a listener without descriptors waits for somebody to connect before it sees whether there are some again.
	lookEvery = 100 * time.Millisecond
)

// spare is a listener that accepts connections also when the process may not open another file.
type spare struct {
	*net.TCPListener

	mu     sync.Mutex // guards the rest
	files  []*os.File
	closed bool
}

// Accept waits for a connection. It fails for want of descriptors only when its own are used up, while somebody waits.
func (s *spare) Accept() (net.Conn, error) {
	for {
		s.fill()
		c, err := s.TCPListener.Accept()
		for full(err) && s.waited() { // the kernel refuses also when there is nobody
			if !s.give() {
				return nil, err
			}
			c, err = s.TCPListener.Accept()
		}
		switch {
		case err == nil:
			return &spared{c, s}, nil
		case !full(err):
			return nil, err
		}
	}
}

func full(err error) bool { return errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE) }

// waited reports whether somebody waits to be accepted, or does within lookEvery.
func (s *spare) waited() (is bool) {
	c, err := s.SyscallConn()
	if err != nil {
		return false
	}
	_ = c.Control(func(fd uintptr) { // one that is closed is for Accept to tell
		n, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, int(lookEvery.Milliseconds()))
		is = err == nil && n > 0
	})
	return is
}

// fill opens what is missing, as far as it can be had.
func (s *spare) fill() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for !s.closed && len(s.files) < spares {
		f, err := os.Open(os.DevNull)
		if err != nil {
			return
		}
		s.files = append(s.files, f)
	}
}

// give makes room for one, if there is one left.
func (s *spare) give() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	last := len(s.files) - 1
	if last < 0 {
		return false
	}
	s.files[last].Close()
	s.files = s.files[:last]
	return true
}

// Close closes the listener and gives all of them back.
func (s *spare) Close() error {
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	for s.give() {
	}
	return s.TCPListener.Close()
}

// spared is a connection that leaves its descriptor to the next.
type spared struct {
	net.Conn
	to *spare
}

func (c *spared) Close() error {
	err := c.Conn.Close()
	c.to.fill()
	return err
}
