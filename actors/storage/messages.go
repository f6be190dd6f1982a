package storage

import (
	"time"

	"mcpd/store"
	"mcpd/supervisor/otp"
)

// WriteWait is how long the answer to initialize, and that to a call which makes a task, waits to be written down, so that a client which has
// it can come back to a host that was killed. A disk that is slower is not waited for.
const WriteWait = 50 * time.Millisecond

// Put asks for a change to be written, and is answered when it is with the kernel: from then on it survives the death of the host. An
// error says that it is not yet, at once while the disk takes nothing; it is tried again. Whoever asks decides how long to wait.
type Put = otp.Call[PutRequest, struct{}]

// PutRequest is a change.
type PutRequest struct {
	Tenant string // whose change it is; empty for the host's
	store.Change
}

// Keep is Put for who does not wait. Nothing comes back.
type Keep struct {
	Tenant string // whose change it is; empty for the host's
	store.Change
}

// Collect says that Options.More has something. Who has it sends one, and another when all was taken. Nothing comes back.
type Collect struct{}

// The classes:
//
//	Put      owed: one for each handshake, or task that is made, which waits for it
//	Keep     owed: one for each change of a session or task, and its end
//	Collect  owed: one at a time
func (PutRequest) Class() otp.Class { return otp.Owed }
func (*Keep) Class() otp.Class      { return otp.Owed }
func (Collect) Class() otp.Class    { return otp.Owed }
