package catalog

import "maps"

// Prepared caches the converted tools and prompts of one server for the list of all servers. They
// do not depend on other servers. A Prepared belongs to one set of the server's items and is
// filled by the first catalog of them. Further catalogs then cost time by server and not by item.
// The zero Prepared is ready to use.
type Prepared struct{ by [Resources]*prepared }

// prepared is one list of a server.
type prepared struct {
	part     Part
	cut      map[string]origin
	problems []Problem
	size     int
}

// Size returns how many bytes p keeps.
func (p *Prepared) Size() (n int) {
	for _, made := range p.by {
		if made != nil {
			n += made.size
		}
	}
	return n
}

// part returns one server's part of the list of a kind.
func (c *Catalog) part(s Server, k Kind, taken map[string]bool) Part {
	if k >= Resources || s.Prepared == nil || s.Items[k] == nil {
		return c.convert(s, k, taken)
	}
	made := s.Prepared.by[k]
	if made == nil {
		alone := newCatalog([]Server{s})
		made = &prepared{
			part:     alone.convert(s, k, map[string]bool{}),
			cut:      alone.renamed[k],
			problems: alone.problems,
			size:     alone.size,
		}
		s.Prepared.by[k] = made
	}
	c.problems = append(c.problems, made.problems...)
	if len(made.cut) > 0 {
		if c.renamed[k] == nil {
			c.renamed[k] = map[string]origin{}
		}
		maps.Copy(c.renamed[k], made.cut)
	}
	return made.part
}
