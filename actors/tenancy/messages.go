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

// Reconfigured says that the configured tenants are others than before.
type Reconfigured struct{}

// OperateRequest is what an operator wants of a tenant. The answer is how it stands then, once that
// is written down; whether it is done, the board shows (Move). Errors are ErrNoTenant and ErrPutAway.
type OperateRequest struct {
	Tenant string
	Verb   ladder.Verb
}

// Operate is that call.
type Operate = otp.Call[OperateRequest, ladder.Standing]

// The classes. A Charged is sheddable: when there are more than the manager takes, one less matters
// little, and one that had waited would be held against a tenant that was released meanwhile.
//
//	Started        owed: one for each start of a tenant
//	Reconfigured   owed: one for each reload
func (Charged) Class() otp.Class      { return otp.Sheddable }
func (Started) Class() otp.Class      { return otp.Owed }
func (Reconfigured) Class() otp.Class { return otp.Owed }
