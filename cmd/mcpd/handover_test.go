package main

import (
	"slices"
	"strings"
	"testing"
)

// The variables of service managers apply only to the process that they name.
func TestGivenSockets(t *testing.T) {
	for _, test := range []struct {
		env       map[string]string
		fds       []int
		activated bool
		wrong     string
	}{
		{nil, nil, false, ""},
		{map[string]string{"LISTEN_FDS": "1"}, nil, false, ""},
		// The sockets are meant for another process, such as the parent.
		{map[string]string{"LISTEN_PID": "8", "LISTEN_FDS": "1"}, nil, false, ""},
		{map[string]string{"LISTEN_PID": "7", "LISTEN_FDS": "2"}, []int{3, 4}, true, ""},
		{map[string]string{"LISTEN_PID": "7", "LISTEN_FDS": "0"}, nil, false, "LISTEN_FDS"},
		{map[string]string{"LISTEN_PID": "7", "LISTEN_FDS": "many"}, nil, false, "LISTEN_FDS"},
		{map[string]string{"LISTEN_PID": "7", "LISTEN_FDS": "65"}, nil, false, "from 1 to 64"},
		{map[string]string{"MCPD_LISTEN_FDS": "9,11"}, []int{9, 11}, false, ""},
		{map[string]string{"MCPD_LISTEN_FDS": "9", "LISTEN_PID": "7", "LISTEN_FDS": "1"},
			[]int{9}, false, ""},
		// Descriptor 2 is standard error.
		{map[string]string{"MCPD_LISTEN_FDS": "2"}, nil, false, "MCPD_LISTEN_FDS"},
		{map[string]string{"MCPD_LISTEN_FDS": ""}, nil, false, "MCPD_LISTEN_FDS"},
	} {
		fds, activated, err := listDescriptors(func(name string) (string, bool) {
			v, ok := test.env[name]
			return v, ok
		}, 7)
		if (err != nil) != (test.wrong != "") ||
			err != nil && !strings.Contains(err.Error(), test.wrong) {
			t.Errorf("%v: %v, want an error about %q", test.env, err, test.wrong)
		}
		if !slices.Equal(fds, test.fds) || activated != test.activated {
			t.Errorf("%v: got %v, %t, want %v, %t", test.env, fds, activated, test.fds, test.activated)
		}
	}
}
