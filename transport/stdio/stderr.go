package stdio

import (
	"bytes"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"time"
	"unicode/utf8"

	"mcpd/transport"
)

// stderr empties a child's standard error for as long as anybody can write to it, so that no writer blocks for longer than transport.PaceSpan.
type stderr struct {
	file   *os.File
	line   func([]byte, bool)
	kill   func()          // ends the program whose lines nobody can take
	exited <-chan struct{} // closed when the program has ended
	done   chan struct{}

	parts atomic.Uint64 // that were read

	part []byte // the current line so far
	skip bool   // it was too long, and was reported already

	mu    sync.Mutex // guards what follows
	last  []byte     // the end of all that was written
	fault error      // the callback panicked
}

func newStderr(file *os.File, line func([]byte, bool), kill func(), exited <-chan struct{}) *stderr {
	return &stderr{file: file, line: line, kill: kill, exited: exited, done: make(chan struct{})}
}

// drain reads until the end of the pipe or its deadline. What a program leaves in the pipe at its end is waited for, and has no pace.
func (s *stderr) drain() {
	defer close(s.done)
	defer s.file.Close()
	buf := make([]byte, errorPart)
	var pace transport.Pace
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

// tail is a copy of the last bytes, from the beginning of a character on. Nil when there are none.
func (s *stderr) tail() []byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	from := 0
	for len(s.last) == tailBytes && from < utf8.UTFMax-1 && !utf8.RuneStart(s.last[from]) {
		from++
	}
	return bytes.Clone(s.last[from:])
}

// settle waits for the rest of what an exited program wrote: until the pipe ends or stays silent, and not for long if something that it left behind
// goes on writing.
func (s *stderr) settle() {
	limit := time.NewTimer(exitTime)
	defer limit.Stop()
	look := time.NewTicker(drainTime)
	defer look.Stop()
	for was := s.parts.Load(); ; {
		select {
		case <-s.done:
			return
		case <-limit.C:
			return
		case <-look.C:
			now := s.parts.Load()
			if now == was {
				return
			}
			was = now
		}
	}
}

// report calls back. A panic there belongs to whoever owns the child, so it ends the child and not the process.
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

// failure is why the callback can take no more lines, nil while it can.
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
