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
	// spares is how many file descriptors the listener reserves for its connections, so that a probe
	// and an operator are answered when the process has no descriptor left. It is one for each, and
	// as many again because other code that waits for a descriptor may be faster.
	spares = 4
	// lookEvery is how long a listener without descriptors waits for a connection before it checks
	// again whether descriptors are available.
	lookEvery = 100 * time.Millisecond
)

// spare is a listener that accepts connections even when the process may not open another file.
type spare struct {
	*net.TCPListener

	mu     sync.Mutex // guards the fields below
	files  []*os.File
	closed bool
}

// Accept waits for a connection. It fails for lack of descriptors only when a client is waiting
// and the reserved descriptors are used up.
func (s *spare) Accept() (net.Conn, error) {
	for {
		s.fill()
		c, err := s.TCPListener.Accept()
		for full(err) && s.waited() { // the kernel also refuses when no client is waiting
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

func full(err error) bool {
	return errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE)
}

// waited reports whether a client is waiting to be accepted, or arrives within lookEvery.
func (s *spare) waited() (is bool) {
	c, err := s.SyscallConn()
	if err != nil {
		return false
	}
	// If the listener is closed, Accept reports that.
	_ = c.Control(func(fd uintptr) {
		n, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}},
			int(lookEvery.Milliseconds()))
		is = err == nil && n > 0
	})
	return is
}

// fill opens the missing descriptors, as far as it can.
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

// give frees one reserved descriptor, if there is one left.
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

// Close closes the listener and all reserved descriptors.
func (s *spare) Close() error {
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	for s.give() {
	}
	return s.TCPListener.Close()
}

// spared is a connection whose descriptor becomes a reserved one when it is closed.
type spared struct {
	net.Conn
	to *spare
}

func (c *spared) Close() error {
	err := c.Conn.Close()
	c.to.fill()
	return err
}
