package process

// Origin is the tenant to which a crash on the message is charged.
func (r StartRequest) Origin() string { return r.Tenant }
func (r *Release) Origin() string     { return r.Tenant }
func (b begun) Origin() string        { return b.call.Req.Tenant }
func (g gone) Origin() string         { return g.tenant }
func (r released) Origin() string     { return r.tenant }
func (r resume) Origin() string       { return r.tenant }
