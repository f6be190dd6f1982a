// Package version holds the protocol version registry: the actor that decides the revision of each
// session and counts the agreements. The rules themselves are in package protocol; this package
// does not know what a revision contains.
package version

import (
	"slices"
	"strings"

	"mcpd/protocol"
	"mcpd/supervisor/otp"
	"mcpd/telemetry"
)

// Registry is the behaviour of core/protocol_version. A crash loses nothing: the rules are tables,
// the counts are carried state, and calls made meanwhile wait in its mailbox.
type Registry struct {
	otp.Base
	emit       telemetry.Sink
	negotiated map[protocol.Version]uint64
	downgraded map[protocol.Version]bool // revisions that a newer client had to accept
}

// New makes one incarnation.
func New(emit telemetry.Sink) *Registry {
	return &Registry{emit: emit, downgraded: map[protocol.Version]bool{}}
}

// Init restores the counts of the previous incarnation.
func (r *Registry) Init(p *otp.Process) error {
	var restored bool
	if r.negotiated, restored = p.CarriedState().(map[protocol.Version]uint64); !restored {
		r.negotiated = map[protocol.Version]uint64{}
		p.SetCarriedState(r.negotiated)
	}
	return nil
}

// Receive answers one call.
func (r *Registry) Receive(_ *otp.Process, msg any) error {
	switch m := msg.(type) {
	case *Negotiate:
		r.negotiate(m)
	case *Supported:
		m.Reply(supported(m.Req))
	case *Features:
		m.Reply(features(m.Req))
	case *Supports:
		m.Reply(supports(m.Req))
	case *Negotiated:
		m.Reply(r.counts())
	}
	return nil
}

func (r *Registry) negotiate(m *Negotiate) {
	where := telemetry.Where{Tenant: m.Req.Tenant, Session: m.Req.Session}
	agreed, err := m.Req.Policy.Initialize(m.Req.Requested)
	if err != nil {
		r.emit(telemetry.ProtocolNegotiation{
			Where: where, Side: "downstream", Client: m.Req.Requested, SessionID: m.Req.Session,
		})
		m.Fail(err)
		return
	}
	v := agreed.Version.String()
	// The first client of a revision is reported; later ones are only debug lines in the log.
	where.Routine = r.negotiated[agreed.Version] > 0
	r.negotiated[agreed.Version]++
	r.emit(telemetry.ProtocolNegotiation{
		Where: where, Side: "downstream", Client: m.Req.Requested, Negotiated: v,
		SessionID: m.Req.Session,
	})
	if agreed.Downgraded() {
		where.Routine = r.downgraded[agreed.Version]
		r.downgraded[agreed.Version] = true
		r.emit(telemetry.VersionLowered{
			Where: where, Client: m.Req.Requested, Negotiated: v, Off: words(agreed.Lost()),
		})
	}
	m.Reply(agreed)
}

// words lists features for a reader.
func words(features []protocol.Feature) string {
	names := make([]string, len(features))
	for i, f := range features {
		names[i] = f.String()
	}
	return strings.Join(names, ", ")
}

func (r *Registry) counts() map[string]uint64 {
	counts := make(map[string]uint64, len(r.negotiated))
	for v, n := range r.negotiated {
		counts[v.String()] = n
	}
	return counts
}

// supported lists the revisions that the policy allows, newest first.
func supported(policy protocol.Negotiation) []string {
	var names []string
	for _, era := range []protocol.Era{protocol.Modern, protocol.Legacy} {
		for _, v := range slices.Backward(policy.Offered(era)) {
			names = append(names, v.String())
		}
	}
	return names
}

func features(name string) []string {
	v, ok := protocol.ParseVersion(name)
	if !ok {
		return nil
	}
	var names []string
	for _, f := range v.Features() {
		names = append(names, f.String())
	}
	return names
}

func supports(q SupportsRequest) bool {
	v, known := protocol.ParseVersion(q.Version)
	f, named := protocol.ParseFeature(q.Feature)
	return known && named && v.Has(f)
}
