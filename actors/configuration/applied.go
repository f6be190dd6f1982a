package configuration

import (
	"errors"
	"math"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"mcpd/actors/storage"
	"mcpd/store"
	"mcpd/supervisor/otp"
)

// Applied is which configuration applies, and since when. It survives the host.
type Applied struct {
	Generation uint32    `json:"generation"` // one more whenever another applies than before
	Digest     string    `json:"digest"`     // see config.Config.Digest
	At         time.Time `json:"at"`
}

// Next is what applies once a configuration with that digest does.
func (a Applied) Next(now time.Time, digest string) Applied {
	if a.Digest == digest {
		return a
	}
	return Applied{Generation: a.Generation + 1, Digest: digest, At: now}
}

// appliedKey is the name of what is stored.
const appliedKey = "applied"

// Change is it as a change of the store.
func (a Applied) Change() store.Change {
	value, err := json.Marshal(a, json.Deterministic(true))
	if err != nil {
		panic(err) // a number, hexadecimal digits and the time of a clock
	}
	return store.Change{Bucket: store.Configuration, Key: appliedKey, Value: value}
}

var errApplied = errors.New("not a generation of a configuration")

// ParseApplied reads what is stored. Nothing is the generation before the first.
func ParseApplied(value jsontext.Value) (a Applied, err error) {
	if value == nil {
		return a, nil
	}
	if err := json.Unmarshal(value, &a); err != nil {
		return Applied{}, err
	}
	if a.Generation == 0 || a.Generation > math.MaxInt32 || a.Digest == "" || a.At.IsZero() {
		return Applied{}, errApplied
	}
	return a, nil
}

// Stored is what an earlier host has stored of it.
func Stored(get func(b store.Bucket, key string) jsontext.Value) (Applied, error) {
	return ParseApplied(get(store.Configuration, appliedKey))
}

// write stores what applies, if it is another than before, and goes on when that is with the kernel: whoever is told of a generation finds it
// or a later one after a crash. A disk that is slower than storage.WriteWait is not waited for.
func (m *Manager) write() {
	r := m.run
	if r.was == r.report.Applied || m.o.Storage == nil || m.o.Storage() == (otp.Ref{}) {
		m.finish()
		return
	}
	m.p.After(storage.WriteWait, written{r})
	otp.CallAsync(m.p, m.o.Storage(), storage.PutRequest{Change: r.report.Change()}, func(struct{}, error) any { return written{r} })
}
