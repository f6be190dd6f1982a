// Package regular opens regular files only. To open or read a pipe or a device may take for ever,
// and a file that a person names by mistake, or that somebody else has put there, may be one.
package regular

import (
	"errors"
	"fmt"
	"io"
	"os"
	"syscall"
)

// ErrNot is why Open does not open a pipe, a device, a socket or a directory.
var ErrNot = errors.New("this is no regular file")

// Open opens a file for reading, unless it is no regular file.
func Open(path string) (*os.File, error) { return OpenFile(path, os.O_RDONLY, 0) }

// OpenFile is os.OpenFile for regular files. A file that is not there can be made by it. It looks
// before it opens the file, because to open a device may have an effect, and afterwards, because
// another file may be there by then.
func OpenFile(path string, flag int, mode os.FileMode) (*os.File, error) {
	info, err := os.Stat(path)
	if failed, ok := errors.AsType[*os.PathError](err); ok {
		failed.Op = "open" // which is what the caller wanted
	}
	missing := flag&os.O_CREATE != 0 && errors.Is(err, os.ErrNotExist)
	if err != nil && !missing {
		return nil, err
	}
	if err == nil && !info.Mode().IsRegular() {
		return nil, &os.PathError{Op: "open", Path: path, Err: ErrNot}
	}
	// O_NONBLOCK means nothing for a regular file, and keeps the opening of a pipe from waiting.
	f, err := os.OpenFile(path, flag|syscall.O_NONBLOCK, mode)
	if err != nil {
		return nil, err
	}
	if info, err = f.Stat(); err == nil && !info.Mode().IsRegular() {
		err = &os.PathError{Op: "open", Path: path, Err: ErrNot}
	}
	if err != nil {
		_ = f.Close() // nothing was written
		return nil, err
	}
	return f, nil
}

// Read returns what is in a regular file of at most so many bytes, which are whole MiB.
func Read(path string, most int64) ([]byte, error) {
	f, err := Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, most+1))
	if err == nil && int64(len(data)) > most {
		return nil, &os.PathError{Op: "read", Path: path, Err: fmt.Errorf("it is larger than %d MiB", most>>20)}
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
