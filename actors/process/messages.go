package process

import (
	"mcpd/supervisor/otp"
	"mcpd/transport"
	"mcpd/transport/stdio"
)

// Start asks for a program to be started. The answer is the running child, or why there is none. The child stays the manager's: whoever
// asked uses its pipes, and says Release in the end.
type Start = otp.Call[StartRequest, *stdio.Child]

// StartRequest says which program, and for whom. An owner has one child at a time: an older one of the same owner is ended.
type StartRequest struct {
	Spec   stdio.Spec
	Owner  otp.Ref
	Tenant string
	Server string
}

// Release hands over a transport that nobody uses any more. The manager closes it, politely first; nothing comes back.
type Release struct {
	Tenant   string
	Upstream transport.Upstream
	Last     *Last // closes it when the manager cannot
}

// Class says that it is owed: there is one for each transport that was opened.
func (*Release) Class() otp.Class { return otp.Owed }

// Fail closes the transport all the same when the manager could not: it has crashed on it, is too busy, or is gone.
func (r *Release) Fail(error) { r.Last.end(r.Upstream.Close) }

// List asks for every child that has not gone yet.
type List = otp.Call[ListRequest, []Info]

// ListRequest has no fields.
type ListRequest struct{}

// Info describes one child.
type Info struct {
	PID    int
	Tenant string
	Server string
	Owner  string // path of the connection
}
