package storage

import (
	"time"

	"mcpd/store"
	"mcpd/supervisor/otp"
)

// WriteWait is how long the response to initialize, and to a call that makes a task, waits until
// its state is written. A client with that response can then come back to a host that was killed. A
// slower disk is not waited for.
const WriteWait = 50 * time.Millisecond

// Put asks for a change to be written. The reply comes when the change is with the kernel: from
// then on it survives the death of the host. An error says that it is not yet written, and comes at
// once while the disk fails; the write is retried. The caller decides how long to wait.
type Put = otp.Call[PutRequest, struct{}]

// PutRequest is a change.
type PutRequest struct {
	Tenant string // tenant of the change; empty for the host's own
	store.Change
}

// Keep is Put without a reply.
type Keep struct {
	Tenant string // tenant of the change; empty for the host's own
	store.Change
}

// Collect says that Options.More has changes. The source sends one, and another only after all its
// changes were taken. There is no reply.
type Collect struct{}

// The classes. All are reserved:
//
//	Put      one for each handshake, or task that is made, which waits for it
//	Keep     one for each change of a session or task, and its end
//	Collect  one at a time
func (PutRequest) Class() otp.Class { return otp.Reserved }
func (*Keep) Class() otp.Class      { return otp.Reserved }
func (Collect) Class() otp.Class    { return otp.Reserved }
