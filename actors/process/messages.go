package process

import (
	"mcpd/supervisor/otp"
	"mcpd/transport"
	"mcpd/transport/stdio"
)

// Start asks for a program to be started. The reply is the running child, or the error. The manager
// still owns the child: the caller uses its pipes, and sends Release in the end.
type Start = otp.Call[StartRequest, *stdio.Child]

// StartRequest names the program and its owner. An owner has one child at a time: its older child
// is ended.
type StartRequest struct {
	Spec   stdio.Spec
	Owner  otp.Ref
	Tenant string
	Server string
}

// Release hands over a transport that is not used any more. The manager closes it, politely first;
// there is no reply.
type Release struct {
	Tenant   string
	Upstream transport.Upstream
	Closer   *Closer // closes it when the manager cannot
}

// Class says that it is reserved: there is one for each transport that was opened.
func (*Release) Class() otp.Class { return otp.Reserved }

// Fail closes the transport when the manager could not: it has crashed on the message, is
// overloaded, or is gone.
func (r *Release) Fail(error) { r.Closer.end(r.Upstream.Close) }

// List asks for every child that still exists.
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
