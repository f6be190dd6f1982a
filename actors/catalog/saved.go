package catalog

import (
	"errors"
	"fmt"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"mcpd/actors/client"
	"mcpd/actors/storage"
	merge "mcpd/gateway/catalog"
	"mcpd/gateway/tenant"
	"mcpd/protocol"
	"mcpd/store"
	"mcpd/supervisor/otp"
	"mcpd/telemetry"
)

// MaxSaved bounds the stored size in bytes of one listing: some thousand tools. Each host learns a
// longer listing from its server.
const MaxSaved = 2 << 20

// saved is the stored form of a listing. A listing without a revision is one for which callers have
// timed out.
type saved struct {
	Server       string               `json:"server"`
	Identity     string               `json:"identity"` // see tenant.Server
	Share        tenant.Share         `json:"share"`
	Principal    string               `json:"principal,omitzero"`
	Fingerprint  protocol.Fingerprint `json:"capabilities,omitzero"` // of the client
	Modern       bool                 `json:"modern,omitzero"`
	Client       jsontext.Value       `json:"client,omitzero"` // capabilities that it declared
	Version      string               `json:"version,omitzero"`
	Capabilities jsontext.Value       `json:"declared,omitzero"`
	Info         jsontext.Value       `json:"info,omitzero"`
	Instructions string               `json:"instructions,omitzero"`
	// Lists are the lists that the server has completed at some time, by their names in the protocol.
	// Short explains in words what a bound left out of a list.
	Lists map[string][]jsontext.Value `json:"lists,omitzero"`
	Short map[string]string           `json:"short,omitzero"`
}

func savedAs(server string, key tenant.Key) string { return server + " " + key.String() }

// save stores a listing. If that is impossible, the stored copy is deleted rather than left
// outdated.
func (c *Catalog) save(s *server, key tenant.Key, l *listing) {
	if c.o.Storage == nil {
		return
	}
	l.saved = true
	value, err := encode(s, key, l)
	if err != nil {
		c.o.Emit(telemetry.Rejected{
			Where: telemetry.Where{Tenant: c.tenant.Name, Server: s.config.Name}, Reason: "state",
		})
	}
	c.keep(savedAs(s.config.Name, key), value)
}

// unsave deletes the stored copy.
func (c *Catalog) unsave(s *server, key tenant.Key) {
	if l := s.lists[key]; l.saved {
		l.saved = false
		c.keep(savedAs(s.config.Name, key), nil)
	}
}

func (c *Catalog) keep(key string, value jsontext.Value) {
	if ref := c.o.Storage(); ref != (otp.Ref{}) {
		_ = c.p.Send(ref, &storage.Keep{
			Tenant: c.tenant.Name,
			Change: store.Change{Bucket: store.Lists(c.tenant.Name), Key: key, Value: value},
		})
	}
}

func encode(s *server, key tenant.Key, l *listing) (jsontext.Value, error) {
	v := saved{
		Server: s.config.Name, Identity: s.config.Identity(),
		Share: key.Share, Principal: key.Principal, Fingerprint: key.Fingerprint, Modern: key.Modern,
		Client: l.declare.Raw(),
	}
	if l.known {
		v.Version, v.Instructions, v.Lists = l.facts.Version.String(), l.facts.Instructions,
			map[string][]jsontext.Value{}
		v.Capabilities, v.Info = l.facts.Capabilities.Raw(), l.facts.Server.Raw()
		v.Short = map[string]string{}
	}
	for _, k := range merge.Kinds() {
		if !l.known || !l.facts.Asks(k) || l.short[k].State.Provisional() {
			continue
		}
		v.Lists[k.String()] = append([]jsontext.Value{}, l.lists[k]...)
		if l.short[k].State == client.Shortened {
			v.Short[k.String()] = l.short[k].Words
		}
	}
	value, err := json.Marshal(v, jsontext.PreserveRawStrings(true), json.Deterministic(true))
	if err == nil && len(value) > MaxSaved {
		err = errors.New("it is too long")
	}
	if err != nil {
		return nil, err
	}
	return value, nil
}

