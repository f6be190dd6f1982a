package tenancy

import (
	"mcpd/gateway/ladder"
	"mcpd/supervisor/otp"
)

// Charged says that a message of a tenant has crashed a component that all tenants share.
type Charged struct {
	Tenant string
	ladder.Why
}

// Started says that a tenant runs, whoever has started it.
type Started struct{ Tenant string }

// Reconfigured says that the set of configured tenants has changed.
type Reconfigured struct{}

// OperateRequest is a command of an operator for a tenant. The reply is the new state of the
// tenant, once that is stored; the board shows whether the operation is complete (Move). Errors are
// ErrNoTenant and ErrPutAway.
type OperateRequest struct {
	Tenant string
	Verb   ladder.Verb
}

// Operate is that call.
type Operate = otp.Call[OperateRequest, ladder.Standing]

// The classes. Charged is best effort: when there are more than the manager takes,
// one less matters little, and one that had waited would count against a tenant that was released
// meanwhile.
//
//	Started        reserved: one for each start of a tenant
//	Reconfigured   reserved: one for each reload
func (Charged) Class() otp.Class      { return otp.BestEffort }
func (Started) Class() otp.Class      { return otp.Reserved }
func (Reconfigured) Class() otp.Class { return otp.Reserved }
