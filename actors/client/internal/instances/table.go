package instances

import (
	"iter"
	"slices"
	"time"

	"mcpd/actors/client/internal/questions"
	"mcpd/actors/request"
	"mcpd/gateway/tenant"
)

// Table holds the instances beyond the first. It survives a crash of the first one's connection.
type Table[Ref comparable] struct {
	all     []*instance[Ref]
	growing bool // another was asked for, or none may be for a while
	denied  bool // the last request for one failed
}

type instance[Ref comparable] struct {
	ref  Ref
	key  tenant.Key
	busy bool      // it has calls
	idle time.Time // since when it has none
	// has holds the calls that it was handed while it is busy. Most that have ended are left out.
	has  []Call
	last uint64            // how many calls it was handed
	asks *questions.Dialog // what it is asking a user; nil for nothing
	// tools are those that it listed after it had announced that its tools changed.
	tools map[string]bool
}

// Call is a call that was handed over, and its number among those of its instance.
type Call struct {
	*request.Exchange
	Number uint64
}

// Len returns the number of instances.
func (t *Table[Ref]) Len() int { return len(t.all) }

// All iterates over the instances.
func (t *Table[Ref]) All() iter.Seq[Ref] {
	return func(yield func(Ref) bool) {
		for _, i := range t.all {
			if !yield(i.ref) {
				return
			}
		}
	}
}

// Calls returns the calls that an instance holds.
func (t *Table[Ref]) Calls(of Ref) []Call {
	if i := t.of(of); i != nil {
		return i.has
	}
	return nil
}

// Handed records that an instance was handed a call.
func (t *Table[Ref]) Handed(to Ref, x *request.Exchange) {
	i := t.of(to)
	i.has = slices.DeleteFunc(i.has, func(c Call) bool { return c.Ended() })
	i.busy, i.last = true, i.last+1
	i.has = append(i.has, Call{x, i.last})
}

// Next returns the number of the next call of an instance.
func (t *Table[Ref]) Next(of Ref) uint64 { return t.of(of).last + 1 }

// Forget removes an instance that is gone.
func (t *Table[Ref]) Forget(ref Ref) {
	t.all = slices.DeleteFunc(t.all, func(i *instance[Ref]) bool { return i.ref == ref })
}

// SetTools records which tools an instance has, once it has announced that they changed.
func (t *Table[Ref]) SetTools(of Ref, tools map[string]bool) {
	if i := t.of(of); i != nil {
		i.tools = tools
	}
}

// AnyOffers reports whether any instance has announced that.
func (t *Table[Ref]) AnyOffers() bool {
	return slices.ContainsFunc(t.all, func(i *instance[Ref]) bool { return len(i.tools) > 0 })
}

// FirstWithTool returns the first instance that has a tool.
func (t *Table[Ref]) FirstWithTool(tool string) (to Ref, ok bool) {
	n := slices.IndexFunc(t.all, func(i *instance[Ref]) bool { return i.tools[tool] })
	if n < 0 {
		return to, false
	}
	return t.all[n].ref, true
}

// SetDialog records what an instance is asking a user; nil for nothing.
func (t *Table[Ref]) SetDialog(of Ref, has *questions.Dialog) {
	if i := t.of(of); i != nil {
		i.asks = has
	}
}

// Asking iterates over the instances that ask a user something.
func (t *Table[Ref]) Asking() iter.Seq2[Ref, *questions.Dialog] {
	return func(yield func(Ref, *questions.Dialog) bool) {
		for _, i := range t.all {
			if i.busy && i.asks != nil && !yield(i.ref, i.asks) {
				return
			}
		}
	}
}

// Passable returns the instance on which a call can be written beside one whose user is being
// asked, and since when that user is. A zero time is for none.
func (t *Table[Ref]) Passable() (to Ref, since time.Time) {
	for ref, d := range t.Asking() {
		if !d.Passable.IsZero() && (since.IsZero() || d.Passable.Before(since)) {
			to, since = ref, d.Passable
		}
	}
	return to, since
}

// Resume goes on after a crash: no request for another instance is open any more.
func (t *Table[Ref]) Resume() { t.growing, t.denied = false, false }

func (t *Table[Ref]) of(ref Ref) *instance[Ref] {
	for _, i := range t.all {
		if i.ref == ref {
			return i
		}
	}
	return nil
}
