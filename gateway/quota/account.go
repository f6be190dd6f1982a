package quota

import "sync/atomic"

// Account is what one tenant keeps. It is safe for concurrent use. A nil Account counts nothing and
// refuses nothing.
type Account struct {
	ledger  *Ledger
	tenant  string
	total   atomic.Int64
	kinds   [kindCount]atomic.Int64
	refused atomic.Uint64
	cache   atomic.Pointer[cache]
	lent    atomic.Bool // a message of it has grown beyond the bounds in its turn: see Beyond
}

func (a *Account) all() *atomic.Int64       { return &a.total }
func (a *Account) histories() *atomic.Int64 { return &a.kinds[Histories] }

// Add counts n bytes more of a kind, or less where n is negative. Whoever adds must take it away
// again exactly once: a Reservation does.
func (a *Account) Add(k Kind, n int) {
	if a == nil || n == 0 {
		return
	}
	a.total.Add(int64(n))
	a.kinds[k].Add(int64(n))
}

// Set says how many bytes of a kind there are, of which one owner knows them all: what a crash leaves
// uncounted its next incarnation sets right.
func (a *Account) Set(k Kind, n int) {
	if a == nil {
		return
	}
	a.total.Add(int64(n) - a.kinds[k].Swap(int64(n)))
}

// Kept is how many bytes the tenant keeps.
func (a *Account) Kept() int64 {
	if a == nil {
		return 0
	}
	return a.total.Load()
}

// Holding is what the tenant keeps now. The kinds are read one after the other, so while it changes
// they need not sum up to Kept.
func (a *Account) Holding() Holding {
	h := Holding{Tenant: a.tenant, Kept: a.total.Load(), Limit: a.limit(), Refused: a.refused.Load()}
	for k := range h.Kinds {
		h.Kinds[k] = a.kinds[k].Load()
	}
	return h
}

// shares is how the bytes of all kinds are divided.
func (a *Account) shares() Shares {
	b := a.ledger.bounded()
	return Shares{Total: b.Total, Tenants: b.Tenants}
}

// limit is what the tenant may keep now: its share, and what nobody else has taken of the free part.
func (a *Account) limit() int64 {
	s := a.shares()
	if s.Total == 0 {
		return 0
	}
	return s.Guaranteed() + max(0, s.Free()-a.others(s))
}

// others is how much of the free part other tenants have taken.
func (a *Account) others(s Shares) (sum int64) {
	for other := range a.ledger.each {
		if other != a {
			sum += s.Excess(other.total.Load())
		}
	}
	return sum
}

// above reports whether the tenant keeps more than is guaranteed to it, with n bytes more.
func (a *Account) above(n int) bool {
	s := a.shares()
	return s.Total > 0 && a.total.Load()+int64(n) > s.Guaranteed()
}

// Begins says why the tenant may not begin what lasts, as a session, a task or a held call; nil when
// it may. Above its share it may not while the level is High.
func (a *Account) Begins() *Refusal { return a.allows(Level.Begins, 0) }

// BeginsBy is Begins for one who can let go of something else: drop is called as long as it reports
// that it did, and the tenant may not.
func (a *Account) BeginsBy(drop func() bool) *Refusal {
	if a == nil {
		return nil
	}
	for {
		level := a.ledger.memory.Level()
		if level.Begins(a.above(0)) {
			return nil
		}
		if level == Exhausted || !drop() {
			return a.unable(level, 0)
		}
	}
}

// Calls says why the tenant may not make a call of n bytes; nil when it may. While the level is
// Critical it may not if that brings it above its share.
func (a *Account) Calls(n int) *Refusal { return a.allows(Level.Calls, n) }

func (a *Account) allows(does func(l Level, above bool) bool, n int) *Refusal {
	if a == nil {
		return nil
	}
	level := a.ledger.memory.Level()
	switch {
	case level < High || does(level, true): // as nearly always
		return nil
	case does(level, false) && !a.above(n):
		return nil
	}
	return a.unable(level, n)
}

// Reserve counts n bytes of a kind, or says why there is no room for them. What goes beyond the
// tenant's share needs room in the free part, also where it is one large message. One message of any
// size has room while nobody else uses the free part: otherwise it might never have any.
func (a *Account) Reserve(k Kind, n int) (*Reservation, *Refusal) {
	r := a.TryReserve(k, n)
	if r == nil && a != nil {
		return nil, a.refusal(Normal, n)
	}
	return r, nil
}

// ReserveAs is Reserve with a Reservation that is a part of what it is for, and was not used
// before.
func (a *Account) ReserveAs(r *Reservation, k Kind, n int) *Refusal {
	if a == nil || a.tryAs(r, k, 0, n) {
		return nil
	}
	return a.refusal(Normal, n)
}

// TryReserve is Reserve for one who waits and asks again: nil when there is no room, which is not
// counted as a refusal.
func (a *Account) TryReserve(k Kind, n int) *Reservation { return a.TryMore(k, 0, n) }

// TryMore is TryReserve for n bytes more of a message of which had bytes are counted already: there is
// room for them where there would be for the whole message.
func (a *Account) TryMore(k Kind, had, n int) *Reservation {
	if a == nil {
		return nil
	}
	if r := new(Reservation); a.tryAs(r, k, had, n) {
		return r
	}
	return nil
}

