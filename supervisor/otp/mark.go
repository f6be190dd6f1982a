package otp

import (
	"iter"
	"sync"

	"mcpd/internal/water"
)

// boxMarks are how full the mailboxes of each label ever were. Labels are words of the specs, so that there are few.
type boxMarks struct{ all sync.Map } // label -> *boxMark

type boxMark struct {
	most, limit water.Mark
}

// of is the mark of a mailbox with this bound.
func (b *boxMarks) of(label string, limit int) *water.Mark {
	v, ok := b.all.Load(label)
	if !ok {
		v, _ = b.all.LoadOrStore(label, &boxMark{})
	}
	m := v.(*boxMark)
	m.limit.Note(limit)
	return &m.most
}

// Mailbox is how full a mailbox ever was among those whose rows have one label, and the largest bound of any of them, which what a process
// is owed does not count against.
type Mailbox struct{ Most, Limit int }

// Mailboxes are the high-water marks of all mailboxes, by label.
func (s *System) Mailboxes() iter.Seq2[string, Mailbox] {
	return func(yield func(string, Mailbox) bool) {
		s.marks.all.Range(func(label, v any) bool {
			m := v.(*boxMark)
			return yield(label.(string), Mailbox{m.most.Most(), m.limit.Most()})
		})
	}
}
