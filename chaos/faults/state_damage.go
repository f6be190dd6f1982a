package faults

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
)

var stateDamage = Kind{
	Name: "state.damage", CatalogueIDs: []string{"F53", "F61"}, Aim: AtHost, Contends: true,
	Needs: NeedSameMachine | NeedOwnHost,
	Description: "the host is killed, its file of state is damaged, and it is started again at the " +
		"end",
	Params: []Param{{
		Name: "how", Type: Text, Default: "torn", Words: []string{"torn", "garbage", "version"},
		Description: "the last line has no end, a line of garbage is in the middle, or the file is of " +
			"another " +
			"version, which costs all that was in it",
	}},
	Inject: func(_ context.Context, s *Site) (Injected, error) {
		file, err := stateFile(s.PID)
		if err != nil {
			return Injected{}, err
		}
		in, err := end(s, syscall.SIGKILL, func() error { return damage(file, s.Params.Text("how")) })
		in.Target += ", and " + file
		return in, err
	},
}

// stateFile returns the file that the host has open for its state.
func stateFile(pid int) (string, error) {
	links, err := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", pid))
	if err != nil {
		return "", err
	}
	for _, link := range links {
		if file, err := os.Readlink(link); err == nil && strings.HasSuffix(file, "/state.log") {
			return file, nil
		}
	}
	return "", errors.New("the host keeps no state")
}

// damage changes a log of lines as a crash of the machine, a bad disk or another version would.
func damage(file, how string) error {
	data, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	if data, err = damaged(data, how); err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	return os.WriteFile(file, data, 0o600)
}

// damaged returns the damaged log. The first line of a log is its header.
func damaged(data []byte, how string) ([]byte, error) {
	lines := bytes.SplitAfter(data, []byte("\n"))
	lines = lines[:len(lines)-1] // nothing follows the last line break
	if len(lines) < 2 {
		return nil, errors.New("nothing is in it that could be damaged")
	}
	switch how {
	case "torn":
		// Half of the last line again, as of a write that was cut short. Everything that was acknowledged
		// is before it.
		last := lines[len(lines)-1]
		return append(data, last[:len(last)/2]...), nil
	case "garbage":
		lines = slices.Insert(lines, 1+(len(lines)-1)/2, bytes.Repeat([]byte{0xff, 0}, 1000),
			[]byte("\n"))
	case "version":
		text := []byte(`{"mcpd_state":"9999"}`)
		lines[0] = fmt.Appendf(nil, "%08x %s\n",
			crc32.Checksum(text, crc32.MakeTable(crc32.Castagnoli)), text)
	}
	return bytes.Join(lines, nil), nil
}
