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

// These environment variables tell a process which listening sockets it receives. Service
// managers set the first two (sd_listen_fds(3)): a count of descriptors from 3 on. mcpd sets the
// third for the process that replaces it. It lists the descriptors, because those from 3 on are
// in use.
const (
	listenPID  = "LISTEN_PID"
	listenFDs  = "LISTEN_FDS"
	listenList = "MCPD_LISTEN_FDS"
	firstFD    = 3
)

// maxSockets bounds the number of sockets that are accepted.
const maxSockets = 64

// givenSockets returns the sockets that this process receives. It unsets the variables, so that
// child processes do not see them.
func givenSockets() (supervisor.Sockets, error) {
	defer func() {
		for _, name := range []string{listenPID, listenFDs, "LISTEN_FDNAMES", listenList} {
			_ = os.Unsetenv(name)
		}
	}()
	fds, activated, err := listDescriptors(os.LookupEnv, os.Getpid())
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

// listDescriptors returns the descriptors that the environment names, and whether a service manager
// holds them too.
func listDescriptors(getenv func(string) (string, bool), pid int) (fds []int, activated bool,
	err error) {
	if list, ok := getenv(listenList); ok {
		for field := range strings.SplitSeq(list, ",") {
			fd, err := strconv.Atoi(field)
			if err != nil || fd < firstFD || len(fds) == maxSockets {
				return nil, false, fmt.Errorf("$%s is %q: only mcpd sets it, take it out of the environment",
					listenList, list)
			}
			fds = append(fds, fd)
		}
		return fds, false, nil
	}
	if of, _ := getenv(listenPID); of != strconv.Itoa(pid) {
		// The sockets are meant for another process.
		return nil, false, nil
	}
	text, _ := getenv(listenFDs)
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 || n > maxSockets {
		return nil, false, fmt.Errorf("$%s is %q, want a number from 1 to %d", listenFDs,
			text, maxSockets)
	}
	for fd := range n {
		fds = append(fds, firstFD+fd)
	}
	return fds, true, nil
}

// execNext replaces this process by the program that is now installed, and passes on the
// sockets. The process keeps its id. The state directory has been released before, so two hosts
// never hold it at once. execNext returns only if it fails.
func execNext(ctx context.Context, s supervisor.Sockets, heard *signalListener) error {
	program, err := os.Executable()
	if err != nil {
		return err
	}
	// The program is checked once more, because the drain took time.
	if err := checkProgram(ctx, (*exec.Cmd).Run, program); err != nil {
		return err
	}
	list := make([]string, len(s.Files))
	for i, f := range s.Files {
		if list[i], err = setDescriptorFlags(f, 0); err != nil {
			return err
		}
	}
	env := os.Environ()
	switch {
	case s.Activated:
		env = append(env, listenPID+"="+strconv.Itoa(os.Getpid()), listenFDs+"="+strconv.Itoa(len(list)))
	// There is no socket to hand over if the listener was down.
	case len(list) > 0:
		env = append(env, listenList+"="+strings.Join(list, ","))
	}
	var files syscall.Rlimit
	if syscall.Getrlimit(syscall.RLIMIT_NOFILE, &files) == nil {
		// Exec restores the limit that this process was started with.
		defer func() { _ = syscall.Setrlimit(syscall.RLIMIT_NOFILE, &files) }()
	}
	// This process was told to stop in the meantime.
	if ctx.Err() != nil || heard.terminalGone() {
		return context.Canceled
	}
	heard.ignore()
	err = fmt.Errorf("start %s again: %w", program, syscall.Exec(program, os.Args, env))
	heard.listen()
	// This process continues with the sockets. Its children must not receive them.
	for _, f := range s.Files {
		_, failed := setDescriptorFlags(f, unix.FD_CLOEXEC)
		err = errors.Join(err, failed)
	}
	return err
}

// setDescriptorFlags sets the descriptor flags of f, which decide whether the next program receives
// it. It returns the number of the descriptor.
func setDescriptorFlags(f *os.File, flags int) (number string, err error) {
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
