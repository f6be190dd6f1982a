package otp

import (
	"iter"
	"sync"

	"mcpd/internal/highwater"
)

// boxMarks are the high-water marks of the mailboxes, by label. Labels are written in specs, so
// there are few.
type boxMarks struct{ all sync.Map } // label -> *boxMark

type boxMark struct {
	most, limit highwater.Mark
}

// of returns the mark for a mailbox with this limit.
func (b *boxMarks) of(label string, limit int) *highwater.Mark {
	v, ok := b.all.Load(label)
	if !ok {
		v, _ = b.all.LoadOrStore(label, &boxMark{})
	}
	m := v.(*boxMark)
	m.limit.Note(limit)
	return &m.most
}

// Mailbox is the high-water mark (Most) of all mailboxes whose rows have the same label, and the
// largest limit (Limit) of any of them, both in messages. Most can exceed Limit, because replies,
// timers and reserved messages do not count against the limit.
type Mailbox struct{ Most, Limit int }

// Mailboxes returns the high-water marks of all mailboxes, by label.
func (s *System) Mailboxes() iter.Seq2[string, Mailbox] {
	return func(yield func(string, Mailbox) bool) {
		s.marks.all.Range(func(label, v any) bool {
			m := v.(*boxMark)
			return yield(label.(string), Mailbox{m.most.Most(), m.limit.Most()})
		})
	}
}
