package instances

import (
	"slices"
	"time"

	"mcpd/gateway/tenant"
)

// Place decides what becomes of a call that waits for its turn: Hand, Again or Start, or nothing
// for now. Since is when the calls that are in flight began.
func (t *Table[Ref]) Place(s Server, since time.Time) (e Effect[Ref]) {
	if wait := Patience - s.Now.Sub(since); wait > 0 && s.Program {
		return Effect[Ref]{Do: Again, Wait: wait}
	}
	if n := slices.IndexFunc(t.all, func(i *instance[Ref]) bool { return !i.busy }); n >= 0 {
		return Effect[Ref]{Do: Hand, To: t.all[n].ref}
	}
	if t.growing || !t.room(s) {
		return e
	}
	t.growing = true
	return Effect[Ref]{Do: Start}
}

// MayGrow reports whether another instance can be had.
func (t *Table[Ref]) MayGrow(s Server) bool { return s.Bound > 1 && !t.denied && t.room(s) }

func (t *Table[Ref]) room(s Server) bool { return len(t.all)+1 < s.Most() }

// Joined takes a new instance into use.
func (t *Table[Ref]) Joined(s Server, ref Ref, key tenant.Key) []Effect[Ref] {
	t.growing = false
	t.all = append(t.all, &instance[Ref]{ref: ref, key: key})
	return append([]Effect[Ref]{{Do: Watch, To: ref}}, t.Vacant(s, ref, key, 0)...)
}

// Denied records that another instance could not be had.
func (t *Table[Ref]) Denied() []Effect[Ref] {
	t.denied = true
	return []Effect[Ref]{{Do: Retry, Wait: RetryAfter}}
}

// Retried records that another instance may be asked for again.
func (t *Table[Ref]) Retried() { t.growing, t.denied = false, false }

// Vacant records that an instance has no calls, including the last of those it was handed. The
// message is out of date if the instance was handed another since. An instance that nobody knows
// any more was handed its calls by an incarnation that hung.
func (t *Table[Ref]) Vacant(s Server, ref Ref, key tenant.Key, last uint64) []Effect[Ref] {
	i := t.of(ref)
	switch {
	case i == nil:
		return []Effect[Ref]{{Do: End, To: ref, Key: key}}
	case i.last != last:
		return nil
	}
	i.busy, i.idle, i.has = false, s.Now, nil
	return []Effect[Ref]{{Do: Look, To: ref, Wait: i.rests(s)}, {Do: Turns}}
}

// Retired makes idle instances end sooner, because the server is declared differently now.
func (t *Table[Ref]) Retired(s Server) (all []Effect[Ref]) {
	for _, i := range t.all {
		if !i.busy {
			all = append(all, Effect[Ref]{Do: Look, To: i.ref, Wait: i.rests(s)})
		}
	}
	return all
}

// Rested ends an instance that has had nothing to do for as long as it is kept. The instance is not
// handed anything from here on. While a user is being asked, calls may have to go elsewhere at any
// time, so the instance stays and is looked at again.
func (t *Table[Ref]) Rested(s Server, ref Ref) []Effect[Ref] {
	i := t.of(ref)
	switch {
	case i == nil, i.busy, s.Now.Sub(i.idle) < i.rests(s):
		return nil
	case s.Asked && !s.Retired:
		return []Effect[Ref]{{Do: Look, To: ref, Wait: Rest}}
	}
	t.Forget(ref)
	return []Effect[Ref]{{Do: End, To: ref, Key: i.key}}
}

// Down handles the end of an instance, and reports whether it is one. Unless it is gone it comes
// back: it may have ended because of the call that it was handed last, and know nothing of that
// call.
func (t *Table[Ref]) Down(ref Ref, gone bool) (effects []Effect[Ref], known bool) {
	i := t.of(ref)
	switch {
	case i == nil:
		return nil, false
	case gone:
		t.Forget(ref)
		return []Effect[Ref]{{Do: Turns}}, true
	}
	i.asks = nil
	return []Effect[Ref]{{Do: Adopt, To: ref, Last: i.last}, {Do: Watch, To: ref}}, true
}

// rests returns how long an idle instance is kept. One that has changed its tools is kept as long
// as a connection without sessions: no other instance may have those tools.
func (i *instance[Ref]) rests(s Server) time.Duration {
	switch {
	case s.Retired:
		return s.Lingers
	case len(i.tools) > 0:
		return max(Rest, s.Lingers)
	}
	return Rest
}
