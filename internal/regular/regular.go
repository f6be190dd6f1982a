// Package regular opens regular files only. Opening or reading a pipe or a device may block
// forever. A path can lead to one because a user named it by mistake, or because another program
// put it there.
package regular

import (
	"errors"
	"fmt"
	"io"
	"os"
	"syscall"
)

// ErrNotRegular is the reason why Open refuses a pipe, a device, a socket or a directory.
var ErrNotRegular = errors.New("this is not a regular file")

// Open opens a regular file for reading. For any other file its error wraps ErrNotRegular.
func Open(path string) (*os.File, error) { return OpenFile(path, os.O_RDONLY, 0) }

// OpenFile is os.OpenFile for regular files. For any other file its error wraps ErrNotRegular. With
// os.O_CREATE it creates a missing file. OpenFile checks the file before it opens it, because
// opening a device may have an effect. It checks again afterwards, because the path may lead to
// another file by then.
func OpenFile(path string, flag int, mode os.FileMode) (*os.File, error) {
	info, err := os.Stat(path)
	if failed, ok := errors.AsType[*os.PathError](err); ok {
		failed.Op = "open" // the caller asked to open the file, not to stat it
	}
	missing := flag&os.O_CREATE != 0 && errors.Is(err, os.ErrNotExist)
	if err != nil && !missing {
		return nil, err
	}
	if err == nil && !info.Mode().IsRegular() {
		return nil, &os.PathError{Op: "open", Path: path, Err: ErrNotRegular}
	}
	// O_NONBLOCK has no effect on a regular file, and keeps the opening of a pipe from blocking.
	f, err := os.OpenFile(path, flag|syscall.O_NONBLOCK, mode)
	if err != nil {
		return nil, err
	}
	if info, err = f.Stat(); err == nil && !info.Mode().IsRegular() {
		err = &os.PathError{Op: "open", Path: path, Err: ErrNotRegular}
	}
	if err != nil {
		_ = f.Close() // nothing was written, so no data can be lost
		return nil, err
	}
	return f, nil
}

// Read returns the contents of a regular file. A file of more than most bytes is an error. The
// error names the bound in MiB, so most should be a whole number of MiB.
func Read(path string, most int64) ([]byte, error) {
	f, err := Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, most+1))
	if err == nil && int64(len(data)) > most {
		return nil, &os.PathError{
			Op: "read", Path: path, Err: fmt.Errorf("it is larger than %d MiB", most>>20),
		}
	}
	return data, err
}

// Write is os.WriteFile for regular files.
func Write(path string, data []byte, mode os.FileMode) error {
	f, err := OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, mode)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	return errors.Join(err, f.Close())
}
