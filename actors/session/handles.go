package session

// handleSet is a set of sessions or peers.
type handleSet struct {
	all  map[*Handle]struct{}
	peak int // largest size since all was made
}

// shrinkFrom is the size from which the memory of a map is worth giving back.
const shrinkFrom = 256

func (s *handleSet) has(h *Handle) bool {
	_, ok := s.all[h]
	return ok
}

func (s *handleSet) add(h *Handle) {
	if s.all == nil {
		s.all = map[*Handle]struct{}{}
	}
	s.all[h] = struct{}{}
	s.peak = max(s.peak, len(s.all))
}

// remove deletes h. If a quarter of the largest size or less is left, it moves the rest into a
// smaller map. A Go map keeps the memory of its largest size, and the principal may stay for as
// long as the host runs.
func (s *handleSet) remove(h *Handle) {
	delete(s.all, h)
	if s.peak < shrinkFrom || len(s.all) > s.peak/4 {
		return
	}
	smaller := make(map[*Handle]struct{}, len(s.all))
	for h := range s.all {
		smaller[h] = struct{}{}
	}
	s.all, s.peak = smaller, len(smaller)
}
