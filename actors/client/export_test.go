package client

// ReadyCount returns how many connections count as ready.
func (k *SharedServerState) ReadyCount() int {
	k.mu.Lock()
	defer k.mu.Unlock()
	return len(k.ready)
}
