package quota

// Shares divides a bounded resource between tenants. Half of the total is guaranteed in equal
// parts, one for each tenant, and stays reserved for its tenant while it is unused. The other
// half is free: a tenant that holds more than its guaranteed part takes the excess from the free
// part. Total is in the unit of the resource: sessions, streams, bytes.
//
// A tenant can therefore always get its guaranteed part, whatever the others hold, as long as the
// owner of the resource calls Admits before it gives anything out.
type Shares struct {
	Total   int64 // 0 is no bound
	Tenants int   // number of tenants; values below one count as one
}

// Guaranteed returns the part that each tenant can always have. If the total is smaller than two
// for each tenant, it is an equal division of the total, rounded down, and may be 0.
func (s Shares) Guaranteed() int64 {
	tenants := int64(max(1, s.Tenants))
	if s.Total < 2*tenants {
		return s.Total / tenants
	}
	return s.Total / 2 / tenants
}

// Free returns the part that is not guaranteed to any tenant.
func (s Shares) Free() int64 { return s.Total - s.Guaranteed()*int64(max(1, s.Tenants)) }

// Excess returns how much of a tenant's held amount is taken from the free part.
func (s Shares) Excess(held int64) int64 { return max(0, held-s.Guaranteed()) }

// Admits reports whether a tenant that holds held may have n more. Excess is the sum of the
// excesses of all tenants, including this tenant's.
func (s Shares) Admits(held, n, excess int64) bool {
	if s.Total == 0 {
		return true
	}
	more := s.Excess(held+n) - s.Excess(held)
	return more <= 0 || excess+more <= s.Free()
}
