package quota

import (
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"pgregory.net/rapid"

	"mcpd/protocol"
)

const mib = 1 << 20

// ledger returns a ledger for two tenants with 100 MiB: 25 guaranteed to each, 50 free.
func ledger(level Level) *Ledger {
	m := new(Memory)
	m.Set(level)
	l := NewLedger(m)
	l.Bound(Bounds{Tenants: 2, Total: 100 * mib, Histories: 40 * mib})
	return l
}

func TestAccountIsRefusedAtItsBound(t *testing.T) {
	l := ledger(Normal)
	a, b := l.Account("acme"), l.Account("initech")
	var kept []*Reservation
	for {
		r, refusal := a.Reserve(HeldCalls, mib)
		if refusal != nil {
			if refusal.Kept != 75*mib || refusal.Limit != 75*mib || refusal.Kinds[HeldCalls] != 75*mib {
				t.Errorf("refused with %+v", refusal)
			}
			break
		}
		kept = append(kept, r)
	}
	if len(kept) != 75 || a.Total() != 75*mib {
		t.Fatalf("%d are kept, %d bytes; want the share and all that is free, 75", len(kept), a.Total())
	}
	for range 25 { // its share is reserved
		if _, refusal := b.Reserve(Requests, mib); refusal != nil {
			t.Fatalf("another tenant below its share: %v", refusal.ClientError())
		}
	}
	if _, refusal := b.Reserve(Requests, mib); refusal == nil {
		t.Error("another tenant has more than its share while nothing is free")
	}
	kept[0].Release()
	kept[0].Release() // counts once
	if _, refusal := a.Reserve(Tasks, mib); refusal != nil || a.Total() != 75*mib {
		t.Errorf("after it has let go: %v, %d kept", refusal, a.Total())
	}
	if h := a.Holding(); h.Refused != 1 || h.Kinds[Tasks] != mib {
		t.Errorf("the account says %+v", h)
	}
}

// A message that goes beyond its tenant's share needs room in the free part, however large it is.
// So all tenants together never reserve more than the total while others use that part.
func TestOneLargeMessageUsesTheFreePart(t *testing.T) {
	l := ledger(Normal)
	a, b := l.Account("acme"), l.Account("initech")
	if _, refusal := a.Reserve(Requests, 70*mib); refusal != nil {
		t.Fatal(refusal.ClientError())
	}
	if b.Fits(31*mib) || !b.Fits(30*mib) {
		t.Error("fits is not its share of 25 MiB and the 5 MiB that are free")
	}
	if _, refusal := b.Reserve(Requests, 31*mib); refusal == nil || b.Total() != 0 {
		t.Errorf("more than its share has room while nothing is free; %d are kept", b.Total())
	}
	if b.TryReserve(Requests, 31*mib) != nil || b.Holding().Refused != 1 {
		t.Errorf("who asks again counts as refused: %d", b.Holding().Refused)
	}
	if _, refusal := b.Reserve(Requests, 25*mib); refusal != nil {
		t.Error(refusal.ClientError())
	}
}

// A message of any size has room while no other tenant uses the free part. Then no other tenant
// has room there.
func TestMessageOfAnySizeHasRoomAlone(t *testing.T) {
	l := ledger(Normal)
	a, b := l.Account("acme"), l.Account("initech")
	a.Add(Lists, mib)
	huge, why := a.Reserve(Requests, 200*mib)
	if why != nil {
		t.Fatal(why.ClientError())
	}
	for name, other := range map[string]*Account{"acme": a, "initech": b} {
		if _, refusal := other.Reserve(Requests, 26*mib); refusal == nil {
			t.Errorf("%s has room beside it", name)
		}
	}
	if _, refusal := b.Reserve(Requests, 25*mib); refusal != nil {
		t.Error(refusal.ClientError())
	}
	huge.Release()
	if _, refusal := b.Reserve(Requests, 200*mib); refusal != nil {
		t.Errorf("once nobody uses the free part: %v", refusal.ClientError())
	}
}

