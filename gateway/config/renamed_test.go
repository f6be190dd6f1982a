package config

import (
	"strings"
	"testing"
	"time"
)

// An earlier name of a key sets the same field, with a warning that has the new name.
func TestEarlierNamesOfKeys(t *testing.T) {
	server := func(keys string) string {
		return "tenants: {acme: {servers: {s: {command: cat, " + keys + "}}}}"
	}
	denies := func(c *Config) any { return c.Tenants[0].Servers[0].DenyRequests }
	waits := func(c *Config) any { return c.Tenants[0].Limits.InputTimeout }
	for _, test := range []struct {
		text  string
		field func(*Config) any
		want  any
		told  string
	}{
		{server("mute: true"), denies, true,
			"f:1:46: key mute has a new name, it is now allow_server_requests, with the opposite value"},
		{server("mute: false"), denies, false, "key mute has a new name"},
		{server("allow_server_requests: false"), denies, true, ""},
		{server("allow_server_requests: true"), denies, false, ""},
		{"limits: {park_time: 7s}\n" + server(""), waits, 7 * time.Second,
			"f:1:10: key park_time has a new name, it is now input_timeout"},
		{"tenants: {acme: {limits: {park_time: 8s}, servers: {s: {command: cat}}}}", waits,
			8 * time.Second, "key park_time has a new name"},
	} {
		c, err := Load([]byte(test.text), Options{File: "f"})
		if err != nil {
			t.Fatalf("%s: %v", test.text, err)
		}
		if got := test.field(c); got != test.want {
			t.Errorf("%s: got %v, want %v", test.text, got, test.want)
		}
		told := c.Warnings.Error()
		if test.told == "" && told != "" || !strings.Contains(told, test.told) {
			t.Errorf("%s: warned %q, want %q", test.text, told, test.told)
		}
	}
}

func TestEarlierNamesAreRefused(t *testing.T) {
	server := func(keys string) string {
		return "tenants: {acme: {servers: {s: {command: cat, " + keys + "}}}}"
	}
	for text, want := range map[string]string{
		server("mute: true, allow_server_requests: true"): "appears twice, mute is another name of it",
		server("allow_server_requests: true, mute: true"): "appears twice, mute is another name of it",
		server("mute: perhaps"):                           `mute is "perhaps"`,
		"limits: {mute: true}\n" + server(""):             `unknown key "mute"`,
		"limits: {park_time: 0s}\n" + server(""):          `park_time is "0s"`,
	} {
		if _, err := Load([]byte(text), Options{File: "f"}); err == nil ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}

// Each earlier name stands for a key that there is, and is no key itself.
func TestRenamedKeysAreKeys(t *testing.T) {
	for _, r := range renamedKeys {
		now := 0
		for _, k := range table() {
			if last(k.Path) == r.now {
				now++
			}
			if last(k.Path) == r.old {
				t.Errorf("%s is a key", k.Path)
			}
		}
		if now == 0 {
			t.Errorf("%s: there is no key %s", r.old, r.now)
		}
	}
}
