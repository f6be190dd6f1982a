package session

// Origins: a crash of the manager on one of these messages is charged to the tenant of its session.
// Sweep, Reload and what the manager does about all sessions have none: each session is looked at on
// behalf of its tenant.

// Origin is the tenant.
func (r OpenRequest) Origin() string   { return r.Endpoint.Tenant }
func (r AttachRequest) Origin() string { return r.Handle.endpoint.Tenant }
func (r CloseRequest) Origin() string  { return r.Tenant }
func (w *Wake) Origin() string         { return w.Handle.endpoint.Tenant }
func (u *Undelivered) Origin() string  { return u.Deliver.handle.endpoint.Tenant }
func (s started) Origin() string       { return s.h.endpoint.Tenant }
func (r resume) Origin() string        { return r.h.endpoint.Tenant }
func (a *attempt) Origin() string      { return a.h.endpoint.Tenant } // of attached and again
