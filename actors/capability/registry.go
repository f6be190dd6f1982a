// Package capability holds the capability registry. It knows what each server declared, the
// capabilities that the host knows, the experimental features registered with it, and the
// subscribers to changes. It negotiates nothing; package protocol does.
package capability

import (
	"bytes"
	"errors"
	"maps"
	"slices"

	"github.com/go-json-experiment/json/jsontext"

	"mcpd/internal/sortedmap"
	"mcpd/protocol"
	"mcpd/supervisor/otp"
)

// Errors of the registry's calls.
var (
	ErrNotFound = errors.New("not found")
	ErrTooMany  = errors.New("too many")
)

// Bounds of the registry's state. Names come from operators and servers; each bound is far above
// their needs.
const (
	MaxExperimental = 256
	MaxSubscribers  = 1024
	MaxDeclared     = 16384 // servers of all tenants
)

// carriedState is the carried state of the registry.
type carriedState struct {
	declared     map[DiscoverRequest]jsontext.Value
	known        map[string]Info
	experimental map[string]jsontext.Value
	subscribers  map[otp.Ref]bool
}

// Registry is the behaviour of core/capabilities.
type Registry struct {
	otp.Base
	p *otp.Process
	*carriedState
}

// New makes one incarnation.
func New() *Registry { return &Registry{} }

// Init restores the state of the previous incarnation.
func (r *Registry) Init(p *otp.Process) error {
	r.p = p
	var restored bool
	if r.carriedState, restored = p.CarriedState().(*carriedState); !restored {
		r.carriedState = &carriedState{
			declared: map[DiscoverRequest]jsontext.Value{}, known: known(),
			experimental: map[string]jsontext.Value{}, subscribers: map[otp.Ref]bool{},
		}
		p.SetCarriedState(r.carriedState)
	}
	for s := range sortedmap.SortedBy(r.subscribers, otp.Ref.Compare) {
		p.Monitor(s)
	}
	return nil
}

// known returns the initial content of the registry: every capability that some revision of the
// protocol names.
func known() map[string]Info {
	m := map[string]Info{}
	for _, c := range capabilities {
		c.Version, c.Enabled = "1.0", true
		m[c.Name] = c
	}
	return m
}

// Receive handles one message.
func (r *Registry) Receive(_ *otp.Process, msg any) error {
	switch m := msg.(type) {
	case *Discover:
		if caps, ok := r.declared[m.Req]; ok {
			m.Reply(caps)
		} else {
			m.Fail(ErrNotFound)
		}
	case *Query:
		if info, ok := r.known[m.Req]; ok {
			m.Reply(info)
		} else {
			m.Fail(ErrNotFound)
		}
	case *Subscribe:
		r.subscribe(m)
	case *Notify:
		r.notify(m)
	case *Register:
		r.register(m)
	case *Experiments:
		m.Reply(r.experiments())
	case *Declared:
		r.declare(m)
	case otp.Down:
		delete(r.subscribers, m.Ref)
	}
	return nil
}

func (r *Registry) subscribe(m *Subscribe) {
	if len(r.subscribers) >= MaxSubscribers {
		m.Fail(ErrTooMany)
		return
	}
	if !r.subscribers[m.Req.Ref] {
		r.subscribers[m.Req.Ref] = true
		r.p.Monitor(m.Req.Ref)
	}
	m.Reply(r.state())
}

func (r *Registry) state() State {
	s := State{Experimental: r.experiments()}
	for _, name := range slices.Sorted(maps.Keys(r.known)) {
		if !r.known[name].Enabled {
			s.Disabled = append(s.Disabled, name)
		}
	}
	return s
}

func (r *Registry) notify(m *Notify) {
	info, ok := r.known[m.Req.Name]
	if !ok {
		m.Fail(ErrNotFound)
		return
	}
	if info.Enabled != m.Req.Enabled {
		info.Enabled = m.Req.Enabled
		r.known[m.Req.Name] = info
		r.tell(Changed{Name: info.Name, Enabled: info.Enabled})
	}
	m.Reply(struct{}{})
}

func (r *Registry) register(m *Register) {
	_, known := r.experimental[m.Req.Name]
	switch {
	case m.Req.Name == "" || m.Req.Settings.Kind() != '{' || !m.Req.Settings.IsValid():
		m.Fail(protocol.InvalidParams("an experimental feature needs a name and an object of settings"))
	case !known && len(r.experimental) >= MaxExperimental:
		m.Fail(ErrTooMany)
	default:
		r.experimental[m.Req.Name] = m.Req.Settings
		r.tell(Changed{Name: m.Req.Name, Enabled: true, Settings: m.Req.Settings})
		m.Reply(struct{}{})
	}
}

func (r *Registry) experiments() []Experimental {
	list := make([]Experimental, 0, len(r.experimental))
	for _, name := range slices.Sorted(maps.Keys(r.experimental)) {
		list = append(list, Experimental{name, r.experimental[name]})
	}
	return list
}

// declare stores a server's capabilities. Declaring the same again changes nothing.
func (r *Registry) declare(m *Declared) {
	key := DiscoverRequest{m.Tenant, m.Server}
	before, had := r.declared[key]
	if !had && len(r.declared) >= MaxDeclared || had && bytes.Equal(before, m.Capabilities) {
		return
	}
	r.declared[key] = m.Capabilities
	r.tell(Changed{Name: m.Tenant + "/" + m.Server, Enabled: true})
}

// tell sends a change to every subscriber. A subscriber with a full mailbox misses it: this is
// monitoring, not negotiation.
func (r *Registry) tell(c Changed) {
	for s := range sortedmap.SortedBy(r.subscribers, otp.Ref.Compare) {
		_ = r.p.Send(s, c)
	}
}
