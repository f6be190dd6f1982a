package quota

import "testing"

// A tenant's cached bytes are evicted before anything of the tenant is refused. They stay if
// their eviction would not make enough room.
func TestCachedBytesMakeRoom(t *testing.T) {
	l := ledger(Normal)
	a, b := l.Account("acme"), l.Account("initech")
	drops := 0
	cache := func() {
		r := a.Count(ClientLists, 40*mib)
		a.Cached(ClientLists, func() { drops++; r.Release() })
	}
	cache()
	a.Add(Requests, 30*mib)
	if r := a.TryReserve(Requests, 50*mib); r != nil || drops != 0 {
		t.Errorf("room for %v, %d drops; want none, which would not help", r, drops)
	}
	if a.FitsUncached(10*mib) || drops != 0 {
		t.Errorf("it has 10 MiB to spare; %d drops", drops)
	}
	if !a.Fits(10*mib) || drops != 1 || a.Total() != 30*mib {
		t.Errorf("%d are kept after %d drops", a.Total(), drops)
	}
	cache()
	if _, refusal := a.Reserve(Requests, 20*mib); refusal != nil || drops != 2 || a.Total() != 50*mib {
		t.Errorf("refused: %v; %d are kept after %d drops", refusal, a.Total(), drops)
	}
	cache()
	if b.Add(Requests, 80*mib); b.Fits(mib) || drops != 2 {
		t.Errorf("what another tenant keeps made room: %d drops", drops)
	}
	if l.EvictCached(); drops != 3 || a.Total() != 50*mib {
		t.Errorf("%d are kept after %d drops", a.Total(), drops)
	}
	a.Cached(ClientLists, nil)
	if l.EvictCached(); drops != 3 {
		t.Error("a cache that is gone is dropped")
	}
}
