package config

import (
	"errors"
	"os"
	"syscall"
)

// ErrNotRegular is why OpenRegular does not open a pipe, a device, a socket or a directory.
var ErrNotRegular = errors.New("this is no regular file")

// OpenRegular opens a file for reading, unless it is no regular file: to open or read a pipe or a
// device may take for ever. It looks before it opens the file, because to open a device may have an
// effect, and afterwards, because another file may be there by then.
func OpenRegular(path string) (*os.File, error) {
	info, err := os.Stat(path)
	if failed, ok := errors.AsType[*os.PathError](err); ok {
		failed.Op = "open" // which is what the caller wanted
	}
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, ErrNotRegular
	}
	// O_NONBLOCK means nothing for a regular file, and keeps the opening of a pipe from waiting.
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	if info, err = f.Stat(); err != nil || !info.Mode().IsRegular() {
		_ = f.Close() // it was only read
		if err == nil {
			err = ErrNotRegular
		}
		return nil, err
	}
	return f, nil
}
