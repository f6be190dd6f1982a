package quota

import "testing"

// A tenant's cached bytes are evicted before anything of the tenant is refused. They stay if
// their eviction would not make enough room.
func TestCachedBytesMakeRoom(t *testing.T) {
	l := ledger(Normal)
	a, b := l.Of("acme"), l.Of("initech")
	drops := 0
	cache := func() {
		r := a.Hold(Views, 40*mib)
		a.Cached(Views, func() { drops++; r.Release() })
	}
	cache()
	a.Add(Requests, 30*mib)
	if r := a.TryReserve(Requests, 50*mib); r != nil || drops != 0 {
		t.Errorf("room for %v, %d drops; want none, which would not help", r, drops)
	}
	if a.Spare(10*mib) || drops != 0 {
		t.Errorf("it has 10 MiB to spare; %d drops", drops)
	}
	if !a.Fits(10*mib) || drops != 1 || a.Kept() != 30*mib {
		t.Errorf("%d are kept after %d drops", a.Kept(), drops)
	}
	cache()
	if _, why := a.Reserve(Requests, 20*mib); why != nil || drops != 2 || a.Kept() != 50*mib {
		t.Errorf("refused: %v; %d are kept after %d drops", why, a.Kept(), drops)
	}
	cache()
	if b.Add(Requests, 80*mib); b.Fits(mib) || drops != 2 {
		t.Errorf("what another tenant keeps made room: %d drops", drops)
	}
	if l.DropCached(); drops != 3 || a.Kept() != 50*mib {
		t.Errorf("%d are kept after %d drops", a.Kept(), drops)
	}
	a.Cached(Views, nil)
	if l.DropCached(); drops != 3 {
		t.Error("a cache that is gone is dropped")
	}
}
