package quota

// Shares divides a bounded resource between tenants. Half of the total is guaranteed in equal
// parts, one for each tenant, and stays reserved for its tenant while it is unused. The other half
// is free: a tenant that holds more than its guaranteed part takes the excess from there. Total is
// in whatever the resource is counted in: sessions, streams, bytes.
//
// A tenant can therefore always get its guaranteed part, whatever the others hold, as long as
// whoever counts asks Admits before it gives anything out.
type Shares struct {
	Total   int64 // 0 is no bound
	Tenants int   // how many there are, at least one
}

// Guaranteed is the part that each tenant can always have. Where the total is smaller than two for
// each tenant it is what an equal division of the total gives, down to nothing.
func (s Shares) Guaranteed() int64 {
	tenants := int64(max(1, s.Tenants))
	if s.Total < 2*tenants {
		return s.Total / tenants
	}
	return s.Total / 2 / tenants
}

// Free is the part that belongs to nobody in particular.
func (s Shares) Free() int64 { return s.Total - s.Guaranteed()*int64(max(1, s.Tenants)) }

// Excess is how much of what a tenant holds is taken from the free part.
func (s Shares) Excess(held int64) int64 { return max(0, held-s.Guaranteed()) }

// Admits reports whether a tenant that holds so much may have n more, while the excess of all
// tenants, its own included, sums up to excess.
func (s Shares) Admits(held, n, excess int64) bool {
	if s.Total == 0 {
		return true
	}
	more := s.Excess(held+n) - s.Excess(held)
	return more <= 0 || excess+more <= s.Free()
}
