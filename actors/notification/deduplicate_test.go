package notification

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"
)

// Several instances report one change: clients get it once, and get each further change again.
func TestEchoesOfInstances(t *testing.T) {
	const updated, listed = resourceUpdated, "notifications/tools/list_changed"
	notice := func(instance uint8, method, uri string) *Notice {
		return &Notice{Server: "files", Method: method, URI: uri, Instance: instance}
	}
	start := time.Unix(0, 0)
	for _, c := range []struct {
		name string
		told []*Notice
		at   []time.Duration // time of each
		want string          // t for a delivered one, e for an echo
	}{
		{
			"one instance", []*Notice{notice(1, updated, "a"), notice(1, updated, "a")},
			[]time.Duration{0, 0}, "tt",
		},
		{
			"two of one change", []*Notice{notice(1, updated, "a"), notice(2, updated, "a")},
			[]time.Duration{0, DuplicateTime}, "te",
		},
		{
			"two of two changes", []*Notice{
				notice(1, updated, "a"), notice(2, updated, "a"), notice(2, updated, "a"),
				notice(1, updated, "a"),
			}, []time.Duration{0, 1, 2, 3}, "tete",
		},
		{
			"two resources", []*Notice{notice(1, updated, "a"), notice(2, updated, "b")},
			[]time.Duration{0, 0}, "tt",
		},
		{
			"much later", []*Notice{notice(1, updated, "a"), notice(2, updated, "a")},
			[]time.Duration{0, DuplicateTime + 1}, "tt",
		},
		{
			"lists, which the catalogue compares", []*Notice{notice(1, listed, ""), notice(2, listed, "")},
			[]time.Duration{0, 0}, "tt",
		},
		{
			"from the host", []*Notice{notice(1, updated, "a"), notice(0, updated, "a")},
			[]time.Duration{0, 0}, "tt",
		},
	} {
		var e deduplicator
		got := ""
		for i, n := range c.told {
			if e.echo(n, start.Add(c.at[i])) {
				got += "e"
			} else {
				got += "t"
			}
		}
		if got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
}

// The number of remembered resources is bounded, and old ones are dropped.
func TestEchoesAreBounded(t *testing.T) {
	var e deduplicator
	now := time.Unix(0, 0)
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	long := strings.Repeat("x", 64<<10)
	for i := range 2 * MaxRememberedChanges {
		if e.echo(&Notice{Method: resourceUpdated, URI: fmt.Sprint(long, i), Instance: 1}, now) {
			t.Fatal("a first change is an echo")
		}
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	if len(e.by) != MaxRememberedChanges {
		t.Errorf("%d are remembered, want %d", len(e.by), MaxRememberedChanges)
	}
	if grown := int64(after.HeapAlloc) - int64(before.HeapAlloc); grown > 4<<20 {
		t.Errorf("they take %d bytes", grown)
	}
	if e.forget(now.Add(DuplicateTime + 1)); len(e.by) != 0 {
		t.Errorf("%d are remembered that are old", len(e.by))
	}
}
