package catalog

import (
	"errors"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"mcpd/actors/client"
	"mcpd/actors/storage"
	"mcpd/gateway/tenant"
	"mcpd/internal/clock"
	"mcpd/internal/order"
	"mcpd/protocol"
	"mcpd/store"
)

// quarantined is what is stored of a server that is: of no other. It is good for as long as the server is declared as it was.
type quarantined struct {
	Identity    string        `json:"identity"` // see tenant.Server
	Whole       *savedPause   `json:"whole,omitzero"`
	Connections []*savedPause `json:"connections,omitzero"`
}

// savedPause is a pause, and of a connection who shares it. Connections of one session are not stored: its next one is tried anew.
type savedPause struct {
	Share       tenant.Share         `json:"share,omitzero"`
	Principal   string               `json:"principal,omitzero"`
	Fingerprint protocol.Fingerprint `json:"fingerprint,omitzero"`
	Modern      bool                 `json:"modern,omitzero"`
	Instance    uint8                `json:"instance,omitzero"`

	Why      *client.Ending `json:"why"`
	Since    time.Time      `json:"since"`
	Until    time.Time      `json:"until"`
	Times    int            `json:"times"`
	Gap      int64          `json:"gap_ns"`
	Operator bool           `json:"operator,omitzero"`
}

func savePause(p *pause) *savedPause {
	return &savedPause{Why: p.why, Since: p.since, Until: p.until, Times: p.times, Gap: int64(p.gap), Operator: p.operator}
}

func (p *savedPause) pause() *pause {
	return &pause{why: p.Why, since: p.Since, until: p.Until, times: p.Times, gap: time.Duration(p.Gap), operator: p.Operator, down: true}
}

// place is where a server's quarantine is in the store.
func (c *Catalog) place(name string) string { return c.tenant.Name + "/" + name }

// noted is what is stored of a server; a nil value is for nothing.
func (c *Catalog) noted(s *server) store.Change {
	change := store.Change{Bucket: store.Quarantines, Key: c.place(s.config.Name)}
	if s.gone || !s.quarantines() {
		return change
	}
	q := quarantined{Identity: s.config.Identity()}
	if s.whole != nil {
		q.Whole = savePause(s.whole)
	}
	for key, p := range order.By(s.pauses, tenant.Key.Compare) {
		if p.quarantined() && key.Share != tenant.BySession {
			of := savePause(p)
			of.Share, of.Principal, of.Fingerprint, of.Modern, of.Instance = key.Share, key.Principal, key.Fingerprint, key.Modern, key.Instance
			q.Connections = append(q.Connections, of)
		}
	}
	var err error
	if change.Value, err = json.Marshal(q); err != nil {
		panic(err) // it holds nothing but text that was cleaned, and numbers
	}
	return change
}

// note has it written down, without waiting.
func (c *Catalog) note(s *server) {
	if to := c.noted(s); to.Value != nil || s.noted {
		s.noted = to.Value != nil
		c.change(to)
	}
}

func (c *Catalog) change(to store.Change) {
	if c.o.Storage != nil {
		_ = c.p.Send(c.o.Storage(), &storage.Keep{Tenant: c.tenant.Name, Change: to}) // where there is no storage nothing survives
	}
}

// requarantine takes over what an earlier host has stored. What is not readable, or of a server that is declared otherwise now, is forgotten.
func (c *Catalog) requarantine() {
	if c.o.Quarantined == nil {
		return
	}
	for key, value := range c.o.Quarantined() {
		name, mine := strings.CutPrefix(key, c.place(""))
		if !mine {
			continue
		}
		c.read("quarantine", store.Change{Bucket: store.Quarantines, Key: key, Value: value}, func() {
			if s := c.servers[name]; s == nil || s.requarantine(value, c.p.Now()) != nil {
				c.change(store.Change{Bucket: store.Quarantines, Key: key})
			} else {
				c.arm(name, s)
				c.show(s)
			}
		})
	}
}

var errOutdated = errors.New("the server is declared otherwise now, or this is not how it was stored")

// requarantine makes a server quarantined as it was.
func (s *server) requarantine(value jsontext.Value, now time.Time) error {
	var q quarantined
	if err := json.Unmarshal(value, &q); err != nil {
		return err
	}
	for _, p := range append(q.Connections, q.Whole) {
		if q.Identity != s.config.Identity() || p != nil && (!p.pause().sound(now) || p.Share > tenant.ByPrincipal) {
			return errOutdated
		}
	}
	s.noted = true
	since := func(p *savedPause) *pause { // by this host's clock from here on
		is := p.pause()
		is.since, is.until = clock.Past(now, is.since), now.Add(is.until.Sub(now))
		return is
	}
	if q.Whole != nil {
		s.whole = since(q.Whole)
	}
	for _, p := range q.Connections {
		key := tenant.NewKey(p.Share, p.Principal, "", p.Fingerprint)
		key.Modern, key.Instance = p.Modern, p.Instance
		s.pauses[key] = since(p)
	}
	return nil
}

// arm lets what is paused be started when its time has come.
func (c *Catalog) arm(name string, s *server) {
	for key := range order.By(s.pauses, tenant.Key.Compare) {
		if wait := s.paused(key, c.p.Now()); wait > 0 {
			c.p.After(wait, retry{name, key})
		}
	}
	if s.away != nil { // who dialled tells that the one before
		c.awaitDial(s, s.away.grow(c.p.Now(), c.o.Draw))
	}
	if wait := s.paused(tenant.Key{}, c.p.Now()); wait > 0 {
		c.p.After(wait, retry{name, tenant.Key{}})
	}
}
