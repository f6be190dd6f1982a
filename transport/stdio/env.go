package stdio

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"mcpd/transport"
)

// inherited names the variables that a child gets from the host's environment without being
// configured: programs need them to find their files, their tools and the user's language. Left out
// on purpose are credentials of any kind, XDG_RUNTIME_DIR (the sockets of the login session), and
// variables that make an interpreter load code (LD_PRELOAD, NODE_OPTIONS, PYTHONPATH, BASH_ENV).
var inherited = []string{
	"HOME", "LANG", "LC_*", "LOGNAME", "PATH", "SHELL", "TERM", "TMPDIR", "TZ", "USER",
	"XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME",
}

// InstanceVariable is the environment variable that marks every child, and all that it starts, as
// ours. After a crash of the host the remaining processes are found by it.
const InstanceVariable = "MCPD_INSTANCE"

// defaultPath is searched when the host's environment has no PATH. POSIX guarantees that it holds
// the standard utilities.
const defaultPath = "/usr/local/bin:/usr/bin:/bin"

// environment builds a child's environment from that of the host: the inherited names and those in
// pass, then set, then the mark. The result is sorted.
func environment(ours, pass []string, set map[string]string, instance string) []string {
	env := map[string]string{"PATH": defaultPath}
	for _, entry := range ours {
		name, value, _ := strings.Cut(entry, "=")
		if slices.Contains(pass, name) || slices.ContainsFunc(inherited, func(p string) bool {
			return matches(p, name)
		}) {
			env[name] = value
		}
	}
	maps.Copy(env, set)
	delete(env, InstanceVariable)
	if instance != "" {
		env[InstanceVariable] = instance
	}
	list := make([]string, 0, len(env))
	for name, value := range env {
		list = append(list, name+"="+value)
	}
	slices.Sort(list)
	return list
}

func matches(pattern, name string) bool {
	if prefix, ok := strings.CutSuffix(pattern, "*"); ok {
		return strings.HasPrefix(name, prefix)
	}
	return pattern == name
}

// lookPath finds the program that command names, as execvp would with the child's own PATH. Unlike
// execvp it skips empty and relative entries of PATH, which would run programs from the working
// directory. The error is a *transport.ExitError.
func lookPath(command, path, dir string) (string, error) {
	if strings.Contains(command, "/") {
		if err := executable(absolute(command, dir)); err != nil {
			return "", startError(command, err)
		}
		return command, nil
	}
	var denied error
	for _, entry := range filepath.SplitList(path) {
		if !filepath.IsAbs(entry) {
			continue
		}
		file := filepath.Join(entry, command)
		err := executable(file)
		if err == nil {
			return file, nil
		}
		if denied == nil && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, syscall.ENOTDIR) {
			denied = err
		}
	}
	if denied != nil {
		return "", startError(command, denied)
	}
	return "", startFailed(CauseNotFound,
		fmt.Errorf("command %q is in no directory of PATH %q", command, path))
}

// absolute returns where the kernel looks for a path after changing to dir.
func absolute(path, dir string) string {
	if filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(dir, path)
}

// executable returns why file cannot be executed, nil if it can.
func executable(file string) error {
	info, err := os.Stat(file)
	switch {
	case err != nil:
		return err
	case info.IsDir():
		return &fs.PathError{Op: "execute", Path: file, Err: syscall.EISDIR}
	case info.Mode()&0o111 == 0:
		return &fs.PathError{Op: "execute", Path: file, Err: syscall.EACCES}
	}
	return nil
}

// checkDir returns why a child cannot be started in dir. The kernel's own error would not say that
// it is about the folder.
func checkDir(dir string) error {
	if dir == "" {
		return nil
	}
	info, err := os.Stat(dir)
	if err == nil && !info.IsDir() {
		err = &fs.PathError{Op: "chdir", Path: dir, Err: syscall.ENOTDIR}
	}
	if err != nil {
		return startFailed(classify(err), fmt.Errorf("working directory: %w", err))
	}
	return nil
}

// checkText refuses values that cannot stand in an argument or the environment. The error names the
// place.
func checkText(s Spec) error {
	if s.Command == "" {
		return startFailed(CauseStart, errors.New("command is empty"))
	}
	for i, text := range append([]string{s.Command}, s.Args...) {
		if strings.ContainsRune(text, 0) {
			return startFailed(CauseStart,
				fmt.Errorf("argument %d of command %q holds a NUL byte", i,
					strings.ReplaceAll(s.Command, "\x00", "")))
		}
	}
	for name, value := range s.Env {
		if name == "" || strings.ContainsAny(name, "=\x00") || strings.ContainsRune(value, 0) {
			return startFailed(CauseStart,
				fmt.Errorf("environment variable %q has no usable name, or holds a NUL byte", name))
		}
	}
	return nil
}

// startError returns the ending of a child that never ran.
func startError(command string, err error) *transport.ExitError {
	cause := classify(err)
	if cause == CauseNotFound && errors.Is(err, errNoInterpreter) {
		return startFailed(cause,
			fmt.Errorf("command %q exists, but the interpreter named in it does not",
				command))
	}
	return startFailed(cause, fmt.Errorf("command %q: %w", command, err))
}
