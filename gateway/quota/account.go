package quota

import "sync/atomic"

// Account counts the bytes that one tenant keeps. It is safe for concurrent use. A nil Account
// counts nothing and refuses nothing.
type Account struct {
	ledger  *Ledger
	tenant  string
	total   atomic.Int64
	kinds   [kindCount]atomic.Int64
	refused atomic.Uint64
	cache   atomic.Pointer[cache]
	// hasTurn reports whether the tenant has the turn of growing beyond the bounds, see MayExceed.
	hasTurn atomic.Bool
}

func (a *Account) all() *atomic.Int64       { return &a.total }
func (a *Account) histories() *atomic.Int64 { return &a.kinds[Histories] }

// Add adds n bytes to the count of a kind. A negative n subtracts. The caller must subtract the
// bytes again exactly once; a Reservation does so.
func (a *Account) Add(k Kind, n int) {
	if a == nil || n == 0 {
		return
	}
	a.total.Add(int64(n))
	a.kinds[k].Add(int64(n))
}

// Set sets the count of a kind to n bytes. It is for kinds with a single owner that knows the
// total. After a crash of the owner, its next incarnation corrects the count.
func (a *Account) Set(k Kind, n int) {
	if a == nil {
		return
	}
	a.total.Add(int64(n) - a.kinds[k].Swap(int64(n)))
}

// Total returns how many bytes the tenant keeps.
func (a *Account) Total() int64 {
	if a == nil {
		return 0
	}
	return a.total.Load()
}

// Holding returns a snapshot of what the tenant keeps. It reads the kinds one after the other, so
// during changes they need not sum up to Kept.
func (a *Account) Holding() Holding {
	h := Holding{Tenant: a.tenant, Kept: a.total.Load(), Limit: a.limit(), Refused: a.refused.Load()}
	for k := range h.Kinds {
		h.Kinds[k] = a.kinds[k].Load()
	}
	return h
}

// shares returns the division of the bytes of all kinds between tenants.
func (a *Account) shares() Shares {
	b := a.ledger.bounded()
	return Shares{Total: b.Total, Tenants: b.Tenants}
}

// limit returns how much the tenant may keep now: its share, and the part of the free part that
// no other tenant has taken.
func (a *Account) limit() int64 {
	s := a.shares()
	if s.Total == 0 {
		return 0
	}
	return s.Guaranteed() + max(0, s.Free()-a.takenByOthers(s))
}

// takenByOthers returns how much of the free part other tenants have taken.
func (a *Account) takenByOthers(s Shares) (sum int64) {
	for other := range a.ledger.each {
		if other != a {
			sum += s.Excess(other.total.Load())
		}
	}
	return sum
}

// aboveShare reports whether the tenant, with n more bytes, keeps more than its guaranteed share.
func (a *Account) aboveShare(n int) bool {
	s := a.shares()
	return s.Total > 0 && a.total.Load()+int64(n) > s.Guaranteed()
}

// CheckBegin returns nil if the tenant may begin something lasting, such as a session, a task or a
// held call. Otherwise it returns the refusal. A tenant above its share is refused while the level
// is High or above, and every tenant while it is Exhausted.
func (a *Account) CheckBegin() *Refusal { return a.allows(Level.AllowsBegin, 0) }

// CheckBeginEvicting is CheckBegin for a caller that can evict something else. While the tenant is
// refused, it calls drop, until drop reports that it evicted nothing.
func (a *Account) CheckBeginEvicting(drop func() bool) *Refusal {
	if a == nil {
		return nil
	}
	for {
		level := a.ledger.memory.Level()
		if level.AllowsBegin(a.aboveShare(0)) {
			return nil
		}
		if level == Exhausted || !drop() {
			return a.unable(level, 0)
		}
	}
}

// CheckCall returns nil if the tenant may make a call of n bytes. Otherwise it returns the refusal.
// While the level is Critical, a tenant is refused if the call would bring it above its share.
// While it is Exhausted, every tenant is refused.
func (a *Account) CheckCall(n int) *Refusal { return a.allows(Level.AllowsCall, n) }

func (a *Account) allows(does func(l Level, above bool) bool, n int) *Refusal {
	if a == nil {
		return nil
	}
	level := a.ledger.memory.Level()
	switch {
	case level < High || does(level, true): // nearly always
		return nil
	case does(level, false) && !a.aboveShare(n):
		return nil
	}
	return a.unable(level, n)
}

// Reserve counts n bytes of a kind, or returns the refusal if there is no room. Bytes beyond the
// tenant's share need room in the free part, even if they are one large message. A message of any
// size has room while no other tenant uses the free part, because otherwise it might never have
// room.
func (a *Account) Reserve(k Kind, n int) (*Reservation, *Refusal) {
	r := a.TryReserve(k, n)
	if r == nil && a != nil {
		return nil, a.refusal(Normal, n)
	}
	return r, nil
}

// ReserveInto is Reserve with a Reservation that is embedded in another object. The Reservation
// must be unused.
func (a *Account) ReserveInto(r *Reservation, k Kind, n int) *Refusal {
	if a == nil || a.tryAs(r, k, 0, n) {
		return nil
	}
	return a.refusal(Normal, n)
}

