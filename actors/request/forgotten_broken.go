//go:build broken_heap

package request

import "sync"

// all is broken on purpose: it keeps 64 KiB for every request there ever was.
var (
	mu  sync.Mutex
	all [][]byte
)

func remembered(*Exchange) {
	mu.Lock()
	defer mu.Unlock()
	all = append(all, make([]byte, 64<<10))
}
