package recovery

import (
	"errors"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"mcpd/gateway/tenant"
	"mcpd/internal/clock"
	"mcpd/internal/sortedmap"
	"mcpd/protocol"
)

// saved is the stored state of a quarantined server. Other servers are not stored. It is valid
// while the declaration of the server is the same.
type saved struct {
	Identity    string       `json:"identity"` // see tenant.Server
	Whole       *Pause       `json:"whole,omitzero"`
	Connections []savedPause `json:"connections,omitzero"`
}

// savedPause is the pause of a connection, with the key of those that share it. Connections of one
// session are not stored: the next session tries again.
type savedPause struct {
	Share       tenant.Share         `json:"share,omitzero"`
	Principal   string               `json:"principal,omitzero"`
	Fingerprint protocol.Fingerprint `json:"fingerprint,omitzero"`
	Modern      bool                 `json:"modern,omitzero"`
	Instance    uint8                `json:"instance,omitzero"`
	*Pause
}

// Save returns the state to be stored; nil for nothing.
func (t *Table) Save(identity string) jsontext.Value {
	if !t.Quarantines() {
		return nil
	}
	v := saved{Identity: identity, Whole: t.whole}
	for key, p := range sortedmap.SortedBy(t.pauses, tenant.Key.Compare) {
		if p.Quarantined() && key.Share != tenant.BySession {
			v.Connections = append(v.Connections, savedPause{
				key.Share, key.Principal, key.Fingerprint, key.Modern, key.Instance, p,
			})
		}
	}
	value, err := json.Marshal(v)
	if err != nil {
		panic(err) // cannot happen: it holds only cleaned text, and numbers
	}
	return value
}

// errOutdated marks a record of another declaration of the server, or an invalid one.
var errOutdated = errors.New(
	"the server is declared otherwise now, or this is not how it was stored",
)

// Restore restores the state that an earlier host stored. It converts the times to this host's
// clock.
func (t *Table) Restore(identity string, value jsontext.Value, now time.Time) error {
	var v saved
	if err := json.Unmarshal(value, &v); err != nil {
		return err
	}
	if v.Identity != identity || v.Whole != nil && !v.Whole.sound(now) {
		return errOutdated
	}
	for _, p := range v.Connections {
		if !p.Pause.sound(now) || p.Share > tenant.ByPrincipal {
			return errOutdated
		}
	}
	since := func(p *Pause) *Pause {
		p.Since, p.Until, p.Down = clock.FromStored(now, p.Since), now.Add(p.Until.Sub(now)), true
		return p
	}
	if v.Whole != nil {
		t.whole = since(v.Whole)
	}
	for _, p := range v.Connections {
		key := tenant.NewKey(p.Share, p.Principal, "", p.Fingerprint)
		key.Modern, key.Instance = p.Modern, p.Instance
		t.pauses[key] = since(p.Pause)
	}
	return nil
}
