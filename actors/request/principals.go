package request

import "sync"

// principals counts the exchanges of each principal.
type principals struct {
	mu   sync.Mutex // guards each
	each map[string]int
}

// of returns how many exchanges a principal has.
func (p *principals) of(principal string) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.each[principal]
}

// count adds more to the count of the exchange's principal. Requests that the host sends for a task
// do not count: the task counts.
func (p *principals) count(x *Exchange, more int) {
	if x.Principal == "" || x.Uncounted {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.each == nil {
		p.each = map[string]int{}
	}
	if p.each[x.Principal] += more; p.each[x.Principal] == 0 {
		delete(p.each, x.Principal)
	}
}