// TryReserve is Reserve for a caller that waits and asks again. It returns nil if there is no
// room, and does not count that as a refusal.
func (a *Account) TryReserve(k Kind, n int) *Reservation { return a.TryReserveMore(k, 0, n) }

// TryReserveMore is TryReserve for n more bytes of a message of which had bytes are already
// counted. There is room for them if there would be room for the whole message.
func (a *Account) TryReserveMore(k Kind, had, n int) *Reservation {
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
	// The bytes are counted before the check, so two concurrent callers do not both get the last
	// room.
	if all := int64(had + n); a.fits(-all, all) || a.evictFor(-all, all) {
		return true
	}
	// Concurrent callers have counted their bytes too, so all of them may have failed because of
	// each other. They repeat the check one at a time, so that the last of them succeeds if there is
	// room for one.
	a.ledger.lastCheck.Lock()
	defer a.ledger.lastCheck.Unlock()
	if all := int64(had + n); a.fits(-all, all) {
		return true
	}
	r.Release()
	return false
}

// Fits reports whether there is room for n more bytes, after cached bytes are evicted if
// necessary. It counts nothing.
func (a *Account) Fits(n int) bool { return a.FitsUncached(n) || a.evictFor(0, int64(n)) }

// FitsUncached reports whether there is room for n more bytes without evicting cached bytes. It
// counts nothing.
func (a *Account) FitsUncached(n int) bool { return a.fits(0, int64(n)) }

// fits reports whether there is room for n bytes in addition to the counted bytes plus beyond.
func (a *Account) fits(beyond, n int64) bool {
	if a == nil {
		return true
	}
	s, counted := a.shares(), a.total.Load()
	before := counted + beyond
	if s.Total == 0 || before+n <= s.Guaranteed() {
		return true
	}
	others := a.takenByOthers(s)
	return others+s.Excess(before+n) <= s.Free() || others <= 0 && before <= s.Guaranteed()
}

// CheckKeep returns nil if the tenant may keep n more bytes. Otherwise it returns the refusal and
// counts it. It reserves nothing. A caller that does not refuse anything uses Fits instead.
func (a *Account) CheckKeep(n int) *Refusal {
	r, refusal := a.Reserve(Requests, n)
	r.Release()
	return refusal
}

// CheckAdmit returns nil if the tenant may make a call whose n bytes are kept until the end of the
// call. Otherwise it returns the refusal. Counted says that the bytes are already counted. While
// there is no room, CheckAdmit calls drop, until drop reports that it evicted nothing. CheckAdmit
// itself counts nothing.
func (a *Account) CheckAdmit(n int, counted bool, drop func() bool) *Refusal {
	if a == nil {
		return nil
	}
	more := n
	if counted {
		more = 0
	}
	for {
		level := a.ledger.memory.Level()
		if level.AllowsCall(a.aboveShare(more)) {
			if had, all := int64(n-more), int64(n); a.fits(-had, all) || a.evictFor(-had, all) {
				return nil
			}
			// The tenant has no room, whatever the level.
			level = Normal
		}
		if level == Exhausted || !drop() {
			return a.unable(level, n)
		}
	}
}

// unable returns the refusal of n bytes at a level. Normal means that there is no room for them.
func (a *Account) unable(level Level, n int) *Refusal {
	if level == Exhausted {
		return &Refusal{Level: level, AllTenants: true}
	}
	return a.refusal(level, n)
}

// Count counts n bytes of a kind that exist already.
func (a *Account) Count(k Kind, n int) *Reservation {
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

// Full reports whether the tenant keeps as many bytes, or as many bytes of histories, as it may.
// Then nothing more is kept for convenience.
func (a *Account) Full() bool {
	if a == nil {
		return false
	}
	s := a.shares()
	if s.Total > 0 && a.total.Load() > s.Guaranteed() &&
		a.ledger.excess(s, (*Account).all) > s.Free() {
		return true
	}
	s.Total = a.ledger.bounded().Histories
	return s.Total > 0 && a.kinds[Histories].Load() > s.Guaranteed() &&
		a.ledger.excess(s, (*Account).histories) > s.Free()
}

// refusal returns the refusal of n more bytes and counts it. Level Normal means that there is no
// room for them.
func (a *Account) refusal(level Level, n int) *Refusal {
	a.refused.Add(1)
	r := &Refusal{Level: level, Size: int64(n), Holding: a.Holding()}
	if level >= High {
		r.Limit = a.shares().Guaranteed()
	}
	return r
}

// Reservation is a number of bytes that count for a tenant until they are released. It is safe
// for concurrent use. A nil Reservation belongs to no tenant.
type Reservation struct {
	account *Account
	kind    Kind
	size    atomic.Int64 // over after the release
}

// over is the size of a released Reservation.
const over = -1

// Resize changes the number of bytes to n, unless the Reservation was released.
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

// Release stops counting the bytes. Only the first call has an effect.
func (r *Reservation) Release() {
	if r == nil {
		return
	}
	if size := r.size.Swap(over); size != over {
		r.account.Add(r.kind, -int(size))
	}
}