func TestTenantsAboveTheirShareAreRefusedFirst(t *testing.T) {
	for _, c := range []struct {
		Level
		// begin and call say whether acme, which is above its share, and initech, which is not, are
		// refused.
		begin, call [2]bool
	}{
		{Elevated, [2]bool{}, [2]bool{}},
		{High, [2]bool{true, false}, [2]bool{}},
		{Critical, [2]bool{true, false}, [2]bool{true, false}},
		{Exhausted, [2]bool{true, true}, [2]bool{true, true}},
	} {
		l := ledger(c.Level)
		l.Account("acme").Add(HeldCalls, 26*mib)
		l.Account("initech").Add(Requests, 25*mib)
		begin := [2]bool{l.Account("acme").CheckBegin() != nil, l.Account("initech").CheckBegin() != nil}
		call := [2]bool{l.Account("acme").CheckCall(0) != nil, l.Account("initech").CheckCall(0) != nil}
		if begin != c.begin || call != c.call {
			t.Errorf("%v: begin %v, call %v", c.Level, begin, call)
		}
		if refusal := l.Account("initech").CheckCall(1); (refusal != nil) != (c.Level >= Critical) {
			t.Errorf("%v: a call that brings it above its share: %v", c.Level, refusal)
		}
		if refusal := l.Account("acme").CheckCall(0); c.Level == Critical &&
			(refusal.Limit != 25*mib || refusal.AllTenants) {
			t.Errorf("it is told of %+v", refusal)
		}
	}
}

// A call is admitted under the same conditions whether its bytes are counted already or not.
func TestCallsAreAdmittedWhetherTheyCountOrNot(t *testing.T) {
	for _, c := range []struct {
		kept, n int
		want    bool
		// 25 are its share, and 50 are free.
	}{{0, 10, true}, {60, 10, true}, {60, 15, true}, {60, 16, false}, {75, 1, false}} {
		for _, level := range []Level{Normal, Critical, Exhausted} {
			var whole, counted *Refusal
			for _, of := range []**Refusal{&whole, &counted} {
				l := ledger(level)
				a := l.Account("acme")
				a.Add(HeldCalls, c.kept*mib)
				if of == &counted {
					a.Add(Requests, c.n*mib)
				}
				before := a.Total()
				*of = a.CheckAdmit(c.n*mib, of == &counted, func() bool { return false })
				if a.Total() != before {
					t.Errorf("%d bytes are left of a question", a.Total()-before)
				}
			}
			want := c.want && (level == Normal || level == Critical && c.kept+c.n <= 25)
			if (whole == nil) != want || (counted == nil) != want {
				t.Errorf("%d beside %d at %v: %v, and once it counts %v, want %t", c.n, c.kept, level, whole,
					counted, want)
			}
		}
	}
	if (*Account)(nil).CheckAdmit(1, false, nil) != nil {
		t.Error("nobody's account refuses")
	}
	for _, level := range []Level{Normal, Critical} {
		l := ledger(level)
		a := l.Account("acme")
		a.Add(Tasks, 75*mib)
		drops := 0
		refusal := a.CheckAdmit(10*mib, false, func() bool {
			drops++
			a.Add(Tasks, -mib)
			return true
		})
		if refusal == nil && level == Critical {
			a.Add(Requests, -int(a.Holding().Kinds[Requests]))
			a.Add(Tasks, 20*mib)
			if refusal = a.CheckBeginEvicting(func() bool {
				a.Add(Tasks, -mib)
				return true
			}); refusal != nil || a.Total() != 25*mib {
				t.Errorf("what lasts begins with %d kept: %v", a.Total(), refusal)
			}
		}
		if want := map[Level]int{Normal: 10, Critical: 60}[level]; refusal != nil || drops != want ||
			a.Holding().Refused != 0 {
			t.Errorf("%v: %v after %d were dropped, want %d; %d refusals", level, refusal, drops, want,
				a.Holding().Refused)
		}
	}
}

