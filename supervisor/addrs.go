package supervisor

import "sync"

// addrs remembers what listeners were bound to, so that one which restarts finds its port again when it was given by the kernel.
type addrs struct {
	mu    sync.Mutex // guards bound
	bound map[string]string
}

func (a *addrs) get(name string) string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.bound[name]
}

// or is the address that name was bound to before, or else what is configured.
func (a *addrs) or(name, configured string) string {
	if bound := a.get(name); bound != "" {
		return bound
	}
	return configured
}

func (a *addrs) set(name, addr string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.bound == nil {
		a.bound = map[string]string{}
	}
	a.bound[name] = addr
}
