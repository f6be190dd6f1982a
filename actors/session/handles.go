package session

// handles is a set of sessions or peers.
type handles struct {
	all  map[*Handle]struct{}
	most int // largest size since all was made
}

// spacious is the size from which the memory of a map is worth giving back.
const spacious = 256

func (s *handles) has(h *Handle) bool {
	_, ok := s.all[h]
	return ok
}

func (s *handles) add(h *Handle) {
	if s.all == nil {
		s.all = map[*Handle]struct{}{}
	}
	s.all[h] = struct{}{}
	s.most = max(s.most, len(s.all))
}

// remove deletes h. If a quarter of the largest size or less is left, it moves the rest into a
// smaller map. A Go map keeps the memory of its largest size, and the principal may stay for as
// long as the host runs.
func (s *handles) remove(h *Handle) {
	delete(s.all, h)
	if s.most < spacious || len(s.all) > s.most/4 {
		return
	}
	smaller := make(map[*Handle]struct{}, len(s.all))
	for h := range s.all {
		smaller[h] = struct{}{}
	}
	s.all, s.most = smaller, len(smaller)
}
