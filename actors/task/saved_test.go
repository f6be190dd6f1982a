package task

import (
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
)

const savedTask = `{"server":"files","home":"here","principal":"ci","capabilities":{"elicitation":{}},"client":{"name":"c","version":"1"},"task":` +
	`{"id":"T","down":1,"up":1,"client":"2025-11-25","server":"2025-11-25","status":"working","created":"2026-11-20T12:00:00Z",` +
	`"updated":"2026-11-20T12:00:00Z","ttl_ns":60000000000,"poll_ns":1000000000,"asked":[0,0,0,0],"own":"s-1"}}`

// A stored record is a task that can be started, or is refused, and never causes a crash.
func FuzzLoad(f *testing.F) {
	o := &Options{Home: func(string) string { return "here" }}
	row := strings.Repeat("0", 32)
	if a, err := load(o, row, jsontext.Value(savedTask)); err != nil || !a.lives {
		f.Fatalf("%+v, %v", a, err)
	}
	f.Add(row, savedTask)
	f.Add("x", savedTask)
	f.Add(row, `{"server":"files","client":7,"task":7}`)
	f.Fuzz(func(t *testing.T, row, text string) {
		a, err := load(o, row, jsontext.Value(text))
		if err == nil && (a.Row != row || a.Server == "" || a.loaded == nil || a.Owner == nil ||
			len(row) != 32) {
			t.Errorf("%s: %+v", text, a)
		}
	})
}
