package configuration_test

import (
	"sync"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"mcpd/actors/configuration"
	"mcpd/store"
)

// log is a store that keeps the last value.
type log struct {
	mu    sync.Mutex // guards what follows
	value jsontext.Value
	times int
	stuck chan struct{} // if set, writes wait until it is closed
}

func (l *log) Apply(changes []store.Change) error {
	if l.stuck != nil {
		<-l.stuck
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.value, l.times = changes[len(changes)-1].Value, l.times+1
	return nil
}

func (l *log) Has(b store.Bucket, key string) bool { return l.get(b, key) != nil }

func (l *log) Verify() error { return nil }

func (l *log) Sync() error { return nil }

func (l *log) get(store.Bucket, string) jsontext.Value {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.value
}

// I12: the generation that a reload replies with is stored by then, unless the disk hangs. A reload
// that changes nothing gets no new generation.
func TestGenerationIsStored(t *testing.T) {
	run(t, file("acme"), func(r *rig) {
		for _, text := range []string{file("acme", "beta"), file("acme", "beta"), file("acme")} {
			got, err := r.reload(text)
			if err != nil {
				t.Fatal(err)
			}
			stored, err := configuration.Stored(r.log.get)
			if now := *r.applied.Load(); err != nil || stored.Generation != now.Generation ||
				stored.Digest != now.Digest || !stored.At.Equal(now.At) || got.Applied != now {
				t.Errorf("stored %+v, %v; applied %+v", stored, err, now)
			}
		}
		if r.applied.Load().Generation != 3 || r.log.times != 2 {
			t.Errorf("%+v after %d writes", r.applied.Load(), r.log.times)
		}
		r.log.stuck = make(chan struct{})
		defer close(r.log.stuck)
		begun := time.Now()
		if got, err := r.reload(file("acme", "gamma")); err != nil || got.Generation != 4 ||
			time.Since(begun) > time.Second {
			t.Errorf("with a disk that is stuck: %+v, %v", got, err)
		}
	})
}

// The generation continues over hosts, and counts changes of the configuration.
func TestGenerationGoesOn(t *testing.T) {
	now := time.Unix(1_800_000_000, 0).UTC()
	first := configuration.Applied{}.Next(now, "a")
	stored, err := configuration.ParseApplied(first.Change().Value)
	if err != nil || stored != first || first.Generation != 1 {
		t.Errorf("%+v is stored as %+v, %v", first, stored, err)
	}
	if same := stored.Next(now.Add(time.Hour), "a"); same != first {
		t.Errorf("the same is %+v", same)
	}
	if other := stored.Next(now.Add(time.Hour), "b"); other.Generation != 2 ||
		!other.At.Equal(now.Add(time.Hour)) {
		t.Errorf("another is %+v", other)
	}
	if none, err := configuration.ParseApplied(nil); err != nil || none != (configuration.Applied{}) {
		t.Errorf("nothing is %+v, %v", none, err)
	}
}

// A stored value is parsed completely or refused, and never causes a crash.
func FuzzParseApplied(f *testing.F) {
	f.Add(`{"generation":3,"digest":"a","at":"2026-11-20T12:00:00Z"}`)
	for _, text := range []string{`7`, `{}`,
		`{"generation":0,"digest":"a","at":"2026-11-20T12:00:00Z"}`,
		`{"generation":4294967295,"digest":"a","at":"2026-11-20T12:00:00Z"}`} {
		if a, err := configuration.ParseApplied(jsontext.Value(text)); err == nil {
			f.Errorf("%s is %+v", text, a)
		}
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		a, err := configuration.ParseApplied(jsontext.Value(text))
		if err != nil || text == "" {
			return
		}
		if again, err := configuration.ParseApplied(a.Change().Value); err != nil ||
			again.Generation != a.Generation || !again.At.Equal(a.At) {
			t.Errorf("%s is %+v and then %+v, %v", text, a, again, err)
		}
	})
}
