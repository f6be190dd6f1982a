package capability

// Origin is the tenant to which a crash on the message is charged.
func (r DiscoverRequest) Origin() string  { return r.Tenant }
func (r SubscribeRequest) Origin() string { return r.Tenant }
func (d *Declared) Origin() string        { return d.Tenant }
