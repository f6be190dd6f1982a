package admin

import (
	"net/http"
	"slices"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	mcpdv1 "mcpd/proto/gen/mcpd/v1"
	"mcpd/supervisor/otp"
	"mcpd/telemetry"
)

// PoolShown is how many children of a pool are shown unless all are requested. It is a screenful
// of those that changed last.
const PoolShown = 20

// Tree converts a snapshot to the form of the admin API. A pool has the count of its children,
// the sum of their restarts, and the children that changed last, or all children if all is set.
func Tree(n otp.Node, all bool) *mcpdv1.Node {
	out := &mcpdv1.Node{
		Id:          telemetry.Clean(n.ID, telemetry.MaxValue),
		Path:        telemetry.Clean(n.Path, telemetry.MaxValue),
		Type:        n.Type.String(),
		Restart:     n.Restart.String(),
		Status:      n.Status.String(),
		Restarts:    n.Restarts,
		Mailbox:     telemetry.Count(n.Mailbox),
		Incarnation: telemetry.Count(n.Incarnation),
	}
	if !n.Since.IsZero() {
		out.Since = timestamppb.New(n.Since)
	}
	if n.Isolated > 0 {
		out.Hung = proto.Uint32(telemetry.Count(n.Isolated))
	}
	if n.Stuck {
		out.Stuck = proto.Bool(true)
	}
	if u, ok := telemetry.UpstreamOf(n); ok {
		describe(out, u)
	}
	if t, ok := n.Extra.(telemetry.TenantStatus); ok &&
		(t.Cause != "" || t.State != "running" || t.Usage != "") {
		describeTenant(out, t)
	}
	shown := n.Children
	if n.Type == otp.SupervisorType {
		out.Strategy = proto.String(n.Strategy.String())
		if n.Strategy == otp.SimpleOneForOne {
			if !all {
				shown = lastChanged(n.Children, PoolShown)
			}
			out.ChildCount = proto.Uint32(uint32(len(n.Children)))
			out.Hidden = proto.Uint32(uint32(len(n.Children) - len(shown)))
			out.ChildRestarts = proto.Uint32(restartsBelow(n))
		}
	}
	for _, child := range shown {
		out.Children = append(out.Children, Tree(child, all))
	}
	return out
}

func describe(out *mcpdv1.Node, u telemetry.UpstreamStatus) {
	out.Server = proto.String(u.Server)
	out.State = proto.String(u.State)
	if u.Link != "" {
		out.Link = proto.String(u.Link)
	}
	if u.Cause != "" {
		out.Cause = proto.String(telemetry.Clean(u.Cause, telemetry.MaxValue))
	}
	if u.Class != "" {
		out.CauseClass = proto.String(u.Class)
	}
	if u.Stderr != "" {
		out.Stderr = proto.String(telemetry.Clean(u.Stderr, telemetry.MaxValue))
	}
	if u.Incident != "" {
		out.Incident = proto.String(u.Incident)
	}
	if !u.Retry.IsZero() {
		out.Retry = timestamppb.New(u.Retry)
	}
	if u.PID > 0 {
		out.Pid = proto.Uint32(uint32(u.PID))
	}
	if u.Revision != "" {
		out.Revision = proto.String(u.Revision)
	}
	if u.ItemIssues != "" {
		out.Odd = proto.String(telemetry.Clean(u.ItemIssues, telemetry.MaxValue))
	}
	if u.Waits != "" {
		out.Waits = proto.String(telemetry.Clean(u.Waits, telemetry.MaxValue))
	}
	if u.Stale {
		out.Stale = proto.Bool(true)
	}
}

func describeTenant(out *mcpdv1.Node, t telemetry.TenantStatus) {
	out.State = proto.String(t.State)
	if t.Usage != "" {
		out.Keeps = proto.String(telemetry.Clean(t.Usage, telemetry.MaxValue))
	}
	if t.Cause != "" {
		out.Cause = proto.String(telemetry.Clean(t.Cause, telemetry.MaxValue))
	}
	if t.Incident != "" {
		out.Incident = proto.String(t.Incident)
	}
	if !t.Retry.IsZero() {
		out.Retry = timestamppb.New(t.Retry)
	}
}

func restartsBelow(n otp.Node) uint32 {
	var sum uint32
	for _, c := range n.Children {
		sum += c.Restarts + restartsBelow(c)
	}
	return sum
}

// lastChanged returns the children in which something changed last, latest first.
func lastChanged(children []otp.Node, most int) []otp.Node {
	type change struct {
		at    time.Time
		index int
	}
	latest := make([]change, 0, most+1)
	for i, c := range children {
		at := changed(c)
		if len(latest) == most && !at.After(latest[most-1].at) {
			continue
		}
		place, _ := slices.BinarySearchFunc(latest, at, func(have change, at time.Time) int {
			return at.Compare(have.at)
		})
		for place < len(latest) && latest[place].at.Equal(at) {
			place++ // the first of equals stays first
		}
		latest = slices.Insert(latest, place, change{at, i})
		latest = latest[:min(len(latest), most)]
	}
	out := make([]otp.Node, len(latest))
	for i, c := range latest {
		out[i] = children[c.index]
	}
	return out
}

// changed returns when the row or any row below it last changed.
func changed(n otp.Node) time.Time {
	at := n.Since
	for _, c := range n.Children {
		if below := changed(c); below.After(at) {
			at = below
		}
	}
	return at
}

func (h *handler) tree(w http.ResponseWriter, r *http.Request) {
	all, ok := boolParam(w, r, "all")
	if !ok {
		return
	}
	watch, ok := boolParam(w, r, "watch")
	if !ok {
		return
	}
	if watch {
		h.watchTree(w, r, all)
		return
	}
	answer(w, http.StatusOK, Tree(h.Tree(), all))
}
