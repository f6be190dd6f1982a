package session

// The origin of a message is the tenant of its session. A crash of the manager on the message is
// charged to that tenant. Sweep, Reload and other work on all sessions have no origin: each session
// is handled on behalf of its tenant.

// Origin returns the tenant.
func (r OpenRequest) Origin() string   { return r.Endpoint.Tenant }
func (r AttachRequest) Origin() string { return r.Handle.endpoint.Tenant }
func (r CloseRequest) Origin() string  { return r.Tenant }
func (w *Wake) Origin() string         { return w.Handle.endpoint.Tenant }
func (u *Undelivered) Origin() string  { return u.Deliver.handle.endpoint.Tenant }
func (s started) Origin() string       { return s.h.endpoint.Tenant }
func (r resume) Origin() string        { return r.h.endpoint.Tenant }
func (a *attempt) Origin() string      { return a.h.endpoint.Tenant } // for attached and again too
