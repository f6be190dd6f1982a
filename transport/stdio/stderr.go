package stdio

import (
	"bytes"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"time"
	"unicode/utf8"

	"golang.org/x/sys/unix"

	"mcpd/transport"
)

// stderr empties a child's standard error for as long as a process can write to it, so that no
// writer blocks for longer than transport.PaceSpan.
type stderr struct {
	file   *os.File
	line   func([]byte, bool)
	kill   func()          // ends the program when its lines cannot be reported
	exited <-chan struct{} // closed when the program has ended
	done   chan struct{}

	parts atomic.Uint64 // number of reads

	part []byte // the beginning of the current line
	skip bool   // the current line was too long, and is reported already

	mu    sync.Mutex // guards what follows
	last  []byte     // the tail of the output
	fault error      // set when the callback panicked
}

func newStderr(file *os.File, line func([]byte, bool), kill func(),
	exited <-chan struct{}) *stderr {
	return &stderr{file: file, line: line, kill: kill, exited: exited, done: make(chan struct{})}
}

// drain reads until the end of the pipe or its deadline. The output that a program leaves in the
// pipe at its end is exempt from the rate limit, because settle waits for it.
func (s *stderr) drain() {
	defer close(s.done)
	defer s.file.Close()
	buf := make([]byte, errorPart)
	var pace transport.RateLimiter
	exited := s.exited
	for {
		select {
		case <-exited:
			exited = nil
			pace.Spare(fullPipe / errorPart)
		default:
		}
		n, err := s.file.Read(buf)
		s.parts.Add(1)
		s.keep(buf[:n])
		if s.line != nil {
			s.split(buf[:n])
		}
		if err != nil {
			if s.line != nil && len(s.part) > 0 && !s.skip {
				s.report(s.part, false)
			}
			return
		}
		time.Sleep(pace.Take(1, time.Now()))
	}
}

// keep adds to the tail.
func (s *stderr) keep(p []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	p = p[max(0, len(p)-tailBytes):]
	if over := len(s.last) + len(p) - tailBytes; over > 0 {
		s.last = s.last[:copy(s.last, s.last[over:])]
	}
	s.last = append(s.last, p...)
}

// tail returns a copy of the last bytes, beginning with a whole character. Nil when there are none.
func (s *stderr) tail() []byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	from := 0
	for len(s.last) == tailBytes && from < utf8.UTFMax-1 && !utf8.RuneStart(s.last[from]) {
		from++
	}
	return bytes.Clone(s.last[from:])
}

// settle waits for the rest of an exited program's output: until the pipe ends or stays silent. If
// a process left behind goes on writing, it waits for exitTime, and longer only while the pipe has
// never been empty: it may still have output of the program.
func (s *stderr) settle() {
	limit, last := time.NewTimer(exitTime), time.NewTimer(maxSettle)
	defer limit.Stop()
	defer last.Stop()
	look := time.NewTicker(emptyPipeTime)
	defer look.Stop()
	late, emptied := false, false
	for was := s.parts.Load(); !late || !emptied; {
		select {
		case <-s.done:
			return
		case <-last.C:
			return
		case <-limit.C:
			late = true
		case <-look.C:
			now, empty := s.parts.Load(), s.empty()
			if empty && now == was {
				return
			}
			emptied, was = emptied || empty, now
		}
	}
}

// empty reports whether the pipe has nothing to read. On a machine whose processors are all busy,
// drain may not run for longer than emptyPipeTime.
func (s *stderr) empty() bool {
	raw, err := s.file.SyscallConn()
	if err != nil {
		return true // drain has closed it
	}
	pipe := []unix.PollFd{{Events: unix.POLLIN}}
	err = raw.Control(func(fd uintptr) {
		pipe[0].Fd = int32(fd)
		_, _ = unix.Poll(pipe, 0) // after an error the pipe counts as empty
	})
	return err != nil || pipe[0].Revents&unix.POLLIN == 0
}

// report calls the callback. A panic there is a fault of the child's owner, so it ends the child
// and not the host.
func (s *stderr) report(line []byte, cut bool) {
	if s.line == nil {
		return
	}
	defer func() {
		if r := recover(); r != nil {
			s.line = nil
			s.mu.Lock()
			s.fault = fmt.Errorf("callback for standard error: panic: %v", r)
			s.mu.Unlock()
			s.kill()
		}
	}()
	s.line(line, cut)
}

// failure returns why the callback takes no more lines, nil while it does.
func (s *stderr) failure() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.fault
}

// split reports the lines in p and keeps the rest for the next call.
func (s *stderr) split(p []byte) {
	for len(p) > 0 {
		end := bytes.IndexByte(p, '\n')
		piece := p
		if end >= 0 {
			piece = p[:end]
		}
		if !s.skip {
			room := maxErrorLine - len(s.part)
			s.part = append(s.part, piece[:min(room, len(piece))]...)
			if len(piece) > room {
				s.report(s.part, true)
				s.skip = true
			}
		}
		if end < 0 {
			return
		}
		if !s.skip {
			s.report(bytes.TrimSuffix(s.part, []byte("\r")), false)
		}
		s.part, s.skip = s.part[:0], false
		p = p[end+1:]
	}
}
