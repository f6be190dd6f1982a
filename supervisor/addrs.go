package supervisor

import "sync"

// addrs remembers the addresses that listeners were bound to, so that a listener which restarts
// gets its port again if the kernel had chosen it.
type addrs struct {
	mu    sync.Mutex // guards bound
	bound map[string]string
}

func (a *addrs) get(name string) string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.bound[name]
}

// boundOr returns the address that name was bound to before, or else the configured one.
func (a *addrs) boundOr(name, configured string) string {
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
