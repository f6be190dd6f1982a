package rounds

import "mcpd/protocol"

// expire handles the time-outs that are due.
func (d *Drive) expire() {
	switch {
	case d.phase == Over:
	case !d.now.Before(d.end):
		d.fail(protocol.Timeout(MaxTime))
	case d.phase == Waiting && !d.now.Before(d.next):
		d.call()
	case d.phase == Asking:
		d.expireQuestions()
	}
}

// expireQuestions recalls the questions that timed out.
func (d *Drive) expireQuestions() {
	for i := 0; d.phase == Asking && i < len(d.questions); i++ {
		if q := &d.questions[i]; q.open() && !d.now.Before(q.deadline) {
			d.do(Effect{Do: Recall, Question: q.number})
			d.refused(q, protocol.Timeout(d.options.AnswerTimeout))
		}
	}
}

// arm sets the timer if it is not set or is set too late. A timer that is set too early fires,
// finds nothing due, and is set again.
func (d *Drive) arm() {
	if d.phase == Over {
		return
	}
	at := d.end
	if d.phase == Waiting && d.next.Before(at) {
		at = d.next
	}
	for _, q := range d.questions {
		if q.open() && q.deadline.Before(at) {
			at = q.deadline
		}
	}
	if d.armed.IsZero() || at.Before(d.armed) {
		d.armed = at
		d.do(Effect{Do: Arm, At: at})
	}
}
