package catalog

import "maps"

// Prepared keeps what the tools and prompts of one server become in the list of all, which does not
// depend on other servers. It belongs to the items of that server and is made with the first
// catalog of them, so that another catalog costs the servers and not their items. The zero Prepared
// is ready.
type Prepared struct{ by [Resources]*prepared }

// prepared is one list of a server.
type prepared struct {
	part     Part
	cut      map[string]origin
	problems []Problem
	size     int
}

// Size is how many bytes it keeps.
func (p *Prepared) Size() (n int) {
	for _, made := range p.by {
		if made != nil {
			n += made.size
		}
	}
	return n
}

// part is what one server has in the list of a kind.
func (c *Catalog) part(s Server, k Kind, taken map[string]bool) Part {
	if k >= Resources || s.Prepared == nil || s.Items[k] == nil {
		return c.take(s, k, taken)
	}
	made := s.Prepared.by[k]
	if made == nil {
		alone := newCatalog([]Server{s})
		made = &prepared{
			part:     alone.take(s, k, map[string]bool{}),
			cut:      alone.cut[k],
			problems: alone.problems,
			size:     alone.size,
		}
		s.Prepared.by[k] = made
	}
	c.problems = append(c.problems, made.problems...)
	if len(made.cut) > 0 {
		if c.cut[k] == nil {
			c.cut[k] = map[string]origin{}
		}
		maps.Copy(c.cut[k], made.cut)
	}
	return made.part
}