func (a *Account) tryAs(r *Reservation, k Kind, had, n int) bool {
	a.holdAs(r, k, n)
	// What was just counted is part of it, so that two who ask at the same time do not both get the last.
	if all := int64(had + n); a.fits(-all, all) || a.dropFor(-all, all) {
		return true
	}
	// Others who ask now have counted theirs, too, and may see this one's. They take turns from here on, so
	// that the last of them is served where there is room for one.
	a.ledger.last.Lock()
	defer a.ledger.last.Unlock()
	if all := int64(had + n); a.fits(-all, all) {
		return true
	}
	r.Release()
	return false
}

// Fits reports whether there is room for n bytes more, once what is cached has made room. It counts
// nothing.
func (a *Account) Fits(n int) bool { return a.Spare(n) || a.dropFor(0, int64(n)) }

// Spare reports whether there is room for n bytes more beside what is cached. It counts nothing.
func (a *Account) Spare(n int) bool { return a.fits(0, int64(n)) }

// fits reports whether there is room for n bytes beside what is counted, and what is beyond that.
func (a *Account) fits(beyond, n int64) bool {
	if a == nil {
		return true
	}
	s, counted := a.shares(), a.total.Load()
	before := counted + beyond
	if s.Total == 0 || before+n <= s.Guaranteed() {
		return true
	}
	others := a.others(s)
	return others+s.Excess(before+n) <= s.Free() || others <= 0 && before <= s.Guaranteed()
}

// Keeps says why the tenant may not keep n bytes more; nil when it may. It reserves nothing, and why
// counts as a refusal: who refuses nothing asks Fits.
func (a *Account) Keeps(n int) *Refusal {
	r, why := a.Reserve(Requests, n)
	r.Release()
	return why
}

// Admits says why the tenant may not make a call of n bytes that it keeps until its end; nil when
// it may. Counted says that they count already. Where there is no room drop is called, as long as
// it reports that something else was let go of. It counts nothing.
func (a *Account) Admits(n int, counted bool, drop func() bool) *Refusal {
	if a == nil {
		return nil
	}
	more := n
	if counted {
		more = 0
	}
	for {
		level := a.ledger.memory.Level()
		if level.Calls(a.above(more)) {
			if had, all := int64(n-more), int64(n); a.fits(-had, all) || a.dropFor(-had, all) {
				return nil
			}
			level = Normal // it is full, whatever the level
		}
		if level == Exhausted || !drop() {
			return a.unable(level, n)
		}
	}
}

// unable is the refusal of n bytes at a level, or at Normal because there is no room for them.
func (a *Account) unable(level Level, n int) *Refusal {
	if level == Exhausted {
		return &Refusal{Level: level, Everybody: true}
	}
	return a.refusal(level, n)
}

// Hold counts n bytes of a kind that are there already.
func (a *Account) Hold(k Kind, n int) *Reservation {
	if a == nil {
		return nil
	}
	r := new(Reservation)
	a.holdAs(r, k, n)
	return r
}

func (a *Account) holdAs(r *Reservation, k Kind, n int) {
	r.account, r.kind = a, k
	r.size.Store(int64(n))
	a.Add(k, n)
}

// Full reports whether the tenant keeps as much as it may, or as many histories as it may: then what
// is kept for convenience is not kept.
func (a *Account) Full() bool {
	if a == nil {
		return false
	}
	s := a.shares()
	if s.Total > 0 && a.total.Load() > s.Guaranteed() && a.ledger.excess(s, (*Account).all) > s.Free() {
		return true
	}
	s.Total = a.ledger.bounded().Histories
	return s.Total > 0 && a.kinds[Histories].Load() > s.Guaranteed() && a.ledger.excess(s, (*Account).histories) > s.Free()
}

// refusal counts that the tenant was refused n bytes more, at a level of memory, or at Normal because
// there is no room for them.
func (a *Account) refusal(level Level, n int) *Refusal {
	a.refused.Add(1)
	r := &Refusal{Level: level, Size: int64(n), Holding: a.Holding()}
	if level >= High {
		r.Limit = a.shares().Guaranteed()
	}
	return r
}

// Reservation is bytes that count for a tenant until they are released. It is safe for concurrent
// use; a nil Reservation is of nobody.
type Reservation struct {
	account *Account
	kind    Kind
	size    atomic.Int64 // released once it is over
}

// over is the size of a Reservation that was released.
const over = -1

// Resize makes it one of n bytes, unless it was released.
func (r *Reservation) Resize(n int) {
	if r == nil {
		return
	}
	for {
		size := r.size.Load()
		if size == over {
			return
		}
		if r.size.CompareAndSwap(size, int64(n)) {
			r.account.Add(r.kind, n-int(size))
			return
		}
	}
}

// Release lets go of the bytes. Only the first call does.
func (r *Reservation) Release() {
	if r == nil {
		return
	}
	if size := r.size.Swap(over); size != over {
		r.account.Add(r.kind, -int(size))
	}
}
