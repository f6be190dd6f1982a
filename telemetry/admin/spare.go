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
	// reservedDescriptors is how many file descriptors the listener reserves for its connections, so
	// that a probe and an operator are answered when the process has no descriptor left. It is one for
	// each, and as many again because other code that waits for a descriptor may be faster.
	reservedDescriptors = 4
	// lookEvery is how long a listener without descriptors waits for a connection before it checks
	// again whether descriptors are available.
	lookEvery = 100 * time.Millisecond
)

// reservingListener is a listener that accepts connections even when the process may not open
// another file.
type reservingListener struct {
	*net.TCPListener

	mu     sync.Mutex // guards the fields below
	files  []*os.File
	closed bool
}

// Accept waits for a connection. It fails for lack of descriptors only when a client is waiting
// and the reserved descriptors are used up.
func (s *reservingListener) Accept() (net.Conn, error) {
	for {
		s.fill()
		c, err := s.TCPListener.Accept()
		for full(err) && s.clientWaiting() { // the kernel also refuses when no client is waiting
			if !s.free() {
				return nil, err
			}
			c, err = s.TCPListener.Accept()
		}
		switch {
		case err == nil:
			return &reservedConn{c, s}, nil
		case !full(err):
			return nil, err
		}
	}
}

func full(err error) bool {
	return errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE)
}

// clientWaiting reports whether a client is waiting to be accepted, or arrives within lookEvery.
func (s *reservingListener) clientWaiting() (is bool) {
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
func (s *reservingListener) fill() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for !s.closed && len(s.files) < reservedDescriptors {
		f, err := os.Open(os.DevNull)
		if err != nil {
			return
		}
		s.files = append(s.files, f)
	}
}

// free frees one reserved descriptor, if there is one left.
func (s *reservingListener) free() bool {
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
func (s *reservingListener) Close() error {
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	for s.free() {
	}
	return s.TCPListener.Close()
}

// reservedConn is a connection whose descriptor becomes a reserved one when it is closed.
type reservedConn struct {
	net.Conn
	to *reservingListener
}

func (c *reservedConn) Close() error {
	err := c.Conn.Close()
	c.to.fill()
	return err
}
