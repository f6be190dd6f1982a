package stdio

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"syscall"
)

// sealDescriptors makes every descriptor of this process close-on-exec. The descriptors that Go
// opens are so already. Inherited ones are not, and a child must not get them (S75).
func sealDescriptors() {
	entries, err := os.ReadDir("/dev/fd")
	if err != nil {
		return // without a list, inherited ones cannot be found
	}
	for _, e := range entries {
		if fd, err := strconv.Atoi(e.Name()); err == nil && fd > 2 {
			syscall.CloseOnExec(fd)
		}
	}
}

// pipes holds the three pipes of a child. All six ends are close-on-exec; the child gets duplicates
// of its three.
type pipes struct {
	stdin, stdout, stderr *os.File    // our ends, which the runtime's poller watches
	child                 [3]*os.File // the child's ends, in the order of their numbers
}

func openPipes() (*pipes, error) {
	var p pipes
	var err error
	if p.child[0], p.stdin, err = os.Pipe(); err == nil {
		if p.stdout, p.child[1], err = os.Pipe(); err == nil {
			p.stderr, p.child[2], err = os.Pipe()
		}
	}
	if err != nil {
		p.closeOurs()
		p.closeTheirs()
		return nil, err
	}
	return &p, nil
}

// explainEMFILE adds the limit to the error of a process that may open no more files.
func explainEMFILE(err error) error {
	var files syscall.Rlimit
	if !errors.Is(err, syscall.EMFILE) || syscall.Getrlimit(syscall.RLIMIT_NOFILE, &files) != nil {
		return err
	}
	return fmt.Errorf("%w: mcpd may have %d (RLIMIT_NOFILE)", err, files.Cur)
}

// theirs returns the descriptors for the child. Fd makes them blocking, which programs expect.
func (p *pipes) theirs() []uintptr {
	return []uintptr{p.child[0].Fd(), p.child[1].Fd(), p.child[2].Fd()}
}

func (p *pipes) closeTheirs() {
	for _, f := range p.child {
		f.Close() // a nil file returns an error, which is ignored
	}
}

func (p *pipes) closeOurs() {
	p.stdin.Close()
	p.stdout.Close()
	p.stderr.Close()
}
