package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"mcpd/supervisor"
)

// The variables by which a process learns of listening sockets that it is given. Service managers
// use the first two (sd_listen_fds(3)): as many descriptors from 3 on. The third is mcpd's own for
// the process that takes its place, and lists them: those below are in use.
const (
	listenPID  = "LISTEN_PID"
	listenFDs  = "LISTEN_FDS"
	listenList = "MCPD_LISTEN_FDS"
	firstFD    = 3
)

// maxSockets bounds the sockets that are taken.
const maxSockets = 64

// givenSockets takes the sockets that this process is given. Its children are not told of them.
func givenSockets() (supervisor.Sockets, error) {
	defer func() {
		for _, name := range []string{listenPID, listenFDs, "LISTEN_FDNAMES", listenList} {
			_ = os.Unsetenv(name)
		}
	}()
	fds, activated, err := listed(os.LookupEnv, os.Getpid())
	if err != nil {
		return supervisor.Sockets{}, err
	}
	given := supervisor.Sockets{Activated: activated}
	for _, fd := range fds {
		syscall.CloseOnExec(fd)
		given.Files = append(given.Files, os.NewFile(uintptr(fd), "descriptor "+strconv.Itoa(fd)))
	}
	return given, nil
}

// listed are the descriptors that the environment tells of, and whether a service manager has them.
func listed(getenv func(string) (string, bool), pid int) (fds []int, activated bool, err error) {
	if list, ok := getenv(listenList); ok {
		for field := range strings.SplitSeq(list, ",") {
			fd, err := strconv.Atoi(field)
			if err != nil || fd < firstFD || len(fds) == maxSockets {
				return nil, false, fmt.Errorf("$%s is %q: only mcpd sets it, take it out of the environment", listenList, list)
			}
			fds = append(fds, fd)
		}
		return fds, false, nil
	}
	if of, _ := getenv(listenPID); of != strconv.Itoa(pid) {
		return nil, false, nil // they are for another process
	}
	text, _ := getenv(listenFDs)
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 || n > maxSockets {
		return nil, false, fmt.Errorf("$%s is %q, want a number from 1 to %d", listenFDs, text, maxSockets)
	}
	for fd := range n {
		fds = append(fds, firstFD+fd)
	}
	return fds, true, nil
}

// startAgain replaces this process by another of the program that is there now, with the sockets.
// The process keeps its id, and the state directory has been let go of: no two hosts ever have it.
// It returns only if that fails.
func startAgain(ctx context.Context, s supervisor.Sockets, heard *hearing) error {
	program, err := os.Executable()
	if err != nil {
		return err
	}
	if err := checkProgram(ctx, (*exec.Cmd).Run, program); err != nil { // once more: a drain takes time
		return err
	}
	list := make([]string, len(s.Files))
	for i, f := range s.Files {
		if list[i], err = inherited(f, 0); err != nil {
			return err
		}
	}
	env := os.Environ()
	switch {
	case s.Activated:
		env = append(env, listenPID+"="+strconv.Itoa(os.Getpid()), listenFDs+"="+strconv.Itoa(len(list)))
	case len(list) > 0: // there is none to hand over if the listener was down
		env = append(env, listenList+"="+strings.Join(list, ","))
	}
	var files syscall.Rlimit
	if syscall.Getrlimit(syscall.RLIMIT_NOFILE, &files) == nil {
		// Exec has put back the limit that this process was started with.
		defer func() { _ = syscall.Setrlimit(syscall.RLIMIT_NOFILE, &files) }()
	}
	if ctx.Err() != nil || heard.gone() { // it was told to stop meanwhile
		return context.Canceled
	}
	heard.ignore()
	err = fmt.Errorf("start %s again: %w", program, syscall.Exec(program, os.Args, env))
	heard.listen()
	for _, f := range s.Files { // this process goes on with them, and its children have none
		_, failed := inherited(f, unix.FD_CLOEXEC)
		err = errors.Join(err, failed)
	}
	return err
}

// inherited says by flags whether the next program finds a file, and returns its number.
func inherited(f *os.File, flags int) (number string, err error) {
	raw, err := f.SyscallConn()
	if err != nil {
		return "", err
	}
	failed := raw.Control(func(fd uintptr) {
		number = strconv.Itoa(int(fd))
		_, err = unix.FcntlInt(fd, unix.F_SETFD, flags)
	})
	return number, errors.Join(failed, err)
}
