package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
)

// who is the user and the groups of a process, for the question whose files it may trust.
type who struct {
	user   int
	groups []int
}

// self is this process.
func self() who {
	groups, _ := os.Getgroups() // without them the one that it acts as is left
	return who{os.Geteuid(), append(groups, os.Getegid())}
}

// maxLinks bounds the symbolic links of one path, as the kernel does.
const maxLinks = 40

// trusts refuses a path when somebody other than root and the user of this process could change
// what is there: the file or directory itself, a directory above it, or a link on the way. What is
// not there yet is no reason. An error says what is wrong, where, why that matters, and what to do.
func (w who) trusts(path, why string) error {
	abs := path
	if !filepath.IsAbs(path) {
		dir, err := os.Getwd()
		if err != nil {
			return err
		}
		abs = dir + "/" + path // not joined: what ".." is of, the links before it say
	}
	at, rest, links := "/", split(abs), 0
	info, err := os.Lstat(at)
	if err != nil {
		return err
	}
	for {
		last := len(rest) == 0
		shown := at
		if last && links == 0 { // as it was named
			shown = path
		}
		if err := w.trustsEntry(shown, why, info, last); err != nil || last {
			return err
		}
		next := filepath.Join(at, rest[0])
		switch info, err = os.Lstat(next); {
		case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTDIR):
			return nil
		case err != nil:
			return err
		case info.Mode()&fs.ModeSymlink == 0:
			at, rest = next, rest[1:]
			continue
		}
		if links++; links > maxLinks {
			return fmt.Errorf("%s: there are too many symbolic links on the way, name the file itself", path)
		}
		if err := w.trustsEntry(next, why, info, false); err != nil {
			return err
		}
		target, err := os.Readlink(next)
		if err != nil {
			return err
		}
		if !filepath.IsAbs(target) {
			target = at + "/" + target
		}
		at, rest = "/", append(split(target), rest[1:]...)
		if info, err = os.Lstat(at); err != nil {
			return err
		}
	}
}

// split is the names of an absolute path. A ".." stays one of them: it is joined to what is
// resolved by then.
func split(abs string) (names []string) {
	for name := range strings.SplitSeq(abs, "/") {
		if name != "" && name != "." {
			names = append(names, name)
		}
	}
	return names
}

// trustsEntry is trusts of one file, directory or link. Last is the one that the path is of: of the
// directories above it one with the sticky bit, as /tmp is, may be writable, because nobody else
// can take out of it what is checked next.
func (w who) trustsEntry(path, why string, info fs.FileInfo, last bool) error {
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return nil
	}
	mode, kind := info.Mode(), "file"
	switch {
	case mode.IsDir():
		kind = "directory"
	case mode&fs.ModeSymlink != 0:
		kind = "link"
	}
	if stat.Uid != 0 && int(stat.Uid) != w.user {
		return fmt.Errorf("%s: user %d owns this %s, only root and the user of this process (%d) are "+
			"trusted, chown %d %s", path, stat.Uid, kind, w.user, w.user, path)
	}
	shared := !last && mode.IsDir() && mode&fs.ModeSticky != 0
	if kind == "link" || shared || mode.Perm()&0o022 == 0 || readOnly(path) {
		return nil
	}
	if !last {
		why = "who may write it can replace what is in it"
	}
	if mode.Perm()&0o002 != 0 {
		return fmt.Errorf("%s: everyone may write this %s (mode %04o), %s, chmod o-w %s",
			path, kind, mode.Perm(), why, path)
	}
	if slices.Contains(w.groups, int(stat.Gid)) {
		return nil
	}
	return fmt.Errorf("%s: group %d, which this process is not in, may write this %s (mode %04o), %s, "+
		"chmod g-w %s", path, stat.Gid, kind, mode.Perm(), why, path)
}

// readOnly reports whether nobody can write to the file system, whatever the mode says:
// orchestrators mount configurations so.
func readOnly(path string) bool {
	const flag = 1 // ST_RDONLY and MNT_RDONLY
	var stat syscall.Statfs_t
	return syscall.Statfs(path, &stat) == nil && stat.Flags&flag != 0
}

// trustsIn is trusts of what is directly in a directory, which is trusted itself.
func (w who) trustsIn(dir, why string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if err := w.trusts(filepath.Join(dir, e.Name()), why); err != nil {
			return err
		}
	}
	return nil
}
