package session

import (
	"runtime"
	"testing"
)

func heap() int64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// After a large set has shrunk, its memory is freed, even if some sessions stay.
func TestHandlesGiveTheirRoomBack(t *testing.T) {
	const crowd, most = 100_000, 100 << 10
	one := make([]Handle, crowd)
	for _, stay := range []int{0, 1, shrinkFrom - 1} {
		before := heap()
		var s handleSet
		for i := range one {
			s.add(&one[i])
		}
		for i := range one[stay:] {
			s.remove(&one[stay+i])
		}
		if got := heap() - before; got > most {
			t.Errorf("%d stay: %d bytes are kept, want at most %d", stay, got, most)
		}
		if len(s.all) != stay || stay > 0 && !s.has(&one[0]) || s.has(&one[crowd-1]) {
			t.Errorf("%d stay: it has %d", stay, len(s.all))
		}
		runtime.KeepAlive(one)
	}
}