// errAnother marks a valid listing of a server that no longer exists in that form.
var errAnother = errors.New("of a server that is not configured, or otherwise")

// restoreLists restores the lists that an earlier host stored. An unreadable listing, or one of a
// server that is not configured in that form, is deleted.
func (c *Catalog) restoreLists() {
	if c.o.Stored == nil {
		return
	}
	for name, value := range c.o.Stored() {
		c.read("list", store.Change{Bucket: store.Lists(c.tenant.Name), Key: name, Value: value}, func() {
			c.restoreList(name, value)
		})
	}
	for _, s := range c.servers {
		s.timedOut = s.timedOut && s.last == nil // to some callers it has listed something
	}
}

// restoreList restores one listing.
func (c *Catalog) restoreList(name string, value jsontext.Value) {
	s, key, l, err := c.decode(value)
	if err == nil && (savedAs(s.config.Name, key) != name || len(s.lists) >= MaxListings) {
		err = errors.New("not where it belongs")
	}
	if err != nil {
		if !errors.Is(err, errAnother) {
			c.o.Emit(telemetry.StateLost{
				Where:  telemetry.Where{Tenant: c.tenant.Name, Path: c.p.Path()},
				Reason: fmt.Sprintf("what a server had listed: %v", err),
			})
		}
		c.keep(name, nil)
		return
	}
	if s.lists[key] = l; !l.known {
		s.timedOut = true
	} else {
		s.last = l
		c.logOddities(s, l.facts, &l.lists)
		c.declare(s.config.Name, l.facts)
		c.publishState(s)
	}
}

// read reads a stored record on behalf of the tenant.
func (c *Catalog) read(kind string, of store.Change, read func()) {
	if c.o.Storage == nil {
		read()
		return
	}
	name, tenant := of.Key, c.tenant.Name
	c.o.Records.Read(c.p, storage.Reading{
		Change: of, Kind: kind, Name: name, Tenant: func() string {
			return tenant
		}, Storage: c.o.Storage(),
	}, read)
}

func (c *Catalog) decode(value jsontext.Value) (*server, tenant.Key, *listing, error) {
	var v saved
	if err := json.Unmarshal(value, &v); err != nil {
		return nil, tenant.Key{}, nil, err
	}
	key := tenant.Key{
		Share: v.Share, Principal: v.Principal, Fingerprint: v.Fingerprint, Modern: v.Modern,
	}
	s := c.servers[v.Server]
	if s == nil || s.config.Identity() != v.Identity ||
		listKey(s.config, key.Principal, key.Fingerprint, key.Modern) != key {
		return nil, key, nil, errAnother
	}
	declare, err := protocol.ParseClientCapabilities(v.Client)
	if err == nil && listKey(s.config, key.Principal, declare.Fingerprint(), key.Modern) != key {
		err = errors.New("its client declared something else")
	}
	if v.Version == "" || err != nil {
		return s, key, &listing{declare: declare, saved: true}, err
	}
	l := &listing{declare: declare, known: true, stored: true, saved: true, since: c.p.Now()}
	version, ok := protocol.ParseVersion(v.Version)
	if !ok {
		return nil, key, nil, fmt.Errorf("revision %q", v.Version)
	}
	var errs [2]error
	l.facts = client.Facts{Version: version, Instructions: v.Instructions}
	l.facts.Capabilities, errs[0] = protocol.ParseServerCapabilities(v.Capabilities)
	l.facts.Server, errs[1] = protocol.ParseImplementation(v.Info)
	l.facts, _ = l.facts.Bound() // an earlier host may have had other bounds
	for _, k := range merge.Kinds() {
		var listed bool
		if l.lists[k], listed = v.Lists[k.String()]; !listed && l.facts.Offers(k) {
			l.short[k] = client.Shortfall{
				State: client.Failed, Words: k.Method() + ": it had no answer when it was asked last",
			}
		} else if words := v.Short[k.String()]; words != "" {
			l.short[k] = client.Shortfall{State: client.Shortened, Words: words}
		}
	}
	return s, key, l, errors.Join(errs[:]...)
}