func TestRefusalTellsWhatIsKept(t *testing.T) {
	l := ledger(Normal)
	a := l.Account("acme")
	a.Add(HeldCalls, 70*mib)
	a.Add(Requests, 5*mib)
	_, refusal := a.Reserve(Requests, mib)
	err := refusal.ClientError()
	for _, part := range []string{"tenant acme is overloaded", "keeps 75.0 MiB of 75.0 MiB",
		"held_calls 70.0 MiB, requests 5.0 MiB", "as much as it may"} {
		if !strings.Contains(err.Message, part) {
			t.Errorf("%q does not say %q", err.Message, part)
		}
	}
	m := protocol.Translate(err, protocol.Latest)
	for _, part := range []string{`"kept":78643200`, `"limit":78643200`, `"held_calls":73400320`,
		`"retryAfterMs":1000`, `"reason":"overloaded"`} {
		if !strings.Contains(string(m.Data), part) {
			t.Errorf("%s does not say %s", m.Data, part)
		}
	}
	l.memory.Set(Critical)
	if err := a.CheckCall(0).ClientError(); err.RetryAfter != 2*time.Second ||
		!strings.Contains(err.Message, "of 25.0 MiB") || !strings.Contains(err.Message, "(critical)") {
		t.Errorf("while the memory is critical: %v, %q", err.RetryAfter, err.Message)
	}
	l.memory.Set(Exhausted)
	if err := a.CheckCall(0).ClientError(); err.Message != "host is overloaded" {
		t.Errorf("while nothing is left: %q", err.Message)
	}
}

func TestHistoriesHaveABoundOfTheirOwn(t *testing.T) {
	l := ledger(Normal)
	a := l.Account("acme")
	for n := range 40 {
		if full := a.Full(); full != (n > 30) { // 10 guaranteed, 20 free
			t.Fatalf("with %d MiB of histories: full is %v", n, full)
		}
		a.Add(Histories, mib)
	}
	if l.Account("initech").Full() {
		t.Error("another tenant has no room for its histories")
	}
}

func TestHoldingSaysWhatIsAboveTheShare(t *testing.T) {
	h := Holding{Kept: 30 * mib}
	h.Kinds[Tasks], h.Kinds[Outgoing] = 10*mib, 20*mib
	for share, want := range map[int64]string{
		0: "", 30 * mib: "",
		25 * mib: "30.0 MiB, more than its share of 25.0 MiB: outgoing 20.0 MiB, tasks 10.0 MiB",
	} {
		if got := h.Above(share); got != want {
			t.Errorf("share %d: %q, want %q", share, got, want)
		}
	}
}

func TestAccountOfNobodyCountsNothing(t *testing.T) {
	var a *Account
	a.Add(Tasks, 5)
	r, why := a.Reserve(Tasks, 5)
	r.Resize(7)
	r.Release()
	if why != nil || a.Total() != 0 || a.Full() || a.CheckCall(0) != nil || a.CheckBegin() != nil {
		t.Error("it does")
	}
	// Without bounds everything is counted, and nothing is refused.
	l := new(Ledger)
	if _, refusal := l.Account("acme").Reserve(Tasks, 1<<50); refusal != nil ||
		l.Account("acme").Full() ||
		l.Account("acme").Total() != 1<<50 {
		t.Error("a ledger without bounds refuses")
	}
}

// After any concurrent sequence of reserving, resizing and releasing, the account has the exact
// sum, and nothing after all is released.
func TestLedgerIsExact(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l := ledger(Normal)
		a := l.Account("acme")
		var open []*Reservation
		want := map[*Reservation]int64{}
		for range rapid.IntRange(1, 100).Draw(t, "steps") {
			switch op := rapid.IntRange(0, 3).Draw(t, "op"); {
			case op <= 1 || len(open) == 0:
				n := rapid.IntRange(0, 9*mib).Draw(t, "size")
				if r, refusal := a.Reserve(Kind(rapid.IntRange(0, kindCount-1).Draw(t, "kind")),
					n); refusal == nil {
					open, want[r] = append(open, r), int64(n)
				}
			default:
				r := open[rapid.IntRange(0, len(open)-1).Draw(t, "which")]
				if op == 2 {
					n := rapid.IntRange(0, mib).Draw(t, "size")
					if _, ok := want[r]; ok {
						want[r] = int64(n)
					}
					r.Resize(n)
				} else {
					delete(want, r)
					r.Release()
				}
			}
			var sum int64
			for _, n := range want {
				sum += n
			}
			if h := a.Holding(); h.Kept != sum {
				t.Fatalf("%d are kept, want %d", h.Kept, sum)
			}
		}
		for _, r := range open {
			r.Release()
		}
		if h := a.Holding(); h.Kept != 0 || h.Kinds != [kindCount]int64{} {
			t.Fatalf("all is released, and %+v is left", h)
		}
	})
}

