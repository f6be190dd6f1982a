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

// identity is the user and the groups of a process. It decides which files the process may trust.
type identity struct {
	user   int
	groups []int
}

// currentIdentity returns the user and the groups of this process.
func currentIdentity() identity {
	// Without the list, the effective group remains.
	groups, _ := os.Getgroups()
	return identity{os.Geteuid(), append(groups, os.Getegid())}
}

// maxLinks bounds the symbolic links of one path, as the kernel does.
const maxLinks = 40

// checkPath refuses a path that a user other than root and the user of this process could change:
// the file or directory itself, a directory above it, or a link on the way. A path that does not
// exist yet is accepted. The error says what is wrong, where, why that matters, and what to do.
func (w identity) checkPath(path, reason string) error {
	abs := path
	if !filepath.IsAbs(path) {
		dir, err := os.Getwd()
		if err != nil {
			return err
		}
		// The path is not cleaned, because the links before a ".." decide which directory it refers to.
		abs = dir + "/" + path
	}
	at, rest, links := "/", split(abs), 0
	info, err := os.Lstat(at)
	if err != nil {
		return err
	}
	for {
		last := len(rest) == 0
		shown := at
		if last && links == 0 { // as the caller named it
			shown = path
		}
		if err := w.checkEntry(shown, reason, info, last); err != nil || last {
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
		if err := w.checkEntry(next, reason, info, false); err != nil {
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

// split returns the names of an absolute path. A ".." stays in the list, because it is applied
// only after the names before it are resolved.
func split(abs string) (names []string) {
	for name := range strings.SplitSeq(abs, "/") {
		if name != "" && name != "." {
			names = append(names, name)
		}
	}
	return names
}

// checkEntry checks one file, directory or link. Last says that it is the end of the path. A
// directory above the end may be writable if it has the sticky bit, as /tmp has, because other
// users cannot replace the entry that is checked next.
func (w identity) checkEntry(path, reason string, info fs.FileInfo, last bool) error {
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
		reason = "a user who may write it can replace its entries"
	}
	if mode.Perm()&0o002 != 0 {
		return fmt.Errorf("%s: everyone may write this %s (mode %04o), %s, chmod o-w %s",
			path, kind, mode.Perm(), reason, path)
	}
	if slices.Contains(w.groups, int(stat.Gid)) {
		return nil
	}
	return fmt.Errorf("%s: group %d, which this process is not in, may write this %s (mode %04o), "+
		"%s, "+
		"chmod g-w %s", path, stat.Gid, kind, mode.Perm(), reason, path)
}

// readOnly reports whether the file system is read-only, whatever the mode says. Orchestrators
// mount configurations this way.
func readOnly(path string) bool {
	const flag = 1 // ST_RDONLY and MNT_RDONLY
	var stat syscall.Statfs_t
	return syscall.Statfs(path, &stat) == nil && stat.Flags&flag != 0
}

// checkDirectory checks the direct entries of a directory that is trusted itself.
func (w identity) checkDirectory(dir, reason string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if err := w.checkPath(filepath.Join(dir, e.Name()), reason); err != nil {
			return err
		}
	}
	return nil
}
