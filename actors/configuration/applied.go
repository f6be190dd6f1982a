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

// Applied identifies the configuration that applies, and since when. It survives the host.
type Applied struct {
	Generation uint32    `json:"generation"` // incremented when another configuration applies
	Digest     string    `json:"digest"`     // see config.Config.Digest
	At         time.Time `json:"at"`
}

// Next returns the Applied for a configuration with that digest.
func (a Applied) Next(now time.Time, digest string) Applied {
	if a.Digest == digest {
		return a
	}
	return Applied{Generation: a.Generation + 1, Digest: digest, At: now}
}

// appliedKey is the key of the stored value.
const appliedKey = "applied"

// Change returns the change that stores it.
func (a Applied) Change() store.Change {
	value, err := json.Marshal(a, json.Deterministic(true))
	if err != nil {
		panic(err) // cannot fail: a number, hexadecimal digits and a time
	}
	return store.Change{Bucket: store.Configuration, Key: appliedKey, Value: value}
}

var errApplied = errors.New("not a generation of a configuration")

// ParseApplied parses the stored value. No value means generation zero, before the first.
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

// Stored returns the value that an earlier host has stored.
func Stored(get func(b store.Bucket, key string) jsontext.Value) (Applied, error) {
	return ParseApplied(get(store.Configuration, appliedKey))
}

// write stores the Applied of this reload, if it has changed, and continues when it is with the
// kernel: a caller that was told a generation finds it, or a later one, after a crash. A disk
// slower than storage.WriteWait is not waited for.
func (m *Manager) write() {
	r := m.run
	if r.was == r.report.Applied || m.o.Storage == nil || m.o.Storage() == (otp.Ref{}) {
		m.finish()
		return
	}
	m.p.After(storage.WriteWait, written{r})
	otp.CallAsync(m.p, m.o.Storage(), storage.PutRequest{Change: r.report.Change()},
		func(struct{}, error) any {
			return written{r}
		})
}