func TestLedgerIsExactUnderContention(t *testing.T) {
	l := ledger(Normal)
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for n := range 500 {
				r, _ := l.Account("acme").Reserve(Kind(n%kindCount), 3*mib)
				var both sync.WaitGroup
				both.Go(r.Release)
				r.Resize(n)
				r.Release()
				both.Wait()
			}
		})
	}
	all.Wait()
	if h := l.Snapshot()[0]; h.Kept != 0 || h.Kinds != [kindCount]int64{} {
		t.Errorf("%+v is left", h)
	}
}

// Of two concurrent callers that ask for all that is free, one is served, whether they are two
// tenants or one.
func TestOneOfTwoGetsTheLastBytes(t *testing.T) {
	const rounds = 50000
	l := ledger(Normal)
	for size, who := range map[int][2]*Account{75 * mib: {l.Account("acme"), l.Account("initech")},
		40 * mib: {l.Account("acme"), l.Account("acme")}} {
		var ready [2]atomic.Int64
		var got [2]*Reservation
		ask := func(i, n int) {
			ready[i].Store(int64(n))
			for ready[1-i].Load() < int64(n) { // so that both ask at once
				runtime.Gosched()
			}
			got[i] = who[i].TryReserve(Requests, size)
		}
		for n := 1; n <= rounds; n++ {
			var group sync.WaitGroup
			group.Go(func() { ask(1, n) })
			ask(0, n)
			group.Wait()
			if (got[0] == nil) == (got[1] == nil) {
				t.Fatalf("round %d: served are %t and %t", n, got[0] != nil, got[1] != nil)
			}
			got[0].Release()
			got[1].Release()
		}
	}
}

// The reason in a refusal is true: it names what the tenant keeps, or what others keep.
func TestRefusalsAreTrue(t *testing.T) {
	for _, c := range []struct {
		level        Level
		acme, others int
		asks         int
		want         string
	}{
		{Normal, 75, 0, 1, "acme keeps 75.0 MiB of 75.0 MiB: held_calls 75.0 MiB, as much as it may; " +
			"it is served again when it has let go of some of that"},
		{Normal, 0, 75, 26, "acme keeps 0.0 MiB of 25.0 MiB, 26.0 MiB more have no room beside what " +
			"others keep; less has, or the same later"},
		{Normal, 30, 60, 20, "acme keeps 30.0 MiB of 40.0 MiB: held_calls 30.0 MiB, 20.0 MiB more have " +
			"no room beside what others keep; less has, or the same later"},
		{Critical, 30, 0, 1, "acme keeps 30.0 MiB of 25.0 MiB: held_calls 30.0 MiB, more than its " +
			"share of a memory of which little is left (critical); it is served again when it has let go " +
			"of some of that"},
		{Critical, 20, 0, 6, "acme keeps 20.0 MiB of 25.0 MiB: held_calls 20.0 MiB, 6.0 MiB more are " +
			"beyond its share of a memory of which little is left (critical); it is served again when it " +
			"has let go of some of that"},
	} {
		l := ledger(c.level)
		a := l.Account("acme")
		a.Add(HeldCalls, c.acme*mib)
		l.Account("initech").Add(Requests, c.others*mib)
		refusal := a.CheckCall(c.asks * mib)
		if refusal == nil {
			refusal = a.CheckKeep(c.asks * mib)
		}
		if refusal == nil {
			t.Errorf("%+v is not refused", c)
			continue
		}
		if got := refusal.ClientError().Message; got != "tenant acme is overloaded: "+c.want {
			t.Errorf("got %q, want %q", got, c.want)
		}
	}
}

// A message that is counted in steps has room if it would have room as a whole. While no other
// tenant uses the free part, it may have any size.
func TestMessageThatGrowsHasRoomAsAWhole(t *testing.T) {
	l := ledger(Normal)
	a, b := l.Account("acme"), l.Account("initech")
	first := a.TryReserve(Requests, 30*mib)
	next := a.TryReserveMore(Requests, 30*mib, 170*mib)
	if first == nil || next == nil || a.Total() != 200*mib {
		t.Fatalf("a message alone has no room: %d bytes are kept", a.Total())
	}
	other := b.TryReserve(Requests, 20*mib)
	if b.TryReserveMore(Requests, 20*mib, 6*mib) != nil || b.Total() != 20*mib {
		t.Errorf("another has room beyond its share; %d bytes are kept", b.Total())
	}
	other.Release()
	next.Release()
	first.Release()
	if a.Total() != 0 {
		t.Errorf("%d bytes are kept in the end", a.Total())
	}
}
