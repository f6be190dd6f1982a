package notification

import (
	"fmt"
	"testing"
	"time"
)

// What several instances tell of one change is told once, and each further change again.
func TestEchoesOfInstances(t *testing.T) {
	const updated, listed = resourceUpdated, "notifications/tools/list_changed"
	notice := func(instance uint8, method, uri string) *Notice {
		return &Notice{Server: "files", Method: method, URI: uri, Instance: instance}
	}
	start := time.Unix(0, 0)
	for _, c := range []struct {
		name string
		told []*Notice
		at   []time.Duration // of each
		want string          // t is told, e is an echo
	}{
		{
			"one instance", []*Notice{notice(1, updated, "a"), notice(1, updated, "a")},
			[]time.Duration{0, 0}, "tt",
		},
		{
			"two of one change", []*Notice{notice(1, updated, "a"), notice(2, updated, "a")},
			[]time.Duration{0, EchoTime}, "te",
		},
		{
			"two of two changes", []*Notice{
				notice(1, updated, "a"), notice(2, updated, "a"), notice(2, updated, "a"), notice(1, updated, "a"),
			}, []time.Duration{0, 1, 2, 3}, "tete",
		},
		{
			"two resources", []*Notice{notice(1, updated, "a"), notice(2, updated, "b")},
			[]time.Duration{0, 0}, "tt",
		},
		{
			"much later", []*Notice{notice(1, updated, "a"), notice(2, updated, "a")},
			[]time.Duration{0, EchoTime + 1}, "tt",
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
		var e echoes
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

// What is remembered is bounded, and forgotten when it is old.
func TestEchoesAreBounded(t *testing.T) {
	var e echoes
	now := time.Unix(0, 0)
	for i := range 3 * MaxEchoes {
		e.echo(&Notice{Method: resourceUpdated, URI: fmt.Sprint(i), Instance: 1}, now)
		if len(e.by) > MaxEchoes {
			t.Fatalf("%d are remembered", len(e.by))
		}
	}
	e.echo(&Notice{Method: resourceUpdated, URI: "last", Instance: 1}, now)
	for i := range MaxEchoes - len(e.by) {
		e.echo(&Notice{Method: resourceUpdated, URI: fmt.Sprint("more", i), Instance: 1}, now)
	}
	if e.echo(&Notice{Method: resourceUpdated, URI: "later", Instance: 1}, now.Add(time.Second)); len(e.by) != 1 {
		t.Errorf("%d are remembered that are old", len(e.by)-1)
	}
}
